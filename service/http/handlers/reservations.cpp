// SPDX-License-Identifier: Apache-2.0
// Reserve, confirm, release, extend, return and look at reservations.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

#include <chrono>
#include <span>
#include <utility>

namespace holdfast::http {

namespace {

reply shown(result<reservation> const& answer, request const& req)
{
    if (!answer)
        return problem(answer.error(), req);
    return {.body = to_json(*answer)};
}

reply created(result<outcome<reservation>> const& answer, request const& req)
{
    if (!answer)
        return problem(answer.error(), req);
    auto const& [made, is_replay] = *answer;
    reply created{.status = 201, .body = to_json(made)};
    created.headers.emplace_back("Location", "/v1/reservations/" + made.id.str());
    if (is_replay)
        created.headers.emplace_back("Idempotent-Replayed", "true");
    return created;
}

// Whether a customer may ask again already, where the setting limits that.
rate_limiter::decision take_turn(std::optional<std::string> const& customer, app& service)
{
    if (!customer)
        return {};
    auto const turn = service.customer_limits.take(*customer, std::chrono::steady_clock::now());
    if (!turn.is_allowed)
        service.metrics.rate_limited(metrics::limit_scope::customer);
    return turn;
}

reply too_soon(rate_limiter::decision const& turn, request const& req)
{
    met_limit const limit{.policy = "customer", .seen = turn};
    auto answer = problem(refusal{.code = errc::rate_limited,
                                  .detail = "This customer has asked too often; try again in " +
                                            std::to_string(turn.retry_after.count()) + " s.",
                                  .retry_after = turn.retry_after},
                          req);
    answer.headers.emplace_back("RateLimit-Policy", to_ratelimit_policy(std::span(&limit, 1)));
    answer.headers.emplace_back("RateLimit", to_ratelimit(std::span(&limit, 1)));
    return answer;
}

} // namespace

// POST /v1/reservations
pending_reply create_reservation(request const& req, app& service)
{
    auto command = parse_reserve(req, std::chrono::seconds(service.settings.hold_ttl_seconds));
    if (!command)
        co_return problem(command.error(), req);

    auto const turn = take_turn(command->customer, service);
    if (!turn.is_allowed)
        co_return too_soon(turn, req);

    auto const answer = co_await service.desk.run(*command);
    if (answer)
        service.door.let_out(*command);

    co_return created(answer, req);
}

// GET /v1/reservations
pending_reply list_reservations(request const& req, app& service)
{
    auto const filter = parse_reservation_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const list = [&](db::link& db) { return service.reservations.list(db, *filter); };
    auto const page = co_await service.workers.run(list);

    co_return reply{.body = to_page(page)};
}

// GET /v1/reservations/{id}
pending_reply show_reservation(request const& req, app& service)
{
    auto const id = parse_reservation_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const show = [&](db::link& db) { return service.reservations.show(db, *id); };
    auto const answer = co_await service.workers.run(show);

    co_return shown(answer, req);
}

// POST /v1/reservations/{id}/confirm
pending_reply confirm_reservation(request const& req, app& service)
{
    auto const command = parse_confirm(req);
    if (!command)
        co_return problem(command.error(), req);

    settle_command const confirm(*command);
    auto const answer = co_await service.desk.run(confirm);

    co_return shown(answer, req);
}

// POST /v1/reservations/{id}/release
pending_reply release_reservation(request const& req, app& service)
{
    auto const command = parse_release(req);
    if (!command)
        co_return problem(command.error(), req);

    settle_command const release(*command);
    auto const answer = co_await service.desk.run(release);

    co_return shown(answer, req);
}

// POST /v1/reservations/{id}/extend
pending_reply extend_reservation(request const& req, app& service)
{
    auto const command = parse_extend(req);
    if (!command)
        co_return problem(command.error(), req);

    settle_command const extend(*command);
    auto const answer = co_await service.desk.run(extend);

    co_return shown(answer, req);
}

// POST /v1/reservations/{id}/returns
pending_reply return_units(request const& req, app& service)
{
    auto const command = parse_return(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const give_back = [&](db::link& db) {
        return service.reservations.give_back(db, *command);
    };
    auto const answer = co_await service.workers.run(give_back);

    co_return created(answer, req);
}

} // namespace holdfast::http

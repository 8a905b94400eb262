// SPDX-License-Identifier: Apache-2.0
// Reserve, confirm, release, extend, return and look at reservations.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

#include <chrono>
#include <span>
#include <utility>
#include <variant>

namespace holdfast::http {

namespace {

reply shown(result<reservation> const& answer, request const& req)
{
    if (!answer)
        return problem(answer.error(), req);
    return {.body = to_json(*answer)};
}

// 201 with what was made, or 202 with what is going to be.
template <class T>
reply created(outcome<T> const& done, int status)
{
    reply created{.status = status, .body = to_json(done.value)};
    created.headers.emplace_back("Location", "/v1/reservations/" + done.value.id.str());
    if (done.is_replay)
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

reply reserved(result<fast_path::reserved> const& answer, reserve_command const& command,
               request const& req, app& service)
{
    if (!answer)
        return problem(answer.error(), req);
    if (auto const* queued = std::get_if<outcome<fast_path::queued_request>>(&*answer))
        return created(*queued, 202);
    service.door.let_out(command);
    return created(std::get<outcome<reservation>>(*answer), 201);
}

// What is in no queue: it may have left one a moment ago, in either direction.
reply after_the_queue(db::link& db, uuid const& id, request const& req, app& service)
{
    auto const made = service.reservations.show(db, id);
    auto const refused = made ? std::nullopt : fast_path::find_unfulfilled(db, id);
    if (refused)
        return {.body = to_json(*refused)};
    return shown(made, req);
}

// What PostgreSQL did not have.
pending_reply show_unmade(uuid const& id, request const& req, app& service)
{
    auto const queued = co_await service.desk.find_queued(id);
    if (queued)
        co_return reply{.body = to_json(*queued)};

    auto const look_again = [&](db::link& db) { return after_the_queue(db, id, req, service); };
    co_return co_await service.workers.run(look_again);
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

    co_return reserved(answer, *command, req, service);
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
    if (answer)
        co_return shown(answer, req);

    co_return co_await show_unmade(*id, req, service);
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

    if (!answer)
        co_return problem(answer.error(), req);
    co_return created(*answer, 201);
}

} // namespace holdfast::http

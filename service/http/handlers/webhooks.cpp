// SPDX-License-Identifier: Apache-2.0
// Webhooks, and the deliveries to them.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

#include <utility>

namespace holdfast::http {

namespace {

// Runs `work(db)` on a worker and shows the webhook or the delivery it gives.
template <class Work>
pending_reply shown(Work work, request const& req, app& service, int status = 200)
{
    auto const answer = co_await service.workers.run(std::move(work));
    if (!answer)
        co_return problem(answer.error(), req);
    co_return reply{.status = status, .body = to_json(*answer)};
}

} // namespace

// POST /v1/webhooks
pending_reply create_webhook(request const& req, app& service)
{
    auto const settings = parse_webhook(req);
    if (!settings)
        co_return problem(settings.error(), req);

    auto const create = [&](db::link& db) {
        return service.webhooks.create(db, *settings, staff_of(req));
    };
    auto const made = co_await service.workers.run(create);
    if (!made)
        co_return problem(made.error(), req);

    reply created{.status = 201, .body = to_json(*made)};
    created.headers.emplace_back("Location", "/v1/webhooks/" + made->id.str());
    co_return created;
}

// GET /v1/webhooks
pending_reply list_webhooks(request const& req, app& service)
{
    auto const filter = parse_webhook_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const list = [&](db::link& db) {
        return service.webhooks.list(db, {filter->after, filter->limit + 1});
    };
    auto const found = co_await service.workers.run(list);

    co_return reply{.body = to_page(found, filter->limit)};
}

// GET /v1/webhooks/{id}
pending_reply show_webhook(request const& req, app& service)
{
    auto const id = parse_webhook_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const show = [&](db::link& db) { return service.webhooks.show(db, *id); };
    co_return co_await shown(show, req, service);
}

// PATCH /v1/webhooks/{id}
pending_reply change_webhook(request const& req, app& service)
{
    auto const asked = parse_webhook_change(req);
    if (!asked)
        co_return problem(asked.error(), req);

    auto const change = [&](db::link& db) {
        return service.webhooks.change(db, asked->id, asked->to, staff_of(req));
    };
    co_return co_await shown(change, req, service);
}

// DELETE /v1/webhooks/{id}
pending_reply delete_webhook(request const& req, app& service)
{
    auto const id = parse_webhook_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const remove = [&](db::link& db) {
        return service.webhooks.remove(db, *id, staff_of(req));
    };
    auto const removed = co_await service.workers.run(remove);
    if (!removed)
        co_return problem(removed.error(), req);

    co_return reply{.status = 204};
}

// POST /v1/webhooks/{id}/rotate
pending_reply rotate_webhook(request const& req, app& service)
{
    auto const asked = parse_webhook_rotation(req);
    if (!asked)
        co_return problem(asked.error(), req);

    auto const rotate = [&](db::link& db) {
        return service.webhooks.rotate(db, asked->id, asked->keep_former, staff_of(req));
    };
    co_return co_await shown(rotate, req, service);
}

// POST /v1/webhooks/{id}/test
pending_reply test_webhook(request const& req, app& service)
{
    auto const id = parse_webhook_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const test = [&](db::link& db) { return service.webhooks.test(db, *id); };
    co_return co_await shown(test, req, service, 202);
}

// POST /v1/webhooks/{id}/replay
pending_reply replay_webhook(request const& req, app& service)
{
    auto const asked = parse_webhook_replay(req);
    if (!asked)
        co_return problem(asked.error(), req);

    auto const replay = [&](db::link& db) {
        return service.webhooks.replay(db, asked->id, asked->since, staff_of(req));
    };
    co_return co_await shown(replay, req, service, 202);
}

// GET /v1/webhooks/{id}/deliveries
pending_reply list_deliveries(request const& req, app& service)
{
    auto const filter = parse_delivery_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto one_more = *filter;
    ++one_more.limit;
    auto const list = [&](db::link& db) { return service.webhooks.deliveries(db, one_more); };
    auto const found = co_await service.workers.run(list);
    if (!found)
        co_return problem(found.error(), req);

    co_return reply{.body = to_page(*found, filter->limit)};
}

// POST /v1/webhooks/{id}/deliveries/{delivery}/resend
pending_reply resend_delivery(request const& req, app& service)
{
    auto const id = parse_webhook_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const resend = [&](db::link& db) {
        return service.webhooks.resend(db, *id, req.captured.at(1));
    };
    co_return co_await shown(resend, req, service, 202);
}

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// Counts of a shelf that go on while units are sold.

#include "service/http/handlers.hpp"
#include "service/http/outcome_reply.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

namespace holdfast::http {

// POST /v1/counts
pending_reply open_count(request const& req, app& service)
{
    auto const command = parse_open_count(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const open = [&](db::link& db) { return service.counts.open(db, *command); };
    auto const answer = co_await service.workers.run(open);
    if (!answer)
        co_return problem(answer.error(), req);

    auto opened = done(*answer, 201);
    opened.headers.emplace_back("Location", "/v1/counts/" + answer->value.count.id.str());
    co_return opened;
}

// GET /v1/counts
pending_reply list_counts(request const& req, app& service)
{
    auto filter = parse_count_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const limit = filter->limit++;
    auto const list = [&](db::link& db) { return service.counts.list(db, *filter); };
    auto const found = co_await service.workers.run(list);

    co_return reply{.body = to_page(found, limit)};
}

// GET /v1/counts/{id}
pending_reply show_count(request const& req, app& service)
{
    auto const id = parse_count_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const show = [&](db::link& db) { return service.counts.show(db, *id); };
    auto const answer = co_await service.workers.run(show);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return reply{.body = to_json(*answer)};
}

// PUT /v1/counts/{id}/entries
pending_reply enter_counted(request const& req, app& service)
{
    auto const command = parse_enter_counted(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const enter = [&](db::link& db) { return service.counts.enter(db, *command); };
    auto const answer = co_await service.workers.run(enter);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return done(*answer, 200);
}

// POST /v1/counts/{id}/apply
pending_reply apply_count(request const& req, app& service)
{
    auto const id = parse_count_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const apply = [&](db::link& db) { return service.counts.apply(db, *id, staff_of(req)); };
    auto const answer = co_await service.workers.run(apply);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return done(*answer, 200);
}

// POST /v1/counts/{id}/cancel
pending_reply cancel_count(request const& req, app& service)
{
    auto const id = parse_count_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const cancel = [&](db::link& db) { return service.counts.cancel(db, *id, staff_of(req)); };
    auto const answer = co_await service.workers.run(cancel);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return done(*answer, 200);
}

} // namespace holdfast::http

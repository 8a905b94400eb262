// SPDX-License-Identifier: Apache-2.0
// Files that are imported, and imports that are undone.

#include "service/http/handlers.hpp"
#include "service/http/outcome_reply.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

namespace holdfast::http {

// POST /v1/imports
pending_reply import_stock(request const& req, app& service)
{
    auto const command = parse_import(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const import = [&](db::link& db) { return service.imports.run(db, *command); };
    auto const answer = co_await service.workers.run(import);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return done(*answer, 200);
}

// GET /v1/imports
pending_reply list_imports(request const& req, app& service)
{
    auto filter = parse_import_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const limit = filter->limit++;
    auto const list = [&](db::link& db) { return service.imports.list(db, *filter); };
    auto const found = co_await service.workers.run(list);

    co_return reply{.body = to_page(found, limit)};
}

// GET /v1/imports/{id}
pending_reply show_import(request const& req, app& service)
{
    auto const id = parse_import_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const show = [&](db::link& db) { return service.imports.show(db, *id); };
    auto const answer = co_await service.workers.run(show);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return reply{.body = to_json(*answer)};
}

// POST /v1/imports/{id}/undo
pending_reply undo_import(request const& req, app& service)
{
    auto const command = parse_undo(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const undo = [&](db::link& db) { return service.imports.undo(db, *command); };
    auto const answer = co_await service.workers.run(undo);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return done(*answer, 200);
}

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// API keys.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

namespace holdfast::http {

// GET /v1/keys
pending_reply list_keys(request const& req, app& service)
{
    auto filter = parse_key_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const limit = filter->limit++;
    auto const list = [&](db::link& db) { return api_keys::list(db, *filter); };
    auto const found = co_await service.workers.run(list);

    co_return reply{.body = to_page(found, limit)};
}

// POST /v1/keys
pending_reply create_key(request const& req, app& service)
{
    auto const wanted = parse_new_key(req);
    if (!wanted)
        co_return problem(wanted.error(), req);

    auto const issue = [&](db::link& db) {
        return api_keys::issue(db, wanted->role, wanted->name, staff_of(req));
    };
    auto const made = co_await service.workers.run(issue);

    co_return reply{.status = 201, .body = to_json(made)};
}

// DELETE /v1/keys/{id}
pending_reply revoke_key(request const& req, app& service)
{
    auto const id = parse_key_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const revoke = [&](db::link& db) {
        bool const was_active = api_keys::revoke(db, *id, staff_of(req));
        service.keys.refresh(db); // here it is at once, elsewhere within seconds
        return was_active;
    };
    bool const was_active = co_await service.workers.run(revoke);
    if (!was_active) {
        refusal const unknown{.code = errc::not_found, .detail = "There is no such active key."};
        co_return problem(unknown, req);
    }

    co_return reply{.status = 204};
}

} // namespace holdfast::http

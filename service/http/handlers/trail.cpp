// SPDX-License-Identifier: Apache-2.0
// The audit trail.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

namespace holdfast::http {

// GET /v1/trail
pending_reply list_trail(request const& req, app& service)
{
    auto filter = parse_trail_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const limit = filter->limit++;
    auto const list = [&](db::link& db) { return trail::list(db, *filter); };
    auto const found = co_await service.workers.run(list);

    co_return reply{.body = to_page(found, limit)};
}

} // namespace holdfast::http

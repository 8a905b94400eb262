// SPDX-License-Identifier: Apache-2.0
// What managers want to know of all items at once.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

namespace holdfast::http {

// GET /v1/reports/low-stock
pending_reply report_low_stock(request const& req, app& service)
{
    auto const query = parse_low_stock_query(req);
    if (!query)
        co_return problem(query.error(), req);

    bool const is_file = query->format == report_format::csv;
    auto const look = [&](db::link& db) {
        return is_file ? reports::low_stock_file(db, query->query)
                       : reports::low_stock(db, query->query);
    };
    auto const found = co_await service.workers.run(look);

    co_return report_reply(found, req, query->format);
}

// GET /v1/reports/held-longest
pending_reply report_held_longest(request const& req, app& service)
{
    auto const query = parse_held_longest_query(req);
    if (!query)
        co_return problem(query.error(), req);

    auto const look = [&](db::link& db) { return reports::held_longest(db, query->query); };
    auto const found = co_await service.workers.run(look);

    co_return report_reply(found, req, query->format);
}

// GET /v1/reports/movements
pending_reply report_movements(request const& req, app& service)
{
    auto const query = parse_movement_query(req);
    if (!query)
        co_return problem(query.error(), req);

    auto const look = [&](db::link& db) { return reports::movements(db, query->query); };
    auto const answer = co_await service.workers.run(look);
    if (!answer)
        co_return problem(answer.error(), req);

    co_return report_reply(*answer, req, query->format);
}

} // namespace holdfast::http

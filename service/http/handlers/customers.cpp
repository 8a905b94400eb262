// SPDX-License-Identifier: Apache-2.0
// Customers who get nothing more.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"
#include "stock/percent.hpp"

namespace holdfast::http {

// GET /v1/blocked-customers
pending_reply list_blocked_customers(request const& req, app& service)
{
    auto filter = parse_blocked_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const limit = filter->limit++;
    auto const list = [&](db::link& db) { return service.blocked.list(db, *filter); };
    auto const found = co_await service.workers.run(list);

    co_return reply{.body = to_page(found, limit)};
}

// PUT /v1/blocked-customers/{customer}
pending_reply block_customer(request const& req, app& service)
{
    auto const command = parse_block(req);
    if (!command)
        co_return problem(command.error(), req);

    auto const block = [&](db::link& db) { return service.blocked.block(db, *command); };
    auto const answer = co_await service.workers.run(block);
    if (!answer)
        co_return problem(answer.error(), req);

    reply done{.status = answer->is_new ? 201 : 200, .body = to_json(answer->blocked)};
    if (answer->is_new)
        done.headers.emplace_back("Location",
                                  "/v1/blocked-customers/" + percent_encoded(command->customer));
    co_return done;
}

// DELETE /v1/blocked-customers/{customer}
pending_reply unblock_customer(request const& req, app& service)
{
    auto const customer = parse_customer(req);
    if (!customer)
        co_return problem(customer.error(), req);

    auto const unblock = [&](db::link& db) {
        return service.blocked.unblock(db, *customer, staff_of(req));
    };
    auto const done = co_await service.workers.run(unblock);
    if (!done)
        co_return problem(done.error(), req);

    co_return reply{.status = 204};
}

} // namespace holdfast::http

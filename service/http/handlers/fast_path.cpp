// SPDX-License-Identifier: Apache-2.0
// The fast path: switch it on and off for an item, look at it, compare Redis with PostgreSQL, read
// what was found.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"
#include "service/log.hpp"
#include "service/waiter.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::http {

namespace {

constexpr auto loading_max = std::chrono::seconds(10);
constexpr auto between_looks = std::chrono::milliseconds(25);

refusal no_redis()
{
    return {.code = errc::validation_failed,
            .detail = "This service has no Redis: set redis_url and start it again.",
            .errors = {{"", "needs the setting redis_url"}}};
}

// Whether something that Redis accepted may be left.
bool has_queues(app& service, sku const& of)
{
    return std::ranges::any_of(*service.roster.queues(),
                               [&](fast_path::queues_of const& each) { return each.sku == of; });
}

} // namespace

// PUT /v1/fast-path/{sku}
pending_reply put_fast_path(request const& req, app& service)
{
    auto const wanted = parse_fast_path(req);
    if (!wanted)
        co_return problem(wanted.error(), req);
    if (!service.inspector.has_redis())
        co_return problem(no_redis(), req);

    auto const deadline = std::chrono::steady_clock::now() + loading_max;
    std::optional const name(wanted->sku);
    auto standing = co_await service.inspector.show(name);
    if (standing.empty() || standing.front().buckets != wanted->buckets ||
        standing.front().is_async != wanted->is_async || standing.front().is_stopped) {
        auto const switch_on = [&](db::link& db) {
            return service.roster.switch_on(db, wanted->sku, {wanted->is_async, wanted->buckets},
                                            staff_of(req));
        };
        auto const done = co_await service.workers.run(switch_on);
        if (!done)
            co_return problem(done.error(), req);
        standing = co_await service.inspector.show(name);
    }
    while (!standing.empty() && !standing.front().is_live &&
           std::chrono::steady_clock::now() < deadline) {
        co_await rest(between_looks);
        standing = co_await service.inspector.show(name);
    }
    if (standing.empty()) // switched off meanwhile
        co_return problem(
            refusal{.code = errc::not_found, .detail = "It was switched off meanwhile."}, req);
    auto const& made = standing.front();
    if (made.is_async && made.appendfsync != "always")
        log::warning("fast_path.queue_may_be_lost",
                     {{"sku", made.sku.str()}, {"appendfsync", made.appendfsync}});
    co_return reply{.body = to_json(made)};
}

// GET /v1/fast-path/{sku}
pending_reply show_fast_path(request const& req, app& service)
{
    auto const name = parse_sku(req);
    if (!name)
        co_return problem(name.error(), req);

    std::optional const only(*name);
    auto const standing = co_await service.inspector.show(only);
    if (standing.empty())
        co_return problem(
            refusal{.code = errc::not_found, .detail = name->str() + " has no fast path."}, req);
    co_return reply{.body = to_json(standing.front())};
}

// GET /v1/fast-path
pending_reply list_fast_paths(request const& req, app& service)
{
    if (auto const none = parse_nothing(req); !none)
        co_return problem(none.error(), req);

    std::optional<sku> const any;
    auto const all = co_await service.inspector.show(any);
    co_return reply{.body = to_json(all)};
}

// DELETE /v1/fast-path/{sku}
pending_reply delete_fast_path(request const& req, app& service)
{
    auto const name = parse_sku(req);
    if (!name)
        co_return problem(name.error(), req);

    auto const switch_off = [&](db::link& db) {
        return service.roster.switch_off(db, *name, staff_of(req));
    };
    auto const done = co_await service.workers.run(switch_off);
    if (!done)
        co_return problem(done.error(), req);
    co_await rest(fast_path::lease_is_over);
    auto const deadline = std::chrono::steady_clock::now() + loading_max;
    while (has_queues(service, *name) && std::chrono::steady_clock::now() < deadline)
        co_await rest(between_looks);
    co_return reply{.status = 204};
}

// POST /v1/reconciliations
pending_reply reconcile(request const& req, app& service)
{
    auto const repair = parse_reconciliation(req);
    if (!repair)
        co_return problem(repair.error(), req);

    auto const seen = co_await service.inspector.compare(*repair);
    co_return reply{.body = to_json(seen)};
}

// GET /v1/reconciliations
pending_reply list_drift(request const& req, app& service)
{
    auto const filter = parse_drift_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto one_more = *filter;
    ++one_more.limit;
    auto const found = co_await service.inspector.history(one_more);
    co_return reply{.body = to_page(found, filter->limit)};
}

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
#include "service/workers/route.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::workers {

namespace {

using namespace std::chrono_literals;

db::webhooks::pending_delivery delivery(std::int64_t id, std::optional<std::string> sku,
                                        std::int64_t delay_ms = 0)
{
    return {.id = id,
            .event_id = "evt_" + std::to_string(id),
            .sku = std::move(sku),
            .body = {},
            .attempts = 0,
            .delay_ms = delay_ms};
}

// Ids of all that may be sent now.
std::vector<std::int64_t> ready(route& of, route::clock::time_point now)
{
    std::vector<std::int64_t> ids;
    while (auto const* const next = of.next(now))
        ids.push_back(next->what.id);
    return ids;
}

using ids = std::vector<std::int64_t>;

} // namespace

TEST_CASE("of each SKU one delivery is under way, the others wait behind it")
{
    route of;
    auto const now = route::clock::now();
    of.add({delivery(1, "A"), delivery(2, "A"), delivery(3, "B"), delivery(4, std::nullopt),
            delivery(5, std::nullopt)},
           now);
    auto first = ready(of, now);
    std::ranges::sort(first);
    CHECK(first == ids{1, 3, 4, 5}); // messages without a SKU wait for nobody
    CHECK(of.under_way() == 4);
    of.done(1);
    CHECK(ready(of, now) == ids{2});
    of.done(2);
    of.done(3);
    of.done(4);
    of.done(5);
    CHECK(of.size() == 0);
    CHECK(of.under_way() == 0);
    of.done(7); // nobody knows it
}

TEST_CASE("what failed waits for its time, and its SKU with it")
{
    route of;
    auto const now = route::clock::now();
    of.add({delivery(1, "A"), delivery(2, "A"), delivery(3, "B", 500)}, now);
    CHECK(ready(of, now) == ids{1});
    of.again(1, 1, now + 2s);
    CHECK(ready(of, now + 400ms).empty());
    CHECK(ready(of, now + 500ms) == ids{3});
    CHECK(of.waiting_for_time(now) == ids{1});
    of.hurry(2, now); // not the first of its SKU
    CHECK(ready(of, now).empty());
    of.hurry(1, now);
    CHECK(ready(of, now) == ids{1});
    CHECK(of.waiting_for_time(now).empty());
    of.again(1, 2, now + 1s);
    auto const* const next = of.next(now + 1s);
    REQUIRE(next != nullptr);
    CHECK(next->what.attempts == 2);
}

TEST_CASE("what comes late goes to its place, but never before what is under way")
{
    route of;
    auto const now = route::clock::now();
    of.add({delivery(5, "A"), delivery(9, "A")}, now);
    CHECK(ready(of, now) == ids{5});
    of.add({delivery(2, "A"), delivery(7, "A"), delivery(9, "A")}, now);
    CHECK(of.size() == 4);
    std::vector<std::int64_t> order;
    for (std::int64_t last = 5; of.size() > 0;) {
        of.done(last);
        for (auto const id : ready(of, now)) {
            order.push_back(id);
            last = id;
        }
    }
    CHECK(order == ids{2, 7, 9});
    of.add({delivery(20, "A", 1000)}, now);
    of.add({delivery(10, "A")}, now); // it was written before, and goes first
    CHECK(ready(of, now) == ids{10});
}

} // namespace holdfast::workers

// SPDX-License-Identifier: Apache-2.0
// Where a number comes from: what an explanation says adds up to what the level says.
#include "db/movements.hpp"
#include "db/transact.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <string>

namespace holdfast::test {

namespace {

json why(shop& front, std::string const& sku, std::string const& query = "")
{
    return front.get("/v1/stock/" + sku + "/why" + query).json().at("levels");
}

// The sum of one kind and reason, or 0.
std::int64_t delta_of(json const& level, std::string const& kind, json const& reason)
{
    for (auto const& sum : level.at("sums"))
        if (sum.at("kind") == kind && sum.at("reason") == reason)
            return sum.at("on_hand_delta").get<std::int64_t>();
    return 0;
}

std::int64_t sum_of(json const& level)
{
    std::int64_t sum = 0;
    for (auto const& each : level.at("sums"))
        sum += each.at("on_hand_delta").get<std::int64_t>();
    return sum;
}

} // namespace

TEST_CASE("what is on hand is the sum of what was received, counted, corrected, sold and returned")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(20);
    front.adjust(sku, {{"delta", -3}, {"reason", "damaged"}});
    front.adjust(sku, {{"delta", -1}, {"reason", "damaged"}});
    front.adjust(sku, {{"delta", 2}, {"reason", "found"}});
    front.adjust(sku, {{"set_to", 17}, {"expect_on_hand", 18}, {"reason", "count"}});
    auto const sold = front.hold({{sku, 5}});
    front.confirm(sold);
    front.give_back(sold, {{sku, 2}});
    front.release(front.hold({{sku, 4}}));

    auto const level = why(front, sku).at(0);
    CHECK(delta_of(level, "received", "received") == 20);
    CHECK(delta_of(level, "adjusted", "damaged") == -4);
    CHECK(delta_of(level, "adjusted", "found") == 2);
    CHECK(delta_of(level, "counted", "count") == -1);
    CHECK(delta_of(level, "confirmed", nullptr) == -5);
    CHECK(delta_of(level, "returned", nullptr) == 2);
    CHECK(sum_of(level) == level.at("on_hand"));
    CHECK(level.at("on_hand") == 14);
    CHECK(level.at("brought_forward").is_null());
    CHECK(level.at("holds").empty());
}

TEST_CASE("what is reserved is the open holds, of which a hundred are listed")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1000);
    front.hold({{sku, 3}}, {{"customer", "c-1"}, {"reference", "order-1"}, {"ttl_seconds", 60}});
    for (int i = 0; i < 101; ++i)
        front.hold({{sku, 2}});
    front.hold({{sku, 9}}, {{"ttl_seconds", 100'000}});

    auto const level = why(front, sku).at(0);
    CHECK(level.at("reserved") == 3 + 202 + 9);
    CHECK(level.at("holds").size() == 100);
    CHECK(level.at("holds").at(0).at("customer") == "c-1");
    CHECK(level.at("holds").at(0).at("reference") == "order-1");
    CHECK(level.at("more_holds") == json{{"count", 3}, {"quantity", 2 + 2 + 9}});
}

TEST_CASE("a level can be asked about alone, and an unknown item not at all")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(4);
    front.adjust(sku, {{"delta", 7}, {"reason", "received"}, {"location", "shelf"}});

    CHECK(why(front, sku).size() == 2);
    auto const shelf = why(front, sku, "?location=shelf");
    CHECK(shelf.size() == 1);
    CHECK(shelf.at(0).at("on_hand") == 7);
    CHECK(why(front, sku, "?location=nowhere").empty());
    CHECK(outcome(front.get("/v1/stock/NEVER/why")) == "404 unknown-sku");
}

TEST_CASE("of a level that has moved more often than is read, the rest is brought forward")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(10);
    for (int i = 0; i < 4; ++i) {
        auto loss = correction_of(at);
        loss.delta = -1;
        REQUIRE(word_of(bench.adjustments.adjust(bench.link, loss)) == "ok");
    }
    auto const found = db::transact(bench.link, [&](db::transaction& tx) {
        return db::movements::sums_of(tx, at.sku, {at.location.str()}, 3);
    });
    REQUIRE(found.all.size() == 1);
    CHECK(found.all[0].movements == 3);
    CHECK(found.all[0].on_hand_delta == -3);
    REQUIRE(found.brought_forward.size() == 1);
    CHECK(found.brought_forward[0].version == 2);
    CHECK(found.brought_forward[0].on_hand == 9);
}

} // namespace holdfast::test

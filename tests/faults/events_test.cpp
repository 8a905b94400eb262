// SPDX-License-Identifier: Apache-2.0
// Faults J: events that were lost, repeated or told in the wrong order. Each test is named after
// its row in the list of faults that shops really suffered.
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/hooks.hpp"
#include "tests/support/receiver.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// Receives one unit of an item as the service would, in the transaction that is open.
void receive_one(sql_session& clerk, std::string const& sku)
{
    clerk.run("UPDATE stock_level SET on_hand = on_hand + 1, version = version + 1 WHERE sku = $1",
              {sku});
    clerk.run("INSERT INTO movement (sku, location, version, kind, on_hand_delta, reserved_delta,"
              "                      on_hand, reserved, actor)"
              " SELECT sku, location, version, 'received', 1, 0, on_hand, reserved, 'clerk'"
              "   FROM stock_level WHERE sku = $1",
              {sku});
    clerk.run("INSERT INTO outbox (sku, location, first_version, last_version)"
              " SELECT sku, location, version, version FROM stock_level WHERE sku = $1",
              {sku});
}

} // namespace

TEST_CASE("J1: an event that was written early and committed late reaches a reader that went ahead")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const slow = front.item(1);
    auto const fast = front.item(1);
    REQUIRE(wait_until_told(front, {slow, fast}));
    auto const start = end_of_feed(front);

    auto first = db.session();
    first.run("BEGIN");
    receive_one(first, slow);
    auto second = db.session();
    second.run("BEGIN");
    receive_one(second, fast);
    second.run("COMMIT");
    std::vector<json> early;
    REQUIRE(eventually(20s, [&] {
        early = read_feed(front, start);
        return !early.empty();
    }));
    CHECK(early.size() == 1);
    CHECK(early.at(0).at("sku") == fast);
    auto const ahead = end_of_feed(front);

    first.run("COMMIT");
    std::vector<json> late;
    REQUIRE(eventually(20s, [&] {
        late = read_feed(front, ahead);
        return !late.empty();
    }));
    CHECK(late.size() == 1);
    CHECK(late.at(0).at("sku") == slow);
    CHECK(late.at(0).at("on_hand") == 2);
    // Whoever reads from before sees both, in the order in which they could be seen.
    auto const both = read_feed(front, start);
    REQUIRE(both.size() == 2);
    CHECK(both[0] == early[0]);
    CHECK(both[1] == late[0]);
    CHECK(front.audit_ok());
}

TEST_CASE("J2: every change of state has exactly one event, and all of them rebuild every level")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    service_process const another({.database_url = db.connection_string()});
    shop front(service);
    shop other(another);
    std::map<std::string, std::string> skus; // by what is done
    for (std::string const what : {"confirm", "part", "release", "expire", "return", "supersede",
                                   "again", "adjust", "count", "import", "at once"})
        skus[what] = front.item(10);

    front.confirm(front.hold({{skus["confirm"], 2}}));
    front.confirm(other.hold({{skus["part"], 3}}),
                  {{"lines", {{{"sku", skus["part"]}, {"quantity", 1}}}}});
    other.release(front.hold({{skus["release"], 2}}));
    auto const lapsed = front.hold({{skus["expire"], 2}}, {{"ttl_seconds", 1}});
    auto const sold = front.hold({{skus["return"], 4}}, {{"confirm", true}});
    other.give_back(sold, {{skus["return"], 1}});
    front.give_back(sold, {{skus["return"], 1}}, {{"restock", false}});
    auto const old = front.hold({{skus["supersede"], 2}});
    front.reserve({{skus["supersede"], 3}}, {{"supersedes", old}});
    auto const late = front.hold({{skus["again"], 2}}, {{"ttl_seconds", 1}});
    front.wait_until_expired(late);
    front.confirm(late, {{"if_expired", "reserve_again"}});
    front.adjust(skus["adjust"], {{"delta", -1}, {"reason", "lost"}});
    front.adjust(skus["count"], {{"set_to", 7}, {"expect_on_hand", nullptr}, {"reason", "count"}});
    front.import_csv("add", "sku,quantity\n" + skus["import"] + ",5\n");
    front.hold({{skus["at once"], 1}}, {{"confirm", true}});
    REQUIRE(eventually(20s, [&] { return front.movements(skus["expire"]).size() == 3; }));
    std::vector<std::string> all;
    for (auto const& [what, sku] : skus)
        all.push_back(sku);
    REQUIRE(wait_until_told(front, all));

    auto const told = [&](std::string const& what) {
        return types_of(read_feed(other, "", "&sku=" + skus[what]));
    };
    CHECK(told("confirm") == "adjusted held confirmed");
    CHECK(told("part") == "adjusted held confirmed");
    CHECK(told("release") == "adjusted held released");
    CHECK(told("expire") == "adjusted held expired");
    CHECK(told("return") == "adjusted held confirmed returned returned");
    CHECK(told("supersede") == "adjusted held released held");
    CHECK(told("again") == "adjusted held expired held confirmed");
    CHECK(told("adjust") == "adjusted adjusted");
    CHECK(told("count") == "adjusted adjusted");
    CHECK(told("import") == "adjusted adjusted");
    CHECK(told("at once") == "adjusted held confirmed");
    CHECK(front.reservation(lapsed).at("state") == "expired");

    // Versions have no gap in the feed, and the last of each level is what the level is.
    auto const events = read_feed(front);
    std::map<level_name, std::int64_t> versions;
    for (auto const& e : events) {
        auto& last = versions[{e.at("sku"), e.at("location")}];
        CHECK(e.at("version") == last + 1);
        last = e.at("version");
    }
    for (auto const& [name, rebuilt] : levels_told(events)) {
        CAPTURE(name.first);
        CHECK(rebuilt == front.level_of(name.first));
    }
    CHECK(front.audit_ok());
}

TEST_CASE("J4: an endpoint that takes seventy seconds delays nobody else, and is not asked twice")
{
    database const db;
    service_process const service(
        {.database_url = db.connection_string(),
         .arguments = hook_arguments({"--webhook-timeout-seconds", "60"})});
    shop front(service);
    receiver const slow([](received const&) { return reaction{.after = 70s}; });
    receiver const quick;
    auto const to_slow = make_hook(front, {{"url", slow.url()}});
    make_hook(front, {{"url", quick.url()}});
    std::vector<std::string> skus;
    for (int i = 0; i < 30; ++i)
        skus.push_back(front.item(10));
    REQUIRE(quick.has(30));
    REQUIRE(slow.has(16)); // as many as may be under way at once
    for (auto const& sku : skus)
        front.reserve(sku);
    auto const began = std::chrono::steady_clock::now();
    REQUIRE(quick.has(60));
    CHECK(std::chrono::steady_clock::now() - began < 5s);

    std::map<std::string, int> times;
    for (auto const& call : quick.all())
        ++times[call.header("webhook-id")];
    CHECK(times.size() == 60);
    // While a call lasts, it is the only one of its event and of its SKU.
    CHECK(slow.all().size() == 16);
    for (auto const& waiting : deliveries_of(front, to_slow, "pending"))
        CHECK(waiting.at("attempts") == 0);
    CHECK(front.audit_ok());
}

TEST_CASE(
    "J5: what an endpoint never takes is dead after so many tries, listed, and can be had again")
{
    constexpr int tries = 3;
    database const db;
    auto const arguments = hook_arguments({"--webhook-retry-seconds", "0,0,0"});
    service_process const service({.database_url = db.connection_string(), .arguments = arguments});
    service_process const another({.database_url = db.connection_string(), .arguments = arguments});
    shop front(service);
    shop other(another);
    std::atomic<bool> is_broken{true};
    receiver const office(
        [&](received const&) { return reaction{.status = is_broken ? 500 : 204}; });
    auto const hook = make_hook(front, {{"url", office.url()}});
    std::vector<std::string> skus;
    for (int i = 0; i < 5; ++i)
        skus.push_back(front.item(10));
    for (auto const& sku : skus)
        other.confirm(front.hold({{sku}}));
    auto const events = std::size_t{15};
    REQUIRE(eventually(30s, [&] { return deliveries_of(other, hook, "dead").size() == events; }));
    std::map<std::string, int> times;
    for (auto const& call : office.all())
        ++times[call.header("webhook-id")];
    CHECK(times.size() == events);
    for (auto const& [id, count] : times)
        CHECK(count == tries);
    for (auto const& dead : deliveries_of(front, hook, "dead")) {
        CHECK(dead.at("attempts") == tries);
        CHECK(times.contains(dead.at("id")));
    }

    is_broken = false;
    REQUIRE(outcome(other.post(path_of(hook) + "/replay", {{"since", "2026-01-01T00:00:00Z"}})) ==
            "202");
    REQUIRE(
        eventually(30s, [&] { return deliveries_of(front, hook, "delivered").size() == events; }));
    CHECK(office.all().size() == events * (tries + 1));
    CHECK(deliveries_of(front, hook, "dead").empty());
}

TEST_CASE("J7: late and repeated deliveries say the same, so that a consumer can drop them")
{
    database const db;
    service_process const service(
        {.database_url = db.connection_string(),
         .arguments = hook_arguments({"--webhook-retry-seconds", "0,0,0,0,0,0"})});
    shop front(service);
    std::atomic<int> calls{0};
    receiver const office(
        [&](received const&) { return reaction{.status = ++calls % 3 == 0 ? 204 : 500}; });
    auto const hook = make_hook(front, {{"url", office.url()}});
    auto const sku = front.item(10);
    front.confirm(front.hold({{sku, 4}}));
    front.release(front.hold({{sku, 2}}));
    REQUIRE(eventually(30s, [&] { return deliveries_of(front, hook, "delivered").size() == 5; }));
    REQUIRE(outcome(front.post(path_of(hook) + "/replay", {{"since", "2026-01-01T00:00:00Z"}})) ==
            "202");
    REQUIRE(eventually(
        30s, [&] { return calls >= 25 && deliveries_of(front, hook, "pending").empty(); }));

    std::map<std::string, std::string> bodies;
    std::vector<json> come;
    for (auto const& call : office.all()) {
        auto const [known, is_new] = bodies.emplace(call.header("webhook-id"), call.body);
        CHECK(known->second == call.body);
        come.push_back(call.event());
        CHECK(call.event().at("id") == call.header("webhook-id"));
    }
    CHECK(bodies.size() == 5);
    CHECK(come.size() > bodies.size());
    // Whoever keeps the newest version of each level has what the level is, however often and late.
    std::ranges::reverse(come);
    CHECK(levels_told(come).at({sku, "main"}) == front.level_of(sku));
}

} // namespace holdfast::test

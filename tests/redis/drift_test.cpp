// SPDX-License-Identifier: Apache-2.0
// Numbers that nothing explains: told apart from all that changes in a sale, written down, told as
// an event, and put right only up to a limit.
#include "service/fast_path/bucket.hpp"
#include "tests/support/database.hpp"
#include "tests/support/fast_stage.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// News of a sale may be on its way for some seconds, and until then nothing is called drift.
constexpr auto once_quiet = 30s;

std::vector<json> history(shop& front, std::string const& sku)
{
    return json::parse(front.get("/v1/reconciliations?sku=" + sku).body).at("data");
}

std::vector<json> events(shop& front, std::string const& sku)
{
    return read_feed(front, "", "&type=stock.drift&sku=" + sku);
}

std::string state_of(fast_stage& floor, std::string const& sku)
{
    return floor.fast_path(sku).at("state");
}

// Writes into Redis, again and again until it is found to be drift or the item is stopped.
void let_drift(fast_stage& floor, std::string const& sku, std::string const& by, units available)
{
    auto const state = fast_path::bucket_of("holdfast", sku, 0).state;
    auto const rows = history(floor.front, sku).size();
    REQUIRE(eventually(once_quiet, [&] {
        static_cast<void>(floor.server.ask({"HINCRBY", state, "a:main", by}));
        CHECK(eventually(
            soon, [&] { return floor.has(sku, available) || state_of(floor, sku) == "stopped"; }));
        return history(floor.front, sku).size() > rows;
    }));
}

// One buyer: holds that end in every way there is, and a clerk's corrections.
void trade(shop& till, std::string const& sku, int seed)
{
    for (int n = 0; n < 40; ++n) {
        auto const kind = (n + seed) % 6;
        auto const made = till.reserve({{sku, 2}}, {{"ttl_seconds", kind == 0 ? 1 : 900}});
        if (kind == 5)
            CHECK(till.adjust(sku, {{"delta", n % 2 == 0 ? 3 : -1}, {"reason", "correction"}})
                      .status < 500); // sold out, none can be lost
        if (made.status != 201)
            continue;
        auto const id = id_of(made);
        if (kind == 1 || kind == 2)
            CHECK(outcome(till.release(id)) == "200");
        if (kind == 1)
            CHECK(outcome(till.release(id)) == "200"); // nothing comes back twice
        if (kind == 3)
            CHECK(outcome(till.confirm(id, {{"lines", {{{"sku", sku}, {"quantity", 1}}}}})) ==
                  "200");
        if (kind == 4) {
            CHECK(outcome(till.confirm(id)) == "200");
            CHECK(outcome(till.give_back(id, {{sku, 1}})) == "201");
        }
    }
}

} // namespace

TEST_CASE("what somebody writes into Redis is put right, written down and told once")
{
    fast_stage floor;
    auto const sku = floor.item(20);
    let_drift(floor, sku, "7", 20);
    CHECK(floor.has(sku, 20));
    auto const found = history(floor.front, sku);
    REQUIRE(found.size() == 1);
    CHECK(found[0].at("kind") == "available");
    CHECK(found[0].at("location") == "main");
    CHECK(found[0].at("expected") == 20);
    CHECK(found[0].at("found") == 27);
    CHECK(found[0].at("repaired") == true);
    REQUIRE(eventually(soon, [&] { return !events(floor.front, sku).empty(); }));
    auto const told = events(floor.front, sku);
    REQUIRE(told.size() == 1);
    CHECK(told[0].at("quantity") == 7);
    CHECK(told[0].at("version") == 1);
    CHECK(told[0].at("on_hand") == 20);
    CHECK(told[0].at("occurred_at") == found[0].at("at"));
    // Reading on from it tells nothing again.
    CHECK(read_feed(floor.front, told[0].at("id"), "&type=stock.drift&sku=" + sku).empty());
    CHECK(floor.front.get("/metrics")
              .body.find("holdfast_fast_path_drift_units_total{kind=\"available\"} 7") !=
          std::string::npos);
    CHECK(floor.reconcile().at("differences").empty());

    let_drift(floor, sku, "-2", 20);
    CHECK(history(floor.front, sku).front().at("found") == 18);
    auto const first = json::parse(floor.front.get("/v1/reconciliations?limit=1&sku=" + sku).body);
    CHECK(first.at("data").at(0).at("found") == 18);
    auto const second = json::parse(floor.front
                                        .get("/v1/reconciliations?limit=1&sku=" + sku + "&cursor=" +
                                             first.at("next_cursor").get<std::string>())
                                        .body);
    CHECK(second.at("data").at(0).at("found") == 27);
    CHECK(second.at("next_cursor").is_null());
}

TEST_CASE("what cannot be read of one item is loaded anew, and no other item notices")
{
    fast_stage floor;
    auto const sku = floor.item(20);
    auto const other = floor.item(30);
    auto const epoch = floor.fast_path(other).at("epoch");
    auto const keys = fast_path::bucket_of("holdfast", sku, 0);
    std::vector<std::vector<redis::command>> const vandals{
        {{"HSET", keys.state, "a:main", "many"}},
        {{"HSET", keys.state, "a:main", "nan"}},
        {{"HSET", keys.state, "h:main", "1e3"}},
        {{"HSET", keys.state, "until", ""}},
        {{"HSET", keys.state, "epoch", "first"}},
        {{"HDEL", keys.state, "server"}},
        {{"HSET", keys.pending, "nobody", "taken"}},
        {{"HSET", keys.pending, "01890a5d-ac96-774b-bcce-b302099a8057", "taken 1 1 x"}},
        {{"DEL", keys.state}, {"SET", keys.state, "x"}},
        {{"DEL", keys.pending}, {"SET", keys.pending, "x"}},
        {{"DEL", keys.noted}, {"SET", keys.noted, "x"}},
        {{"SET", keys.queue, "x"}},
    };
    for (auto const& commands : vandals) {
        CAPTURE(commands.back().back());
        for (auto const& each : commands)
            REQUIRE(floor.server.ask(each).why() == nullptr);
        CHECK(outcome(floor.front.reserve({{other, 1}})) == "201");
        REQUIRE(eventually(soon, [&] { return state_of(floor, sku) == "live"; }));
    }
    CHECK(floor.fast_path(other).at("epoch") == epoch);
    CHECK(floor.reconcile().at("differences").empty());
}

TEST_CASE("more than may be put right is left to PostgreSQL until somebody asks")
{
    fast_stage floor;
    for (bool const is_repaired : {true, false}) {
        CAPTURE(is_repaired);
        auto const sku = floor.item(5, json::object(), 2);
        let_drift(floor, sku, "10000", 5);
        CHECK(state_of(floor, sku) == "stopped");
        auto const found = history(floor.front, sku);
        REQUIRE(found.size() == 1);
        CHECK(found[0].at("found") == 10005);
        CHECK(found[0].at("repaired") == false);
        CHECK(eventually(soon, [&] { return events(floor.front, sku).size() == 1; }));
        auto const told = floor.reconcile().at("differences");
        REQUIRE(told.size() == 1);
        CHECK(told[0].at("kind") == "stopped");
        CHECK(told[0].at("found") == 10005);

        auto tills = shops(floor.service, 8);
        auto const answers =
            run_together(tills.size(), [&](std::size_t i) { return tills[i].reserve(sku); });
        CHECK(tally(answers) == "5 x 201, 3 x 409 insufficient-stock");
        CHECK(state_of(floor, sku) == "stopped");

        if (is_repaired) {
            CHECK(floor.reconcile(true).at("repaired") == 1);
            CHECK(history(floor.front, sku).front().at("kind") == "stopped");
            CHECK(history(floor.front, sku).front().at("repaired") == true);
        } else {
            fast_stage::make_fast(floor.front, sku, 2);
        }
        CHECK(eventually(soon, [&] { return floor.has(sku, 0); }));
        CHECK(events(floor.front, sku).size() == 1);
    }
    CHECK(floor.front.audit_ok());
}

TEST_CASE("nothing that happens in a busy sale is called drift")
{
    fast_stage floor;
    for (int const buckets : {1, 3}) {
        CAPTURE(buckets);
        auto const sku = floor.item(1000, json::object(), buckets);
        auto tills = shops(floor.service, 10);
        std::vector<std::jthread> trading;
        for (std::size_t i = 0; i < tills.size(); ++i)
            trading.emplace_back([&, i] { trade(tills[i], sku, static_cast<int>(i)); });
        trading.clear();
        auto const id = floor.front.hold({{sku, 2}});
        CHECK(outcome(floor.front.release(id)) == "200");
        // All short holds end, and all news has come: the sale is over for longer than it takes.
        auto sql = floor.db.session();
        REQUIRE(eventually(once_quiet, [&] {
            return sql.value("SELECT max(at) < now() - interval '6 seconds' FROM movement"
                             " WHERE sku = $1",
                             {sku}) == "t";
        }));
        auto const left = floor.front.level_of(sku).available;
        CHECK(eventually(soon, [&] { return floor.has(sku, left); }));
        CHECK(history(floor.front, sku).empty());
        // What is asked once more gives nothing back once more.
        CHECK(outcome(floor.front.release(id)) == "200");
        CHECK(floor.has(sku, left));
        // The next drift is a real one, and the only one.
        let_drift(floor, sku, "1", left);
        CHECK(history(floor.front, sku).size() == 1);
        CHECK(eventually(soon, [&] { return events(floor.front, sku).size() == 1; }));
    }
    CHECK(floor.front.audit_ok());
}

TEST_CASE("a process that is killed in the middle of a sale leaves no drift")
{
    fast_stage floor;
    auto const sku = floor.item(5000);
    service_process victim(options_with(floor.db, floor.server.url()));
    std::atomic<int> made = 0;
    std::vector<std::jthread> buying;
    for (int n = 0; n < 8; ++n)
        buying.emplace_back([&] {
            try {
                shop till(victim);
                for (;; ++made)
                    if (auto const held = till.reserve(sku); held.status == 201 && made % 3 == 0)
                        till.release(id_of(held));
            } catch (connection_lost const&) {
                return; // it was killed, as it should be
            }
        });
    REQUIRE(eventually(20s, [&] { return made > 100; }));
    victim.kill9();
    buying.clear();
    // What it had under way is given back after half a minute.
    auto const left = floor.front.level_of(sku).available;
    CHECK(eventually(60s, [&] { return floor.has(sku, left); }));
    for (auto const& each : history(floor.front, sku)) {
        CHECK(each.at("kind") == "pending");
        CHECK(each.at("repaired") == true);
    }
    CHECK(events(floor.front, sku).empty());
    CHECK(floor.front.audit_ok());
}

TEST_CASE("a level that its ledger does not explain is told once, and left as it is")
{
    fast_stage floor;
    auto const sku = floor.item(20);
    floor.db.session().run("UPDATE stock_level SET on_hand = on_hand + 3 WHERE sku = $1", {sku});
    REQUIRE(eventually(soon, [&] { return !history(floor.front, sku).empty(); }));
    CHECK(eventually(soon, [&] { return floor.has(sku, 23); })); // PostgreSQL decides
    for (bool const repair : {false, true}) {
        auto const told = floor.reconcile(repair); // as long as several rounds
        CHECK(told.at("repaired") == 0);
        REQUIRE(told.at("differences").size() == 1);
        CHECK(told.at("differences").at(0).at("kind") == "ledger");
    }
    auto const found = history(floor.front, sku);
    REQUIRE(found.size() == 1);
    CHECK(found[0].at("kind") == "ledger");
    CHECK(found[0].at("expected") == 20);
    CHECK(found[0].at("found") == 23);
    CHECK(found[0].at("repaired") == false);
    CHECK(floor.front.level_of(sku).on_hand == 23);
    REQUIRE(eventually(soon, [&] { return !events(floor.front, sku).empty(); }));
    auto const told = events(floor.front, sku);
    REQUIRE(told.size() == 1);
    CHECK(told[0].at("quantity") == 3);
    CHECK(told[0].at("on_hand") == 20); // as the ledger has it
}

} // namespace holdfast::test

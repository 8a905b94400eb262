// SPDX-License-Identifier: Apache-2.0
// What every way to take units promises. Played on each mode: all of them, or the one that
// HOLDFAST_STRATEGY_UNDER_TEST names.
#include "db/levels.hpp"
#include "db/transact.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/tcp_gate.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

using entries = std::vector<units_wanted>;
using answers = std::vector<taken>;

// Plays a piece of behaviour on every mode. All of them share a database: each case has items of
// its own.
void for_each_mode(std::function<void(workbench&, strategy const&)> const& play)
{
    static migrated_database const shared;
    workbench bench(shared);
    for (auto const& name : modes_under_test()) {
        CAPTURE(name);
        play(bench, bench.strategies.named(name));
    }
}

// Takes in a transaction of its own.
answers take(db::link& link, strategy const& mode, entries const& wanted)
{
    return db::transact(link, [&](db::transaction& tx) { return mode.take(tx, wanted); });
}

using crowd = std::vector<std::unique_ptr<db::link>>;

// Several takers on one database, each with a session of its own that is already open.
crowd links(workbench const& bench, std::size_t n)
{
    crowd all;
    for (std::size_t i = 0; i < n; ++i) {
        all.push_back(std::make_unique<db::link>(bench.link.options()));
        (void)all.back()->session();
    }
    return all;
}

std::size_t fitting(answers const& given)
{
    return static_cast<std::size_t>(std::ranges::count(given, true, &taken::fits));
}

std::string which_fit(answers const& given)
{
    std::string text;
    for (auto const& each : given)
        text += each.fits ? 'y' : 'n';
    return text;
}

// Puts items on sale and returns their levels in the order in which they are locked.
std::vector<level_key> items(workbench& bench, std::vector<units> const& on_hands)
{
    std::vector<level_key> all;
    for (auto const on_hand : on_hands)
        all.push_back(bench.item(on_hand));
    std::ranges::sort(all);
    return all;
}

// The levels of one item at several locations, in order.
std::vector<level_key> shelves(workbench& bench, std::vector<units> const& on_hands)
{
    auto const first = bench.item(on_hands.at(0));
    std::vector<level_key> all{first};
    for (std::size_t i = 1; i < on_hands.size(); ++i) {
        all.push_back({first.sku, location("shelf-" + std::to_string(i))});
        bench.sql.run("INSERT INTO stock_level (sku, location, on_hand) VALUES ($1, $2, $3)",
                      {all[i].sku.str(), all[i].location.str(), std::to_string(on_hands[i])});
    }
    return all;
}

// Everybody takes again and again; returns what fitted, each with the level it left.
answers fire(crowd const& takers, strategy const& mode, units_wanted const& wanted,
             std::size_t takes_each)
{
    auto const given = run_together(takers.size(), [&](std::size_t i) {
        answers mine;
        for (std::size_t n = 0; n < takes_each; ++n)
            mine.push_back(take(*takers[i], mode, {wanted}).at(0));
        return mine;
    });
    answers fitted;
    for (auto const& of_one : given)
        std::ranges::copy_if(of_one, std::back_inserter(fitted), &taken::fits);
    return fitted;
}

// Each success stands alone at its own version, right after the one before it.
void check_sequence(answers fitted, stock_level const& before, units quantity)
{
    std::ranges::sort(fitted, {}, [](taken const& t) { return t.after.version; });
    auto expected = before;
    for (auto const& each : fitted) {
        expected.reserved += quantity;
        ++expected.version;
        REQUIRE(each.after == expected);
    }
}

} // namespace

TEST_CASE("the last unit goes to one of those who reach for it")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const takers = links(bench, 8);
        for (int round = 0; round < 15; ++round) {
            auto const at = bench.item(1);
            auto const before = bench.row(at);

            auto const fitted = fire(takers, mode, {at, 1}, 1);

            CHECK(fitted.size() == 1);
            check_sequence(fitted, before, 1);
            CHECK(bench.row(at) == stock_level{1, 1, before.version + 1});
        }
    });
}

TEST_CASE("a rush gets exactly what is there, and nobody ever sees less than nothing")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(70);
        auto const before = bench.row(at);
        std::vector<stock_level> seen;
        std::jthread watcher([&](std::stop_token const& is_over) {
            auto session = sql_session(bench.link.options().connection);
            while (!is_over.stop_requested()) {
                auto const row = session.run(
                    "SELECT on_hand, reserved FROM stock_level WHERE sku = $1", {at.sku.str()});
                seen.push_back({std::stoll(*row.at(0)[0]), std::stoll(*row.at(0)[1])});
            }
        });

        auto const fitted = fire(links(bench, 12), mode, {at, 1}, 10);
        watcher.request_stop();
        watcher.join();

        CHECK(fitted.size() == 70);
        check_sequence(fitted, before, 1);
        CHECK(bench.row(at) == stock_level{70, 70, before.version + 70});
        auto const is_sound = [](stock_level const& l) {
            return l.on_hand == 70 && l.reserved >= 0 && l.available() >= 0;
        };
        CHECK(std::ranges::all_of(seen, is_sound));
    });
}

TEST_CASE("what is left over goes to whom it fits")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(20);
        auto const before = bench.row(at);

        auto const sevens = fire(links(bench, 6), mode, {at, 7}, 2);
        CHECK(sevens.size() == 2);
        check_sequence(sevens, before, 7);

        auto const left = take(bench.link, mode, {{at, 7}, {at, 6}, {at, 1}});
        CHECK(which_fit(left) == "nyn");
        CHECK(bench.row(at) == stock_level{20, 20, before.version + 3});
    });
}

TEST_CASE("every entry of a list has its own answer, and the answers are what the rows say")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = items(bench, {5, 0, 3, 9});
        auto const untouched = bench.item(4);
        std::vector<stock_level> before;
        for (auto const& each : at)
            before.push_back(bench.row(each));
        auto const untouched_before = bench.row(untouched);
        // 5, 0, 3 and 9 may have been sorted: ask for what fits and what does not by the rows.
        entries wanted;
        for (std::size_t i = 0; i < at.size(); ++i)
            wanted.push_back({at[i], i % 2 == 0 ? std::max<units>(1, before[i].on_hand)
                                                : before[i].on_hand + 1});

        auto const given = take(bench.link, mode, wanted);

        REQUIRE(given.size() == at.size());
        for (std::size_t i = 0; i < at.size(); ++i) {
            CAPTURE(i);
            bool const should_fit = i % 2 == 0 && before[i].on_hand > 0;
            CHECK(given[i].fits == should_fit);
            auto const now = bench.row(at[i]);
            CHECK(now == (should_fit ? given[i].after : before[i]));
            CHECK(now.version == before[i].version + (should_fit ? 1 : 0));
        }
        CHECK(bench.row(untouched) == untouched_before);
    });
}

TEST_CASE("one level named several times is served first come first served")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = items(bench, {5, 5});
        auto const before = bench.row(at[0]);

        auto const given = take(bench.link, mode,
                                {{at[0], 3},
                                 {at[0], 3},
                                 {at[0], 1},
                                 {at[0], 1},
                                 {at[0], 1},
                                 {at[1], 2},
                                 {at[1], 4},
                                 {at[1], 3}});

        CHECK(which_fit(given) == "ynyynyny");
        CHECK(given[0].after == stock_level{5, 3, before.version + 1});
        CHECK(given[2].after == stock_level{5, 4, before.version + 2});
        CHECK(given[3].after == stock_level{5, 5, before.version + 3});
        CHECK(given[7].after == bench.row(at[1]));
        CHECK(bench.row(at[0]) == given[3].after);
    });
}

TEST_CASE("a wish that is too large does not stand in the way of a small one")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(4);
        CHECK(which_fit(take(bench.link, mode, {{at, 5}, {at, quantity_max}, {at, 4}})) == "nny");
        CHECK(bench.row(at).available() == 0);
    });
}

TEST_CASE("what does not exist fits nobody and disturbs nobody")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(2);
        level_key const elsewhere{at.sku, location("nowhere")};
        level_key const unknown{sku(at.sku.str() + "-unknown"), location()};
        auto const rows = bench.sql.value("SELECT count(*) FROM stock_level");

        auto const given = take(bench.link, mode, {{at, 1}, {elsewhere, 1}, {unknown, 1}});

        CHECK(which_fit(given) == "ynn");
        CHECK(bench.row(at).reserved == 1);
        CHECK(bench.sql.value("SELECT count(*) FROM stock_level") == rows);
        CHECK(which_fit(take(bench.link, mode, {{unknown, 1}})) == "n");
        CHECK(take(bench.link, mode, {}).empty());
    });
}

TEST_CASE("locations of one item are levels of their own")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = shelves(bench, {1, 2, 0});
        auto const given = take(bench.link, mode, {{at[0], 2}, {at[1], 2}, {at[2], 1}});
        CHECK(which_fit(given) == "nyn");
        CHECK(bench.row(at[0]).reserved == 0);
        CHECK(bench.row(at[1]).reserved == 2);
        CHECK(bench.row(at[2]).reserved == 0);
    });
}

TEST_CASE("a full warehouse and the largest wish are just numbers")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(level_max);
        CHECK(which_fit(take(bench.link, mode, {{at, quantity_max}, {at, quantity_max}})) == "yy");
        CHECK(bench.row(at).available() == level_max - 2 * quantity_max);
    });
}

TEST_CASE("a level that a count left short gives nothing away")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(5);
        REQUIRE(which_fit(take(bench.link, mode, {{at, 5}})) == "y");
        bench.sql.run("UPDATE stock_level SET on_hand = 2, shortage = 3 WHERE sku = $1",
                      {at.sku.str()});
        auto const before = bench.row(at);

        CHECK(which_fit(take(bench.link, mode, {{at, 1}, {at, 3}})) == "nn");
        CHECK(bench.row(at) == before);
    });
}

TEST_CASE("taking in a transaction that is rolled back leaves nothing behind")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = items(bench, {3, 3});
        std::vector<stock_level> const before{bench.row(at[0]), bench.row(at[1])};
        {
            db::transaction tx(bench.link.session());
            CHECK(fitting(mode.take(tx, entries{{at[0], 3}, {at[1], 2}})) == 2);
        }
        CHECK(bench.row(at[0]) == before[0]);
        CHECK(bench.row(at[1]) == before[1]);

        auto const given = take(bench.link, mode, {{at[0], 3}});
        CHECK(given.at(0) == taken{true, {3, 3, before[0].version + 1}});
    });
}

TEST_CASE("two takes in one transaction see each other")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(3);
        auto const given = db::transact(bench.link, [&](db::transaction& tx) {
            auto all = mode.take(tx, entries{{at, 2}});
            std::ranges::copy(mode.take(tx, entries{{at, 2}}), std::back_inserter(all));
            std::ranges::copy(mode.take(tx, entries{{at, 1}}), std::back_inserter(all));
            return all;
        });
        CHECK(which_fit(given) == "yny");
        CHECK(bench.row(at).reserved == 3);
    });
}

TEST_CASE("whoever meets a rival in mid-sale decides on what the rival left")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        for (bool const rival_buys : {true, false}) {
            CAPTURE(rival_buys);
            auto const at = bench.item(1);
            auto const sessions = links(bench, 2);
            auto rival = std::make_unique<db::transaction>(sessions[0]->session());
            REQUIRE(fitting(mode.take(*rival, entries{{at, 1}})) == 1);

            auto late = std::async(std::launch::async, [&] {
                return take(*sessions[1], mode, {{at, 1}});
            });
            CHECK(somebody_waits(bench.sql));
            if (rival_buys)
                rival->commit();
            rival.reset();

            CHECK(which_fit(late.get()) == (rival_buys ? "n" : "y"));
            CHECK(bench.row(at).reserved == 1);
        }
    });
}

TEST_CASE("whoever meets a rival on several levels decides on what the rival left of each")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = items(bench, {5, 5, 5});
        auto const sessions = links(bench, 2);
        auto rival = std::make_unique<db::transaction>(sessions[0]->session());
        REQUIRE(fitting(mode.take(*rival, entries{{at[1], 4}})) == 1);

        auto late = std::async(std::launch::async, [&] {
            return take(*sessions[1], mode, {{at[0], 5}, {at[1], 2}, {at[1], 1}, {at[2], 5}});
        });
        CHECK(somebody_waits(bench.sql));
        rival->commit();
        rival.reset();

        CHECK(which_fit(late.get()) == "ynyy");
        CHECK(bench.row(at[1]).reserved == 5);
    });
}

TEST_CASE("a number read earlier in the transaction decides nothing")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(5);
        auto const sessions = links(bench, 1);
        auto const given = db::transact(bench.link, [&](db::transaction& tx) {
            auto const free = db::levels::free(tx, std::vector{at});
            CHECK(free.at(0).available == 5);
            CHECK(fitting(take(*sessions[0], mode, {{at, 4}})) == 1);
            return mode.take(tx, entries{{at, 2}, {at, 1}});
        });
        CHECK(which_fit(given) == "ny");
        CHECK(bench.row(at).reserved == 5);
    });
}

TEST_CASE("whoever is overtaken again and again is served in the end")
{
    migrated_database const place;
    workbench bench(place);
    auto rival = place.session();
    for (auto const& name : modes_under_test()) {
        CAPTURE(name);
        auto const at = bench.item(3);
        std::size_t conflicts = 0;
        strategy_registry const strategies(
            [&](std::string_view, std::size_t count) { conflicts += count; });
        tcp_gate gate(place.connection_string());
        // Somebody else changes the level between any two steps, as long as nobody holds its row.
        gate.before_each_message([&] {
            rival.run("UPDATE stock_level SET version = version + 1 WHERE (sku, location) IN"
                      " (SELECT sku, location FROM stock_level WHERE sku = $1"
                      " FOR UPDATE SKIP LOCKED)",
                      {at.sku.str()});
        });
        db::link link({.connection = gate.connection_string()});

        auto const given = take(link, strategies.named(name), {{at, 2}});

        CHECK(which_fit(given) == "y");
        CHECK(bench.row(at).reserved == 2);
        // Bounded: after a few looks without a lock, the row is locked for the look.
        CHECK(conflicts == (name == "optimistic" ? 6 : 0));
    }
}

TEST_CASE("baskets that share items do not stand in each other's way for ever")
{
    static std::atomic<int> conflicts{0};
    db::on_retry([](std::string_view) { ++conflicts; });
    for_each_mode([](workbench& bench, strategy const& mode) {
        constexpr std::size_t rounds = 60;
        auto const at = items(bench, {1000, 1000, 1000});
        auto const sessions = links(bench, 4);
        conflicts = 0;

        run_together(4, [&](std::size_t i) {
            for (std::size_t round = 0; round < rounds; ++round) {
                entries wanted{{at[0], 1}, {at[1], 1}};
                if (i % 2 == 1)
                    wanted = {{at[0], 1}, {at[0], 1}, {at[2], 1}};
                if (fitting(take(*sessions[i], mode, wanted)) != wanted.size())
                    throw std::runtime_error("there was enough for everybody");
            }
            return 0;
        });

        CHECK(conflicts == 0);
        CHECK(bench.row(at[0]).reserved == 2 * rounds + 2 * 2 * rounds);
        CHECK(bench.row(at[1]).reserved == 2 * rounds);
        CHECK(bench.row(at[2]).reserved == 2 * rounds);
    });
    db::on_retry([](std::string_view) {});
}

TEST_CASE("a server that isolates transactions more than we ask for changes no answer")
{
    for (auto const* isolation : {"repeatable read", "serializable"}) {
        CAPTURE(isolation);
        migrated_database const database;
        database.set("default_transaction_isolation", isolation);
        workbench bench(database);
        for (auto const& name : modes_under_test()) {
            CAPTURE(name);
            auto const at = bench.item(10);
            auto const before = bench.row(at);

            auto const fitted = fire(links(bench, 8), bench.strategies.named(name), {at, 1}, 3);

            CHECK(fitted.size() == 10);
            check_sequence(fitted, before, 1);
            CHECK(bench.row(at).available() == 0);
        }
    }
}

TEST_CASE("a clerk who puts units on the shelf meanwhile costs nobody one")
{
    for_each_mode([](workbench& bench, strategy const& mode) {
        auto const at = bench.item(40);
        auto const sessions = links(bench, 5);

        auto const counts = run_together(5, [&](std::size_t i) {
            units sum = 0;
            for (int n = 0; n < 10; ++n) {
                if (i > 0) {
                    sum += static_cast<units>(fitting(take(*sessions[i], mode, {{at, 1}})));
                    continue;
                }
                // The clerk finds a unit each time, under the lock that admin flows take.
                db::transact(*sessions[0], [&](db::transaction& tx) {
                    auto level = db::levels::lock(tx, std::vector{at}).at(0).level;
                    ++level.on_hand;
                    ++level.version;
                    db::levels::write(tx, std::vector{db::levels::change{at, level}});
                    return 0;
                });
            }
            return sum;
        });

        units sum = 0;
        for (auto const count : counts)
            sum += count;
        CHECK(sum == 40);
        CHECK(bench.row(at).on_hand == 50);
        CHECK(bench.row(at).reserved == sum);
    });
}

TEST_CASE("a mode is known by its name and nothing else is one")
{
    strategy_registry const known;
    for (auto const* name : {"batched", "conditional_update", "optimistic", "row_lock"})
        CHECK(known.has(name));
    for (auto const& name : known.names()) {
        CHECK(known.has(name));
        CHECK_NOTHROW((void)known.named(name));
    }
    for (auto const* name : {"", "Row_lock", "row_lock ", "redis"}) {
        CHECK_FALSE(known.has(name));
        CHECK_THROWS_AS((void)known.named(name), std::logic_error);
    }
}

} // namespace holdfast::test

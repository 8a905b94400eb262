// SPDX-License-Identifier: Apache-2.0
#include "tests/db/redis_day.hpp"

#include "db/drift.hpp"
#include "db/fast_path.hpp"
#include "db/transact.hpp"
#include "db/unfulfilled.hpp"
#include "service/event_feed.hpp"
#include "service/fast_path/admission.hpp"
#include "service/fast_path/bucket.hpp"
#include "service/fast_path/roster.hpp"
#include "service/fast_path/unfulfilled.hpp"
#include "service/workers/publisher.hpp"
#include "service/workers/reconciler.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <span>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

// Whether the item comes to life, and Redis takes what the request asks for; nobody settles it.
bool comes_to_take(reserve_command const& cmd, redis::client& client, fast_path::roster& roster,
                   workers::reconciler& keeping, db::link& link)
{
    return eventually(std::chrono::seconds(20), [&] {
        (void)keeping.step(link);
        fast_path::admission entry(cmd, *roster.now(), false);
        auto* const one = &entry;
        fast_path::admit(client, "holdfast", std::span(&one, 1), {});
        return entry.concerns_redis() &&
               entry.parts().front()->verdict == fast_path::verdict::taken;
    });
}

// Somebody writes into Redis, more than may be repaired without being asked.
void let_redis_drift(redis_server const& server, workers::reconciler& keeping, workbench& bench,
                     level_key const& at)
{
    auto const state = fast_path::bucket_of("holdfast", at.sku.str(), 0).state;
    CHECK(eventually(std::chrono::seconds(20), [&] {
        static_cast<void>(server.ask({"HINCRBY", state, "a:main", "6"}));
        (void)keeping.step(bench.link);
        return bench.sql.value("SELECT fast_not_before = 'infinity' FROM item WHERE sku = $1",
                               {at.sku.str()}) == "t";
    }));
    db::transact(bench.link, [&](db::transaction& tx) {
        CHECK(db::drift::last_stops(tx, {at.sku.str()}).size() == 1);
        CHECK(db::drift::newest(tx, at.sku.str(), {}, 9).size() == 1);
        CHECK(db::drift::newest(tx, {}, {}, 9).size() == 1);
        CHECK(db::fast_path::resume(tx, at.sku.str()));
        return 0;
    });
    event_bell bell;
    CHECK(workers::publisher(bell, bench.counters)(bench.link) == workers::progress::done_for_now);
    auto const told = event_feed({}).page(bench.link, {}, {.types = {event_type::drift}}, 9);
    CHECK(told->events.size() == 1);
}

// More under way than may be compared closes an item, once it has been so for too long.
void let_redis_be_crowded(redis_server const& server, workbench& bench)
{
    redis::client client(server.target());
    fast_path::roster roster;
    workers::reconciler keeping(
        {.where = server.target(), .pending_max = 1, .crowded_max = std::chrono::seconds(0)},
        roster, bench.counters);
    auto const at = bench.item(5);
    CHECK(word_of(roster.switch_on(bench.link, at.sku, {})) == "ok");
    auto const epoch = [&] {
        (void)keeping.step(bench.link);
        auto const all = roster.now();
        auto const found = all->find(at.sku.str());
        return found == all->end() ? 0 : found->second.epoch;
    };
    CHECK(eventually(std::chrono::seconds(20), [&] { return epoch() != 0; }));
    auto const first = epoch();
    reserve_command const cmd{.key = new_key(), .actor = "x", .lines = {{at, 1}}};
    reserve_command const other{.key = new_key(), .actor = "x", .lines = {{at, 1}}};
    for (auto const* each : {&cmd, &other}) {
        fast_path::admission entry(*each, *roster.now(), false);
        auto* const one = &entry;
        fast_path::admit(client, "holdfast", std::span(&one, 1), {});
    }
    CHECK(eventually(std::chrono::seconds(20), [&] { return epoch() > first; }));
    CHECK(word_of(roster.switch_off(bench.link, at.sku)) == "ok");
}

// Where many are under way they are compared in some rounds only, and drift is found in those.
void let_redis_be_busy(redis_server const& server, workbench& bench)
{
    redis::client client(server.target());
    fast_path::roster roster;
    workers::reconciler keeping({.where = server.target(),
                                 .news_max = std::chrono::milliseconds(0),
                                 .pending_at_once = 0,
                                 .rounds_between = 3},
                                roster, bench.counters);
    auto const at = bench.item(5);
    CHECK(word_of(roster.switch_on(bench.link, at.sku, {})) == "ok");
    reserve_command const cmd{.key = new_key(), .actor = "x", .lines = {{at, 1}}};
    CHECK(comes_to_take(cmd, client, roster, keeping, bench.link));
    for (int round = 0; round < 6; ++round)
        (void)keeping.step(bench.link);
    auto const state = fast_path::bucket_of("holdfast", at.sku.str(), 0).state;
    static_cast<void>(server.ask({"HINCRBY", state, "a:main", "2"}));
    for (int round = 0; round < 3; ++round)
        (void)keeping.step(bench.link);
    CHECK(bench.sql.value("SELECT sum(found - expected) FROM drift WHERE sku = $1",
                          {at.sku.str()}) == "2");
    CHECK(word_of(roster.switch_off(bench.link, at.sku)) == "ok");
}

// Whoever has an item's row locked does not keep the reconciler from the others.
void let_a_row_be_locked(redis_server const& server, workbench& bench)
{
    fast_path::roster roster;
    workers::reconciler keeping({.where = server.target(), .calm_after = std::chrono::seconds(0)},
                                roster, bench.counters);
    auto const at = bench.item(5);
    CHECK(word_of(roster.switch_on(bench.link, at.sku, {})) == "ok");
    auto const is_open = [&] {
        (void)keeping.step(bench.link);
        return roster.now()->contains(at.sku.str());
    };
    CHECK(eventually(std::chrono::seconds(20), is_open));
    static_cast<void>(server.ask({"DEL", fast_path::bucket_of("holdfast", at.sku.str(), 0).state}));
    bench.sql.run("BEGIN");
    bench.sql.run("SELECT 1 FROM item WHERE sku = $1 FOR NO KEY UPDATE", {at.sku.str()});
    CHECK(is_open()); // it waits for nothing, and throws nothing
    bench.sql.run("COMMIT");
    CHECK(eventually(std::chrono::seconds(20), [&] { return !is_open(); }));
    CHECK(word_of(roster.switch_off(bench.link, at.sku)) == "ok");
}

// What is repaired is written down each time; the same that is not, once an hour.
void write_drift_twice(workbench& bench, level_key const& at)
{
    auto const rows = [&] {
        return bench.sql.value("SELECT count(*) FROM drift WHERE sku = $1", {at.sku.str()});
    };
    auto const write = [&](bool is_repaired) {
        std::vector<db::drift::finding> const one{{.sku = at.sku.str(),
                                                   .location = at.location.str(),
                                                   .kind = "available",
                                                   .expected = 5,
                                                   .found = 8,
                                                   .cause = "test",
                                                   .is_repaired = is_repaired}};
        db::transact(bench.link, [&](db::transaction& tx) {
            db::drift::write(tx, one);
            return 0;
        });
    };
    write(false);
    write(false);
    CHECK(rows() == "1");
    write(true);
    write(true);
    CHECK(rows() == "3");
}

} // namespace

void put_redis_before(workbench& bench)
{
    redis_server const server;
    redis::client client(server.target());
    fast_path::roster roster;
    workers::reconciler keeping({.where = server.target(),
                                 .calm_after = std::chrono::seconds(0),
                                 .news_max = std::chrono::milliseconds(0),
                                 .repair_max = 5},
                                roster, bench.counters);
    auto const at = bench.item(5);
    bench.sql.run("UPDATE item SET max_per_customer = 3 WHERE sku = $1", {at.sku.str()});
    CHECK(word_of(roster.switch_on(bench.link, at.sku, {.is_async = true, .buckets = 2})) == "ok");

    // A request that is never settled, once the item is live.
    reserve_command cmd{.key = new_key(), .actor = "x", .lines = {{at, 1}}, .customer = "c"};
    CHECK(comes_to_take(cmd, client, roster, keeping, bench.link));
    (void)keeping.step(bench.link);
    auto const item = roster.now()->at(at.sku.str());
    CHECK(roster.close(bench.link, item));
    CHECK_FALSE(roster.suspend(bench.link, item)); // it is closed already
    let_redis_drift(server, keeping, bench, at);
    CHECK(word_of(roster.switch_off(bench.link, at.sku)) == "ok");
    let_redis_be_crowded(server, bench);
    let_redis_be_busy(server, bench);
    let_a_row_be_locked(server, bench);
    write_drift_twice(bench, bench.item(5));
    // Nothing was accepted, so its queues are retired once nothing can be.
    CHECK(eventually(std::chrono::seconds(20), [&] {
        (void)keeping.step(bench.link);
        return roster.queues()->empty();
    }));
    db::transact(bench.link, [](db::transaction& tx) {
        std::vector<db::unfulfilled::draft> const one{{uuid::make_v7(), "parked", "why", "{}"}};
        db::unfulfilled::add(tx, one);
        return 0;
    });
    CHECK_FALSE(fast_path::find_unfulfilled(bench.link, uuid::make_v7()));
}

} // namespace holdfast::test

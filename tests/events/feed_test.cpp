// SPDX-License-Identifier: Apache-2.0
// The feed of events: what stands in it, page by page, from any place on.
#include "db/feed.hpp"
#include "db/transact.hpp"
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

std::vector<std::string> ids_of(std::vector<json> const& events)
{
    std::vector<std::string> ids;
    for (auto const& e : events)
        ids.push_back(e.at("id"));
    return ids;
}

std::int64_t tell(workbench& bench, std::size_t ids_max = 1000)
{
    return db::transact(bench.link,
                        [&](db::transaction& tx) { return db::feed::tell_committed(tx, ids_max); })
        .value();
}

} // namespace

TEST_CASE("an event says what happened, to which level, and what the level is now")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const id =
        front.hold({{sku, 3}}, {{"reference", "order-7"}, {"customer", "c-42"}, {"confirm", true}});
    front.give_back(id, {{sku, 1}});
    front.adjust(sku, {{"delta", -2}, {"reason", "damaged"}, {"reference", "slip-9"}});
    REQUIRE(wait_until_told(front, {sku}));

    auto const events = read_feed(front, "", "&sku=" + sku);
    CHECK(types_of(events) == "adjusted held confirmed returned adjusted");
    auto const& confirmed = events.at(2);
    CHECK(confirmed.at("sku") == sku);
    CHECK(confirmed.at("location") == "main");
    CHECK(confirmed.at("version") == 3);
    CHECK(confirmed.at("on_hand") == 7);
    CHECK(confirmed.at("reserved") == 0);
    CHECK(confirmed.at("available") == 7);
    CHECK(confirmed.at("quantity") == 3);
    CHECK(confirmed.at("reservation_id") == id);
    CHECK(confirmed.at("reference") == "order-7");
    CHECK(confirmed.at("customer") == "c-42");
    auto const& damaged = events.at(4);
    CHECK(damaged.at("quantity") == -2);
    CHECK(damaged.at("on_hand") == 6);
    CHECK(damaged.at("reservation_id").is_null());
    CHECK(damaged.at("reference") == "slip-9");
    CHECK(damaged.at("customer").is_null());

    // The ledger tells the same story, at the same instants.
    auto const ledger = front.movements(sku);
    REQUIRE(ledger.size() == events.size());
    for (std::size_t i = 0; i < ledger.size(); ++i) {
        CHECK(events[i].at("version") == ledger[i].at("version"));
        CHECK(events[i].at("occurred_at") == ledger[i].at("at"));
    }
}

TEST_CASE("edges are told where a level crosses them, and only there")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10, {{"low_stock_at", 4}});
    auto const first = front.hold({{sku, 5}});  // 5 left
    auto const second = front.hold({{sku, 1}}); // 4 left: low
    front.hold({{sku, 1}});                     // 3 left: still low
    auto const last = front.hold({{sku, 3}});   // none left: sold out
    front.confirm(first);                       // changes nothing of what is available
    front.release(last);                        // 3 left: back in stock
    front.release(second);                      // 4 left
    front.adjust(sku, {{"delta", -4}, {"reason", "lost"}});
    REQUIRE(wait_until_told(front, {sku}));

    CHECK(types_of(read_feed(front, "", "&sku=" + sku)) ==
          "adjusted held held low held held sold_out confirmed released back_in_stock released "
          "adjusted sold_out");
    auto const edges = read_feed(front, "", "&type=stock.low,stock.sold_out&sku=" + sku);
    CHECK(types_of(edges) == "low sold_out sold_out");
    CHECK(edges[0].at("version") == 3);
    CHECK(edges[0].at("available") == 4);
    CHECK(edges[0].at("quantity").is_null());

    // A new threshold changes nothing of what was told.
    REQUIRE(outcome(front.put_item(sku, {{"low_stock_at", 9}})) == "200");
    CHECK(ids_of(read_feed(front, "", "&type=stock.low,stock.sold_out&sku=" + sku)) ==
          ids_of(edges));
}

TEST_CASE("pages of any size, from any event on, show the same events in the same order")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    std::vector<std::string> skus;
    for (int i = 0; i < 3; ++i)
        skus.push_back(front.item(6, {{"low_stock_at", 2}}));
    auto tills = shops(service, 6);
    run_together(tills.size(), [&](std::size_t i) {
        for (std::size_t n = 0; n < 30; ++n) {
            auto const& a = skus[(i + n) % skus.size()];
            auto const& b = skus[(i + n + 1) % skus.size()];
            auto const answer = tills[i].reserve({{a}, {b}});
            if (answer.status == 201 && n % 3 == 0)
                tills[i].confirm(id_of(answer));
            else if (answer.status == 201)
                tills[i].release(id_of(answer));
        }
        return 0;
    });
    REQUIRE(wait_until_told(front, skus));

    auto const all = read_feed(front);
    auto const ids = ids_of(all);
    CHECK(std::set<std::string>(ids.begin(), ids.end()).size() == ids.size());
    for (std::string const limit : {"1", "2", "3", "7", "50"}) {
        CAPTURE(limit);
        std::vector<std::string> paged;
        std::string after;
        for (;;) {
            auto const page = front.get("/v1/events?limit=" + limit + "&after=" + after).json();
            CHECK(page.at("data").size() <= std::stoul(limit));
            for (auto const& e : page.at("data"))
                paged.push_back(e.at("id"));
            if (page.at("next_after") == after)
                break;
            after = page.at("next_after");
        }
        CHECK(paged == ids);
    }
    for (std::size_t from = 0; from < ids.size(); from += 13) {
        auto const rest = ids_of(read_feed(front, ids[from]));
        CHECK(rest == std::vector<std::string>(ids.begin() + static_cast<std::ptrdiff_t>(from) + 1,
                                               ids.end()));
    }
    // Of one item, the same again.
    for (auto const& sku : skus) {
        std::vector<std::string> of_one;
        for (auto const& e : all)
            if (e.at("sku") == sku)
                of_one.push_back(e.at("id"));
        CHECK(ids_of(read_feed(front, "", "&sku=" + sku)) == of_one);
    }
}

TEST_CASE("with events_held off, a hold is told only by what comes of it")
{
    database const db;
    service_process const service(
        {.database_url = db.connection_string(), .arguments = {"--events-held", "false"}});
    shop front(service);
    auto const sku = front.item(2);
    front.confirm(front.hold({{sku, 2}}));
    REQUIRE(eventually(20s, [&] {
        return types_of(read_feed(front, "", "&sku=" + sku)) == "adjusted sold_out confirmed";
    }));
}

TEST_CASE("a place that is forgotten, or was never given, is told apart from the end")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    REQUIRE(wait_until_told(front, {sku}));
    auto const early = read_feed(front).back().at("id").get<std::string>();
    auto const end = end_of_feed(front);
    CHECK(front.get("/v1/events?after=" + end).json().at("next_after") == end);
    CHECK(outcome(front.get("/v1/events?after=evt_900_1_1_0")) == "410 events-expired");
    for (std::string const odd : {"evt_1_1_1", "evt_1_1_1_1_1", "evt_-1_1_1_1", "12", "evt_1_1_1_x",
                                  "evt_99999999999999999999_1_1_1"}) {
        CAPTURE(odd);
        CHECK(outcome(front.get("/v1/events?after=" + odd)) == "400 validation-failed");
    }
    CHECK(pointers_in(front.get("/v1/events?type=stock.gone&limit=0&foo=1")) ==
          "/query/type /query/limit /query/foo");

    // Numbers no version can have lead nowhere, and never round in circles.
    auto const stem = early.substr(0, early.find('_', early.find('_', 4) + 1));
    for (std::string const far : {"9223372036854775807", "9223372036854775806", "1000"}) {
        CAPTURE(far);
        auto const page = front.get("/v1/events?after=" + stem + "_" + far + "_0").json();
        CHECK(page.at("data").empty());
        CHECK(page.at("next_after") == end);
    }

    // Old events go, but for the last position: whoever has read all of them misses nothing.
    auto clerk = db.session();
    for (int i = 0; i < 3; ++i) {
        auto const before = end_of_feed(front);
        front.reserve(sku);
        REQUIRE(eventually(20s, [&] { return end_of_feed(front) != before; }));
    }
    clerk.run("UPDATE feed SET told_at = now() - interval '40 days'");
    clerk.run("UPDATE idempotency_key SET created_at = now() - interval '100 days'");
    front.reserve(sku);
    service_process const later({.database_url = db.connection_string()}); // begins with a clean-up
    REQUIRE(eventually(20s, [&] { return front.get("/v1/events?after=" + early).status == 410; }));
    auto const kept = read_feed(front);
    CHECK(types_of(kept).ends_with("held"));
    CHECK(kept.size() <= 2);
    CHECK(clerk.value("SELECT count(*) FROM outbox WHERE id < (SELECT min(first_id) FROM feed)") ==
          "0");
    CHECK(front.audit_ok());
}

TEST_CASE("what is never committed leaves a gap that is given up, and delays nobody")
{
    migrated_database const place;
    workbench bench(place);
    auto const item = bench.item(100);
    REQUIRE(tell(bench) == 1);
    auto other = place.session();
    other.run("BEGIN");
    other.run("INSERT INTO outbox (sku, location, first_version, last_version)"
              " VALUES ('x', 'main', 1, 1)");
    bench.hold(item, 1);
    CHECK(tell(bench) == 1);
    CHECK(bench.sql.value("SELECT count(*) FROM feed_gap") == "1");
    CHECK(tell(bench) == 0);
    CHECK(bench.sql.value("SELECT count(*) FROM feed_gap") == "1"); // it may still come
    other.run("ROLLBACK");
    CHECK(tell(bench) == 0);
    CHECK(bench.sql.value("SELECT count(*) FROM feed_gap") == "0");
    bench.hold(item, 1);
    CHECK(tell(bench) == 1);
    CHECK(rebuild_differs(bench) == "");
}

TEST_CASE("however changes commit and turns are cut short, each is told once and in order")
{
    constexpr std::size_t writers = 5;
    migrated_database const place;
    workbench bench(place);
    std::vector<level_key> items;
    for (int i = 0; i < 4; ++i)
        items.push_back(bench.item(1'000'000));
    std::atomic<std::size_t> busy{writers};
    auto const answers = run_together(writers + 2, [&](std::size_t i) {
        workbench own(place);
        if (i >= writers) { // two that tell, a few ids at a time, never waiting for each other
            while (busy > 0)
                db::transact(own.link, [&](db::transaction& tx) {
                    return db::feed::tell_committed(tx, 3 + i);
                });
            return std::string();
        }
        for (std::size_t n = 0; n < 120; ++n) {
            auto const id =
                own.reserve(merged({{items[n % 4], 1}, {items[(n + i) % 4], 1}})).value();
            if (n % 3 == 0)
                (void)own.reservations.release(own.link, {id.value.id, "clerk"});
            if (n % 5 == 0)
                (void)own.reserve({{items[0], 10'000'000}}); // rolled back
        }
        --busy;
        return std::string();
    });
    CHECK(rebuild_differs(bench) == "");
    CHECK(bench.audit_findings() == "");
}

} // namespace holdfast::test

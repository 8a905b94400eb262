// SPDX-License-Identifier: Apache-2.0
// Faults D and E: holds that run out, clocks and zones, and payments that come too late. Each test
// is named after its row in the list of faults that shops really suffered.
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

std::vector<std::string> const no_sweeper{"--sweep-interval-ms", "0"};

json const one_second{{"ttl_seconds", 1}};

// Takes every unit of an item in single holds that lapse after a second, and waits until they have.
std::vector<std::string> lapsed_holds(shop& front, std::string const& sku, int holds)
{
    std::vector<std::string> ids;
    for (int i = 0; i < holds; ++i)
        ids.push_back(front.hold({{sku}}, one_second));
    for (auto const& id : ids)
        front.wait_until_expired(id);
    return ids;
}

// Writes so many holds of one unit, as the service would, that end at one instant. Returns it.
std::string hold_many(sql_session& clerk, std::string const& sku, std::int64_t count,
                      std::chrono::seconds ttl)
{
    clerk.run("BEGIN");
    auto const due_at = clerk.value("SELECT date_trunc('second', now()) + $1 * interval '1 second'",
                                    {std::to_string(ttl.count())});
    auto const n = std::to_string(count);
    clerk.run("UPDATE stock_level SET reserved = reserved + $2::bigint,"
              " version = version + $2::bigint WHERE sku = $1",
              {sku, n});
    clerk.run("INSERT INTO reservation (id, api_key_id, idempotency_key, fingerprint, expires_at)"
              " SELECT md5($1 || i)::uuid, 1, $1 || i, '', $3::timestamptz"
              "   FROM generate_series(1, $2::bigint) AS i",
              {sku, n, due_at});
    clerk.run("INSERT INTO reservation_line (reservation_id, sku, location, quantity, held_until)"
              " SELECT md5($1 || i)::uuid, $1, 'main', 1, $3::timestamptz"
              "   FROM generate_series(1, $2::bigint) AS i",
              {sku, n, due_at});
    clerk.run("INSERT INTO movement (sku, location, version, kind, on_hand_delta, reserved_delta,"
              "                      on_hand, reserved, reservation_id, actor)"
              " SELECT l.sku, l.location, l.version - $2::bigint + i, 'reserved', 0, 1, l.on_hand,"
              "        l.reserved - $2::bigint + i, md5($1 || i)::uuid, 'clerk'"
              "   FROM stock_level l, generate_series(1, $2::bigint) AS i WHERE l.sku = $1",
              {sku, n});
    clerk.run("INSERT INTO outbox (sku, location, first_version, last_version)"
              " SELECT sku, location, version - $2::bigint + 1, version FROM stock_level"
              "  WHERE sku = $1",
              {sku, n});
    clerk.run("COMMIT");
    return due_at;
}

// Kills the service while its tills take over lapsed holds. Returns the ids they were given.
std::vector<std::string> kill_in_mid_reclaim(service_process& service, std::string const& sku)
{
    constexpr std::size_t buyers = 8;
    auto tills = shops(service, buyers);
    std::vector<std::vector<std::string>> ids(buyers);
    std::atomic<int> taken{0};
    run_together(buyers + 1, [&](std::size_t i) {
        if (i == buyers) {
            eventually(60s, [&] { return taken >= 8; });
            service.kill9();
            return 0;
        }
        try {
            for (auto answer = tills[i].reserve(sku); answer.status == 201;
                 answer = tills[i].reserve(sku)) {
                ids[i].push_back(id_of(answer));
                ++taken;
            }
        } catch (connection_lost const&) {
            return 0; // The service is gone, as it should be by now.
        }
        return 0;
    });
    std::vector<std::string> all;
    for (auto const& each : ids)
        all.insert(all.end(), each.begin(), each.end());
    return all;
}

} // namespace

TEST_CASE("D1: units of lapsed holds can be sold again with nobody there to sweep")
{
    constexpr int units = 60;
    database const db;
    service_options const options{.database_url = db.connection_string(), .arguments = no_sweeper};
    auto service = std::make_unique<service_process>(options);
    std::string sku;
    {
        shop front(*service);
        for (std::string const strategy : strategies) {
            CAPTURE(strategy);
            auto const single = front.item(1, {{"strategy", strategy}});
            auto const lapsed = lapsed_holds(front, single, 1);
            CHECK(outcome(front.reserve(single)) == "201");
            CHECK(outcome(front.reserve(single)) == "409 insufficient-stock");
            CHECK(front.reservation(lapsed[0]).at("state") == "expired");
        }
        sku = front.item(units);
        lapsed_holds(front, sku, units);
    }

    // The service dies while the backlog is taken over …
    auto const given = kill_in_mid_reclaim(*service, sku);
    CHECK(given.size() >= 8);

    // … and after its restart, still without one, every unit is there once: given away as
    // acknowledged, or free.
    service = std::make_unique<service_process>(options);
    shop front(*service);
    for (auto const& id : given)
        CHECK(front.reservation(id).at("state") == "held");
    auto const after = front.level_of(sku);
    CHECK(after.on_hand == units);
    CHECK(after.reserved >= static_cast<std::int64_t>(given.size()));
    for (auto left = after.available; left > 0; --left)
        REQUIRE(outcome(front.reserve(sku)) == "201");
    CHECK(outcome(front.reserve(sku)) == "409 insufficient-stock");
    CHECK(front.reservations("state=held&sku=" + sku).size() == units);
    CHECK(front.ledger_of(sku) == level{.on_hand = units, .reserved = units, .available = 0});
    CHECK(front.audit_ok());

    // A sweeper that comes back after a while away brings home what has piled up.
    auto const backlog = front.item(1500);
    auto tills = shops(*service, 8);
    run_together(tills.size(), [&](std::size_t i) {
        lapsed_holds(tills[i], backlog, 150);
        return 0;
    });
    CHECK(front.ledger_of(backlog).reserved == 1200);
    service.reset();
    service_process const sweeping({.database_url = db.connection_string()});
    shop later(sweeping);
    CHECK(eventually(20s, [&] {
        return later.ledger_of(backlog) == level{.on_hand = 1500, .reserved = 0, .available = 1500};
    }));
    CHECK(later.audit_ok());
}

TEST_CASE("D3: a lapsed hold reads as free although nobody has touched it")
{
    database const db;
    service_process const service(
        {.database_url = db.connection_string(), .arguments = no_sweeper});
    shop front(service);
    auto const sku = front.item(3);
    auto const alive = front.hold({{sku}});
    auto const lapsed = lapsed_holds(front, sku, 2);
    level const two_free{.on_hand = 3, .reserved = 1, .available = 2};

    CHECK(front.level_of(sku) == two_free);
    auto const listed = front.get("/v1/stock?q=" + sku).json().at("data");
    REQUIRE(listed.size() == 1);
    CHECK(listed[0].at("available") == 2);
    CHECK(listed[0].at("levels")[0].at("reserved") == 1);
    CHECK(front.reservations("state=expired&sku=" + sku).size() == 2);
    auto const held = front.reservations("state=held&sku=" + sku);
    REQUIRE(held.size() == 1);
    CHECK(held[0].at("id") == alive);
    // The audit, too, knows that a lapsed hold is nothing wrong.
    CHECK(front.audit_ok());

    CHECK(outcome(front.reserve(sku, 3)) == "409 insufficient-stock");
    CHECK(outcome(front.reserve(sku, 2)) == "201");
    CHECK(front.level_of(sku) == level{.on_hand = 3, .reserved = 3, .available = 0});
    for (auto const& id : lapsed)
        CHECK(front.reservation(id).at("state") == "expired");
    CHECK(front.audit_ok());
}

TEST_CASE("D5: twenty thousand holds that end in one second go back once each, and nobody waits")
{
    constexpr std::int64_t holds = 20'000;
    constexpr std::size_t buyers = 3;
    database const db;
    service_process const service({.database_url = db.connection_string()});
    service_process const another({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(holds + 1'000'000);
    auto clerk = db.session();
    auto const due_at = hold_many(clerk, sku, holds, 6s);

    // Buyers come all the while, before, in and after that second.
    std::vector<std::vector<std::chrono::nanoseconds>> waits(buyers);
    auto tills = shops(service, buyers);
    std::atomic<bool> is_over{false};
    run_together(buyers + 1, [&](std::size_t i) {
        if (i == buyers) {
            eventually(240s, [&] {
                return clerk.value("SELECT count(*) FROM reservation_line WHERE held_until <= now()"
                                   " OR held_until = $1",
                                   {due_at}) == "0";
            });
            is_over = true;
            return 0;
        }
        while (!is_over) {
            auto const asked_at = std::chrono::steady_clock::now();
            if (outcome(tills[i].reserve(sku)) != "201")
                throw std::runtime_error("a buyer was refused");
            waits[i].push_back(std::chrono::steady_clock::now() - asked_at);
        }
        return 0;
    });
    std::vector<std::chrono::nanoseconds> all;
    for (auto const& each : waits)
        all.insert(all.end(), each.begin(), each.end());
    std::ranges::sort(all);
    REQUIRE(all.size() > 100);
    auto const p99 = all[all.size() * 99 / 100];
    INFO("p99 of ", all.size(), " reservations: ", p99 / 1ms, " ms");
    CHECK(p99 < 1s);

    // Each of them exactly once, within a few seconds on this machine; and each is told once.
    CHECK(clerk.value("SELECT count(*) FROM movement WHERE kind = 'expired'") ==
          std::to_string(holds));
    CHECK(
        clerk.value("SELECT count(DISTINCT reservation_id) FROM movement WHERE kind = 'expired'") ==
        std::to_string(holds));
    CHECK(eventually(
        30s, [&] { return read_feed(front, "", "&type=reservation.expired").size() == holds; }));
    CHECK(front.audit_ok());
}

TEST_CASE("D1: lapsed baskets of many lines do not wait longer than single holds")
{
    database const db;
    service_process const service(
        {.database_url = db.connection_string(),
         .arguments = {"--sweep-batch-max", "4", "--sweep-interval-ms", "10000"}});
    shop front(service);
    std::vector<std::string> skus;
    for (int i = 0; i < 2; ++i)
        skus.push_back(front.item(100));
    for (int i = 0; i < 40; ++i)
        front.hold({{skus[0]}, {skus[1]}});
    // All at one moment, however long it took to make them.
    db.session().run("WITH lapsed AS (UPDATE reservation"
                     "   SET expires_at = now() - interval '1 second'"
                     "   WHERE state = 'held' RETURNING id, expires_at)"
                     " UPDATE reservation_line l SET held_until = lapsed.expires_at FROM lapsed"
                     " WHERE l.reservation_id = lapsed.id");
    auto const back = [&](int holds) {
        return [&front, &skus, holds] { return front.ledger_of(skus[1]).reserved <= 40 - holds; };
    };
    REQUIRE(eventually(20s, back(1)));
    CHECK(eventually(2s, back(40))); // in one go, not two baskets every ten seconds
    CHECK(front.audit_ok());
}

TEST_CASE("D6: odd time zones change no instant, and odd durations are refused")
{
    database const db;
    db.set("timezone", "America/St_Johns");
    service_process const newfoundland(
        {.database_url = db.connection_string(), .environment = {{"TZ", "America/St_Johns"}}});
    service_process const chatham(
        {.database_url = db.connection_string(), .environment = {{"TZ", "Pacific/Chatham"}}});
    shop front(newfoundland);
    shop other(chatham);
    auto const sku = front.item(100);

    for (std::int64_t const ttl : {1, 60, 900, 86'400, 604'800}) {
        CAPTURE(ttl);
        auto const before = std::chrono::time_point_cast<std::chrono::microseconds>(
            std::chrono::system_clock::now());
        auto const made = front.reserve({{sku}}, {{"ttl_seconds", ttl}}).json();
        auto const after = std::chrono::time_point_cast<std::chrono::microseconds>(
            std::chrono::system_clock::now());
        auto const created_at = to_instant(made.at("created_at"));
        CHECK(created_at >= before - 1s);
        CHECK(created_at <= after + 1s);
        CHECK(to_instant(made.at("expires_at")) - created_at == std::chrono::seconds(ttl));
        if (ttl > 1)
            CHECK(other.reservation(made.at("id")) == made);
        auto const ledger = other.movements(sku);
        CHECK(to_instant(ledger.back().at("at")) >= before - 1s);
        CHECK(to_instant(ledger.back().at("at")) <= after + 1s);
    }

    // Hours that a zone's clocks skip or show twice are hours like any other.
    for (std::string const instant_text : {
             "2031-03-09T05:45:00.000000Z", // 02:15 in St John's, which its clocks skip
             "2031-11-02T03:45:00.123456Z", // 01:15 in St John's, the first of two
             "2031-11-02T04:45:00.123456Z", // 01:15 again
             "2031-09-27T14:15:00.000000Z", // 03:00 on the Chathams, skipped there
         }) {
        CAPTURE(instant_text);
        REQUIRE(outcome(front.put_item(sku, {{"sale_ends_at", instant_text}})) == "200");
        CHECK(front.item_of(sku).at("sale_ends_at") == instant_text);
        CHECK(other.item_of(sku).at("sale_ends_at") == instant_text);
    }

    auto const unchanged = front.level_of(sku);
    for (std::string const odd :
         {"0", "-1", "1e12", "1000000000000", "\"60\"", "0.5", "60.0", "true", "[60]", "604801"}) {
        CAPTURE(odd);
        auto const refused = front.post_text("/v1/reservations",
                                             R"({"lines":[{"sku":")" + sku +
                                                 R"(","quantity":1}],"ttl_seconds":)" + odd + "}");
        CHECK(outcome(refused) == "400 validation-failed");
        CHECK(pointers_in(refused) == "/ttl_seconds");
    }
    CHECK(front.level_of(sku).on_hand == unchanged.on_hand);
    CHECK(front.level_of(sku).reserved <= unchanged.reserved);
    CHECK(front.audit_ok());
}

TEST_CASE("D7: a lapsed hold cannot be extended, least of all when its unit has gone to another")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);

    // In time, extending counts from now.
    auto const calm = front.item(1);
    auto const early = front.hold({{calm}}, {{"ttl_seconds", 60}});
    auto const before = to_instant(front.reservation(early).at("expires_at"));
    auto const extended = front.extend(early, 600);
    CHECK(outcome(extended) == "200");
    CHECK(to_instant(extended.json().at("expires_at")) - before >= 540s);
    CHECK(to_instant(extended.json().at("expires_at")) - before <= 600s);

    // Too late, with the unit still there.
    auto const idle = front.item(1);
    auto const late = lapsed_holds(front, idle, 1)[0];
    CHECK(outcome(front.extend(late, 600)) == "409 reservation-expired");
    CHECK(front.level_of(idle).available == 1);

    // Too late, with the unit gone.
    auto const sku = front.item(1);
    auto const first = lapsed_holds(front, sku, 1)[0];
    auto const second = front.reserve(sku);
    CHECK(outcome(second) == "201");
    CHECK(outcome(front.extend(first, 600)) == "409 reservation-expired");
    CHECK(outcome(front.confirm(first)) == "409 reservation-expired");
    CHECK(front.reservation(first).at("state") == "expired");
    CHECK(front.level_of(sku) == level{.on_hand = 1, .reserved = 1, .available = 0});
    CHECK(outcome(front.confirm(id_of(second))) == "200");
    CHECK(outcome(front.extend(first, 600)) == "409 reservation-expired");
    CHECK(front.level_of(sku) == level{.on_hand = 0, .reserved = 0, .available = 0});
    CHECK(front.audit_ok());
}

TEST_CASE("E1: a payment after the hold has lapsed gets the goods again, or hears why not")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    json const again{{"if_expired", "reserve_again"}};

    // Plenty left: refused with the number, or taken again when the shop says so.
    auto const plenty = front.item(3);
    auto const paid_late = front.hold({{plenty, 2}}, one_second);
    // One of two items has gone meanwhile: all or nothing.
    auto const there = front.item(1);
    auto const gone = front.item(1);
    auto const basket = front.hold({{there}, {gone}}, one_second);
    // Two lapsed holds that both want the one unit.
    std::vector<std::string> singles;
    std::vector<std::string> claims;
    for (std::size_t i = 0; i < 30; ++i) {
        singles.push_back(front.item(1, {{"strategy", strategies[i % strategies.size()]}}));
        claims.push_back(front.hold({{singles[i]}}, one_second));
    }
    front.wait_until_expired(claims.back());
    for (auto const& sku : singles)
        claims.push_back(front.hold({{sku}}, one_second));
    front.wait_until_expired(claims.back());

    auto const refused = front.confirm(paid_late);
    CHECK(outcome(refused) == "409 reservation-expired");
    CHECK(available_in(refused, plenty) == 3);
    CHECK(front.level_of(plenty) == level{.on_hand = 3, .reserved = 0, .available = 3});
    auto const taken = front.confirm(paid_late, again);
    CHECK(outcome(taken) == "200");
    CHECK(taken.json().at("state") == "confirmed");
    CHECK(outcome(front.confirm(paid_late, again)) == "200");
    CHECK(front.level_of(plenty) == level{.on_hand = 1, .reserved = 0, .available = 1});

    auto const rival = front.hold({{gone}});
    auto const half = front.confirm(basket, again);
    CHECK(half.status == 409);
    CHECK(available_in(half, gone) == 0);
    CHECK(front.level_of(there) == level{.on_hand = 1, .reserved = 0, .available = 1});
    CHECK(front.level_of(gone) == level{.on_hand = 1, .reserved = 1, .available = 0});
    CHECK(front.reservation(basket).at("state") == "expired");
    CHECK(outcome(front.confirm(rival)) == "200");

    auto tills = shops(service, 2);
    for (std::size_t i = 0; i < singles.size(); ++i) {
        auto const answers = run_together(2, [&](std::size_t till) {
            return tills[till].confirm(claims[i + till * singles.size()], again);
        });
        INFO(tally(answers));
        CHECK(count(answers, "200") == 1);
        CHECK(answers[answers[0].status == 200 ? 1 : 0].status == 409);
        CHECK(front.level_of(singles[i]) == level{.on_hand = 0, .reserved = 0, .available = 0});
    }
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

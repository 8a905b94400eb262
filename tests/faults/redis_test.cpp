// SPDX-License-Identifier: Apache-2.0
// Faults H: a cache in front that sells too much, too little, or twice. Each test is named after
// its row in the list of faults that shops really suffered.
#include "tests/support/database.hpp"
#include "tests/support/fast_stage.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

std::string count_of(std::vector<http_response> const& answers, std::string const& what)
{
    std::size_t count = 0;
    for (auto const& each : answers)
        count += outcome(each) == what ? 1 : 0;
    return std::to_string(count);
}

// Each buyer asks so many times, and something happens in the middle of it; the answers of all.
std::vector<http_response> buy_meanwhile(std::vector<shop>& buyers, std::string const& sku,
                                         int times, std::function<void()> const& happen)
{
    std::vector<std::vector<http_response>> answers(buyers.size());
    std::atomic<int> asked = 0;
    std::vector<std::jthread> buying;
    for (std::size_t i = 0; i < buyers.size(); ++i)
        buying.emplace_back([&, i] {
            for (int n = 0; n < times; ++n) {
                answers[i].push_back(buyers[i].reserve(sku));
                ++asked;
            }
        });
    CHECK(eventually(20s, [&] { return asked > times; }));
    happen(); // by this thread: a program ends with the thread that has started it
    buying.clear();
    std::vector<http_response> all;
    for (auto& each : answers)
        all.insert(all.end(), each.begin(), each.end());
    return all;
}

std::int64_t made_in(std::vector<http_response> const& answers)
{
    return std::ranges::count(answers, 201, &http_response::status);
}

// Four buyers who go on until the service is killed, once so many were told of a hold; how many
// were told in the end.
std::int64_t buy_until_killed(service_process& victim, std::string const& sku, std::int64_t enough)
{
    std::atomic<std::int64_t> heard = 0;
    std::vector<std::jthread> buying;
    for (int i = 0; i < 4; ++i)
        buying.emplace_back([&] {
            try {
                shop till(victim);
                for (;;)
                    heard += till.reserve(sku).status == 201 ? 1 : 0;
            } catch (connection_lost const&) {
                return; // it was killed, as it should be
            }
        });
    CHECK(eventually(20s, [&] { return heard >= enough; }));
    victim.kill9();
    buying.clear();
    return heard;
}

// Kills the only service of a shop in the middle of its sale, again and again, and counts what is
// left. Returns what happened, in words.
std::string kill_often(database const& db, std::uint64_t luck)
{
    redis_server const server;
    constexpr int rounds = 25;
    constexpr std::int64_t start = 100'000;
    std::mt19937_64 chance(luck);
    std::string sku;
    std::int64_t made = 0;
    for (int round = 0; round < rounds; ++round) {
        service_process victim(options_with(db, server.url()));
        shop front(victim);
        if (sku.empty())
            sku = front.item(start);
        fast_stage::make_fast(front, sku, 1);
        made += buy_until_killed(victim, sku, std::uniform_int_distribution(0, 20)(chance));
    }
    service_process const service(options_with(db, server.url()));
    shop front(service);
    fast_stage::make_fast(front, sku, 1);
    auto const now = front.level_of(sku);
    CHECK(now.reserved >= made); // every 201 has its row, and some were not heard
    auto const shown = [&] { return json::parse(front.get("/v1/fast-path/" + sku).body); };
    CHECK(eventually(soon, [&] {
        return shown().at("available") == start - now.reserved && shown().at("held") == 0;
    }));
    CHECK(json::parse(front.post("/v1/reconciliations", json::object()).body)
              .at("differences")
              .empty());
    CHECK(front.audit_ok());
    return std::to_string(made) + " heard, " + std::to_string(now.reserved) + " reserved";
}

} // namespace

TEST_CASE("A3, A5: two services and every door sell the last units of a fast item once")
{
    fast_stage shop_floor;
    service_process const other(options_with(shop_floor.db, shop_floor.server.url()));
    service_process const without_redis({.database_url = shop_floor.db.connection_string()});
    auto buyers = shops(shop_floor.service, 10);
    for (auto* each : {&other, &without_redis})
        for (auto& till : shops(*each, 10))
            buyers.push_back(std::move(till));
    for (int round = 0; round < 5; ++round) {
        auto const sku = shop_floor.item(5);
        auto const answers = run_together(buyers.size(), [&](std::size_t i) {
            if (i % 7 == 6)
                return buyers[i].adjust(sku, {{"delta", -1}, {"reason", "damaged"}});
            return buyers[i].reserve(sku);
        });
        auto const now = shop_floor.front.level_of(sku);
        CHECK(now.available >= 0);
        CHECK(now.reserved + (5 - now.on_hand) == made_in(answers));
        CHECK(now.reserved <= now.on_hand);
    }
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("H1: three at a time from ten leave one, which can still be bought")
{
    fast_stage shop_floor;
    auto buyers = shops(shop_floor.service, 50);
    for (int const buckets : {1, 3}) {
        CAPTURE(buckets);
        auto const sku = shop_floor.item(10, json::object(), buckets);
        std::vector<http_response> answers;
        for (int round = 0; round < 20; ++round)
            for (auto& each : run_together(
                     buyers.size(), [&](std::size_t i) { return buyers[i].reserve(sku, 3); }))
                answers.push_back(std::move(each));
        CHECK(count_of(answers, "201") == "3");
        CHECK(count_of(answers, "409 insufficient-stock") == "997");
        CHECK(eventually(soon, [&] { return shop_floor.has(sku, 1); }));
        CHECK(outcome(shop_floor.front.reserve(sku)) == "201");
        CHECK(outcome(shop_floor.front.reserve(sku)) == "409 insufficient-stock");
    }
    CHECK(shop_floor.refused() > 0);
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("H2: comparing Redis with the database all the time finds nothing and breaks nothing")
{
    fast_stage shop_floor;
    auto buyers = shops(shop_floor.service, 50);
    shop office(shop_floor.service);
    for (int round = 0; round < 3; ++round) {
        auto const sku = shop_floor.item(25);
        std::atomic<bool> is_over = false;
        std::jthread const comparing([&] {
            while (!is_over)
                CHECK(json::parse(office.post("/v1/reconciliations", {{"repair", true}}).body)
                          .at("differences")
                          .empty());
        });
        auto const answers =
            run_together(buyers.size(), [&](std::size_t i) { return buyers[i].reserve(sku); });
        is_over = true;
        CHECK(count_of(answers, "201") == "25");
        CHECK(count_of(answers, "409 insufficient-stock") == "25");
    }
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("H3: a Redis that forgets everything in the middle of a sale changes no result")
{
    fast_stage shop_floor;
    auto buyers = shops(shop_floor.service, 8);
    std::vector<std::pair<std::string, std::function<void()>>> const mishaps{
        {"FLUSHALL", [&] { static_cast<void>(shop_floor.server.ask({"FLUSHALL"})); }},
        {"SCRIPT FLUSH",
         [&] {
             static_cast<void>(shop_floor.server.ask({"SCRIPT", "FLUSH"}));
         }},
        {"restarted empty",
         [&] {
             shop_floor.server.kill9();
             shop_floor.server.start();
         }},
    };
    for (auto const& [name, happen] : mishaps) {
        CAPTURE(name);
        auto const sku = shop_floor.item(200);
        auto const answers = buy_meanwhile(buyers, sku, 50, happen);
        CHECK(count_of(answers, "201") == "200");
        CHECK(count_of(answers, "409 insufficient-stock") == "200");
        CHECK(eventually(soon, [&] { return shop_floor.has(sku, 0); }));

        // Nothing is sold out that is not.
        shop_floor.front.adjust(sku, {{"delta", 1}, {"reason", "received"}});
        CHECK(eventually(soon, [&] { return shop_floor.has(sku, 1); }));
        CHECK(outcome(shop_floor.front.reserve(sku)) == "201");
    }
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("H6: who comes before the sale opens is refused, and no number changes")
{
    fast_stage shop_floor;
    auto const sku = shop_floor.item(5, {{"sale_starts_at", "2099-01-01T00:00:00Z"}});
    REQUIRE(eventually(soon, [&] { return shop_floor.has(sku, 5); }));
    auto const before = shop_floor.refused();
    for (int i = 0; i < 20; ++i)
        CHECK(outcome(shop_floor.front.reserve(sku)) == "409 not-on-sale");
    CHECK(shop_floor.refused() - before == 20);
    CHECK(shop_floor.has(sku, 5));

    shop_floor.front.put_item(sku, {{"sale_starts_at", nullptr}});
    CHECK(eventually(1s, [&] { return outcome(shop_floor.front.reserve(sku)) == "201"; }));
}

TEST_CASE("H7: what one customer gives back another one can buy at once, at every till")
{
    fast_stage shop_floor;
    service_process const other(options_with(shop_floor.db, shop_floor.server.url()));
    shop elsewhere(other);
    auto const sku = shop_floor.item(1);
    auto held = id_of(shop_floor.front.reserve(sku));
    for (int round = 0; round < 20; ++round) {
        CHECK(outcome(elsewhere.reserve(sku)) == "409 insufficient-stock");
        auto& giver = round % 2 == 0 ? elsewhere : shop_floor.front;
        auto& taker = round % 2 == 0 ? shop_floor.front : elsewhere;
        CHECK(giver.release(held).status == 200);
        // Another process may have to be told that its list is out of date, once.
        auto const answer = taker.reserve(sku);
        CHECK(outcome(answer) == "201");
        held = id_of(answer);
    }
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("H9: with Redis stopped, hung or paused it is slower, and never unguarded")
{
    fast_stage shop_floor;
    auto buyers = shops(shop_floor.service, 4);
    std::vector<std::pair<std::string, std::function<void()>>> const mishaps{
        {"paused",
         [&] {
             static_cast<void>(shop_floor.server.ask({"CLIENT", "PAUSE", "3000", "ALL"}));
         }},
        {"asleep",
         [&] {
             // Nobody waits for its answer.
             redis::connection link({"127.0.0.1", shop_floor.server.port()}, {}, {});
             redis::command const sleep{"DEBUG", "SLEEP", "2"};
             auto const* const one = &sleep;
             link.send(std::span(&one, 1));
         }},
        {"hung", [&] { shop_floor.server.suspend(); }},
        {"killed",
         [&] {
             shop_floor.server.resume();
             shop_floor.server.kill9();
         }},
    };
    for (auto const& [name, happen] : mishaps) {
        CAPTURE(name);
        auto const sku = shop_floor.item(60);
        auto const began = std::chrono::steady_clock::now();
        auto const answers = buy_meanwhile(buyers, sku, 30, happen);
        CHECK(std::chrono::steady_clock::now() - began < 30s);
        CHECK(count_of(answers, "201") == "60");
        CHECK(count_of(answers, "409 insufficient-stock") == "60");
        if (name == "hung")
            shop_floor.server.resume();
        if (name != "killed")
            CHECK(eventually(40s, [&] { return shop_floor.has(sku, 0); }));
    }
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("H4: a hundred kills between Redis and the commit leave no unit behind")
{
    // A round is mostly waiting, so four shops have theirs at the same time.
    constexpr std::size_t shops = 4;
    std::array<database, shops> const databases;
    for (auto const& happened : run_together(
             shops, [&](std::size_t i) { return kill_often(databases.at(i), seed() + i); }))
        MESSAGE(happened);
}

} // namespace holdfast::test

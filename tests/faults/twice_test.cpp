// SPDX-License-Identifier: Apache-2.0
// Faults C: the same thing asked for twice, at once, or after it is settled. Each test is named
// after its row in the list of faults that shops really suffered.
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// How many ledger lines of an item are of this kind.
std::size_t movements_of_kind(shop& front, std::string const& sku, std::string_view kind)
{
    auto const all = front.movements(sku);
    return static_cast<std::size_t>(std::count_if(
        all.begin(), all.end(), [&](json const& movement) { return movement.at("kind") == kind; }));
}

// Reserves and releases without end, each release twice, until the service is gone.
http_response reserve_and_release(shop& till, std::string const& sku, std::atomic<int>& releases)
{
    try {
        while (true) {
            auto answer = till.reserve(sku);
            if (answer.status != 201)
                return answer;
            auto const id = id_of(answer);
            for (int i = 0; i < 2; ++i) {
                auto released = till.release(id);
                if (released.status != 200)
                    return released;
                ++releases;
            }
        }
    } catch (connection_lost const&) {
        return {.status = 200};
    }
}

// A hold, and the instant around its end at which its payment comes.
struct appointment {
    std::string id;
    instant at;
};

// Holds one unit after the other for a second each, to be paid for at its end, give or take 5 ms.
std::vector<appointment> hold_for_a_second(shop& till, std::string const& sku, int holds,
                                           std::uint64_t random_seed)
{
    std::mt19937_64 random(random_seed);
    std::uniform_int_distribution<int> microseconds(-5000, 5000);
    std::vector<appointment> appointments;
    for (int i = 0; i < holds; ++i) {
        auto const made = till.reserve({{sku}}, {{"ttl_seconds", 1}}).json();
        auto const offset = std::chrono::microseconds(microseconds(random));
        appointments.push_back({made.at("id"), to_instant(made.at("expires_at")) + offset});
    }
    return appointments;
}

// Confirms each hold at its instant.
std::vector<http_response> keep(shop& till, std::vector<appointment> const& appointments)
{
    std::vector<http_response> answers;
    for (auto const& [id, at] : appointments) {
        // The instant is the input here: the confirmation has to meet the end of the hold.
        std::this_thread::sleep_until(at);
        answers.push_back(till.confirm(id));
    }
    return answers;
}

} // namespace

TEST_CASE("C1: ten confirmations of one hold take the goods out once")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 10);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        for (int round = 0; round < 20; ++round) {
            auto const sku = front.item(10, {{"strategy", strategy}});
            auto const id = front.hold({{sku, 3}});

            auto const answers =
                run_together(tills.size(), [&](std::size_t i) { return tills[i].confirm(id); });

            CHECK(tally(answers) == "10 x 200");
            for (auto const& answer : answers)
                CHECK(answer.json() == answers[0].json());
            CHECK(answers[0].json().at("state") == "confirmed");
            CHECK(front.level_of(sku) == level{.on_hand = 7, .reserved = 0, .available = 7});
            CHECK(movements_of_kind(front, sku, "confirmed") == 1);
        }
    }

    CHECK(front.audit_ok());
}

TEST_CASE("C2: what is settled stays settled, and nothing comes back twice")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 20);

    // Confirmed, then released: refused, and the goods stay sold.
    auto const sold = front.item(5);
    auto const order = front.hold({{sold, 5}});
    CHECK(outcome(front.confirm(order)) == "200");
    CHECK(outcome(front.release(order)) == "409 already-confirmed");
    CHECK(front.level_of(sold) == level{.on_hand = 0, .reserved = 0, .available = 0});

    // Of five sold, two came back; four more cannot.
    CHECK(outcome(front.give_back(order, {{sold, 2}})) == "201");
    auto const beyond = front.give_back(order, {{sold, 4}});
    CHECK(outcome(beyond) == "400 validation-failed");
    CHECK(pointers_in(beyond).starts_with("/lines"));
    CHECK(front.level_of(sold).on_hand == 2);
    CHECK(front.reservation(order).at("lines")[0].at("returned") == 2);

    // Twenty clerks book the return of one unit each: three are left to come back.
    auto const returns = run_together(tills.size(), [&](std::size_t i) {
        return tills[i].give_back(order, {{sold, 1}});
    });
    CHECK(tally(returns) == "3 x 201, 17 x 400 validation-failed");
    CHECK(front.level_of(sold) == level{.on_hand = 5, .reserved = 0, .available = 5});

    // Released twenty times at once: back once.
    for (int round = 0; round < 20; ++round) {
        auto const sku = front.item(9);
        auto const id = front.hold({{sku, 4}});
        auto const answers =
            run_together(tills.size(), [&](std::size_t i) { return tills[i].release(id); });
        CHECK(tally(answers) == "20 x 200");
        CHECK(front.level_of(sku) == level{.on_hand = 9, .reserved = 0, .available = 9});
        CHECK(movements_of_kind(front, sku, "released") == 1);
        CHECK(outcome(front.confirm(id)) == "409 already-released");
    }

    // Released and confirmed at once: one of them, and the level shows which.
    for (int round = 0; round < 40; ++round) {
        auto const sku = front.item(1);
        auto const id = front.hold({{sku}});
        auto const answers = run_together(
            2, [&](std::size_t i) { return i == 0 ? tills[i].confirm(id) : tills[i].release(id); });
        bool const is_sold = answers[0].status == 200;
        CHECK(tally(answers) == (is_sold ? "1 x 200, 1 x 409 already-confirmed"
                                         : "1 x 200, 1 x 409 already-released"));
        CHECK(front.level_of(sku).on_hand == (is_sold ? 0 : 1));
        CHECK(front.level_of(sku).reserved == 0);
    }

    CHECK(front.audit_ok());
}

TEST_CASE("C4: holds that are released over and over leave nothing behind, even after a crash")
{
    database const db;
    auto service =
        std::make_unique<service_process>(service_options{.database_url = db.connection_string()});
    std::string sku;
    {
        shop front(*service);
        sku = front.item(6);
        for (int round = 0; round < 100; ++round) {
            auto const id = front.hold({{sku, 2}});
            REQUIRE(outcome(front.release(id)) == "200");
            auto const again = front.hold({{sku, 2}});
            REQUIRE(outcome(front.release(again)) == "200");
            REQUIRE(outcome(front.release(id)) == "200");
            REQUIRE(front.level_of(sku) == level{.on_hand = 6, .reserved = 0, .available = 6});
        }
    }

    // The service is killed while holds come and go, three times.
    for (int crash = 0; crash < 3; ++crash) {
        auto tills = shops(*service, 6);
        std::atomic<int> releases{0};
        auto const last_answers = run_together(tills.size() + 1, [&](std::size_t i) {
            if (i < tills.size())
                return reserve_and_release(tills[i], sku, releases);
            eventually(60s, [&] { return releases >= 60; });
            service->kill9();
            return http_response{.status = 200};
        });
        CHECK(tally(last_answers) == "7 x 200");
        CHECK(releases >= 60);

        service = std::make_unique<service_process>(
            service_options{.database_url = db.connection_string()});
        shop front(*service);
        // Holds whose answer was lost are found again, and each goes back once.
        for (auto const& left : front.reservations("state=held&sku=" + sku)) {
            CHECK(outcome(front.release(left.at("id"))) == "200");
            CHECK(outcome(front.release(left.at("id"))) == "200");
        }
        CHECK(front.level_of(sku) == level{.on_hand = 6, .reserved = 0, .available = 6});
        CHECK(front.audit_ok());
    }
}

TEST_CASE("C6: releasing what never was, or is long over, changes no number")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(5);
    auto const lapsed = front.hold({{sku, 2}}, {{"ttl_seconds", 1}});
    auto const alive = front.hold({{sku, 1}});
    front.wait_until_expired(lapsed);
    auto const before = front.level_of(sku);
    CHECK(before == level{.on_hand = 5, .reserved = 1, .available = 4});

    CHECK(outcome(front.release("01890a5d-ac96-774b-bcce-b302099a8057")) ==
          "404 unknown-reservation");
    for (int i = 0; i < 3; ++i) {
        auto const answer = front.release(lapsed);
        CHECK(outcome(answer) == "200");
        CHECK(answer.json().at("state") == "expired");
        CHECK(front.level_of(sku) == before);
    }

    CHECK(front.reservation(alive).at("state") == "held");
    CHECK(outcome(front.reserve(sku, 4)) == "201");
    CHECK(outcome(front.reserve(sku, 1)) == "409 insufficient-stock");
    CHECK(front.audit_ok());
}

TEST_CASE("C9: a payment at the last moment of a hold is either in time or too late, never both")
{
    constexpr std::size_t buyers = 20;
    constexpr int holds_each = 25;
    constexpr std::int64_t units = buyers * holds_each;
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, buyers + 2);
    auto const sku = front.item(units);
    std::atomic<std::size_t> running{buyers};
    auto const appointments = run_together(buyers, [&](std::size_t i) {
        return hold_for_a_second(tills[i], sku, holds_each, seed() + i);
    });

    // Two rivals want the same units all the while, so lapsed holds are taken over at once.
    std::atomic<std::int64_t> taken{0};
    auto const finishes = run_together(buyers + 2, [&](std::size_t i) {
        if (i < buyers) {
            auto answers = keep(tills[i], appointments[i]);
            --running;
            return answers;
        }
        eventually(20s, [&] {
            taken += tills[i].reserve(sku).status == 201 ? 1 : 0;
            return running == 0;
        });
        return std::vector<http_response>{};
    });

    std::int64_t confirmed = 0;
    for (std::size_t i = 0; i < buyers; ++i) {
        for (std::size_t n = 0; n < finishes[i].size(); ++n) {
            auto const state = front.reservation(appointments[i][n].id).at("state");
            bool const was_in_time = finishes[i][n].status == 200;
            confirmed += was_in_time ? 1 : 0;
            CHECK(outcome(finishes[i][n]) == (was_in_time ? "200" : "409 reservation-expired"));
            CHECK(state == (was_in_time ? "confirmed" : "expired"));
        }
    }
    MESSAGE("in time: " << confirmed << " of " << units);
    CHECK(front.level_of(sku) == level{.on_hand = units - confirmed,
                                       .reserved = taken,
                                       .available = units - confirmed - taken});
    // Selling the rest puts every lapsed hold through the books, so the ledger has to agree too.
    auto const rest = units - confirmed - taken;
    CHECK(outcome(front.reserve(sku, rest + 1)) == "409 insufficient-stock");
    if (rest > 0)
        CHECK(outcome(front.reserve(sku, rest)) == "201");
    CHECK(front.ledger_of(sku) == front.level_of(sku));
    CHECK(front.audit_ok());
}

TEST_CASE("C10: two confirmations under different keys both hear the same good news")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 2);

    for (std::size_t round = 0; round < 90; ++round) {
        auto const sku = front.item(2, {{"strategy", strategies[round % strategies.size()]}});
        auto const id = front.hold({{sku, 2}});

        // Each till sends an Idempotency-Key of its own.
        auto const answers = run_together(2, [&](std::size_t i) { return tills[i].confirm(id); });

        CHECK(tally(answers) == "2 x 200");
        CHECK(answers[0].json() == answers[1].json());
        CHECK(front.level_of(sku) == level{.on_hand = 0, .reserved = 0, .available = 0});
    }

    CHECK(front.audit_ok());
}

} // namespace holdfast::test

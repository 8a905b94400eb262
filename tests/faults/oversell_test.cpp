// SPDX-License-Identifier: Apache-2.0
// Faults A: selling more than there is. Each test is named after its row in the list of faults
// that shops really suffered.
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

struct rush {
    std::vector<http_response> answers; // one a buyer
    std::vector<level> seen;            // while they bought
};

// All buyers want `quantity` of one item at once, and one more till keeps looking at its level.
rush fire(std::vector<shop>& buyers, shop& watcher, line const& wanted)
{
    constexpr int looks = 25;
    rush result;
    result.answers = run_together(buyers.size() + 1, [&](std::size_t i) {
        if (i < buyers.size())
            return buyers[i].reserve({wanted});
        for (int look = 0; look < looks; ++look)
            result.seen.push_back(watcher.level_of(wanted.sku));
        return http_response{};
    });
    result.answers.pop_back();
    return result;
}

void sell_the_last_unit_to_all(std::vector<shop>& buyers, shop& front, std::string const& strategy)
{
    CAPTURE(strategy);
    auto const sku = front.item(1, {{"strategy", strategy}});

    auto const result = fire(buyers, front, {.sku = sku});

    auto const refused = std::to_string(buyers.size() - 1);
    CHECK(tally(result.answers) == "1 x 201, " + refused + " x 409 insufficient-stock");
    for (auto const& answer : result.answers)
        if (answer.status == 409)
            CHECK(available_in(answer, sku) == 0);
    for (auto const& sample : result.seen) {
        CHECK(sample.on_hand == 1);
        CHECK(sample.reserved >= 0);
        CHECK(sample.available >= 0);
        CHECK(sample.available == sample.on_hand - sample.reserved);
    }
    CHECK(front.level_of(sku) == level{.on_hand = 1, .reserved = 1, .available = 0});
}

void sell_seven_of_ten_to_both(std::vector<shop>& buyers, shop& front, std::string const& strategy)
{
    CAPTURE(strategy);
    auto const sku = front.item(10, {{"strategy", strategy}});

    auto const result = fire(buyers, front, {.sku = sku, .quantity = 7});

    CHECK(tally(result.answers) == "1 x 201, 1 x 409 insufficient-stock");
    for (auto const& answer : result.answers)
        if (answer.status == 409)
            CHECK(available_in(answer, sku) == 3);
    CHECK(front.level_of(sku) == level{.on_hand = 10, .reserved = 7, .available = 3});
}

std::int64_t units_held(shop& front, std::string const& sku)
{
    std::int64_t units = 0;
    for (auto const& reservation : front.reservations("state=held&sku=" + sku))
        for (auto const& each : reservation.at("lines"))
            if (each.at("sku") == sku)
                units += each.at("quantity").get<std::int64_t>();
    return units;
}

// Sells single units until one is refused, and returns how many went.
std::int64_t sell_out(shop& front, std::string const& sku)
{
    for (std::int64_t sold = 0;; ++sold) {
        auto const answer = front.reserve(sku);
        if (answer.status != 201) {
            CHECK(outcome(answer) == "409 insufficient-stock");
            return sold;
        }
    }
}

std::string array_literal(std::vector<std::string> const& ids)
{
    std::string text;
    for (auto const& id : ids)
        text += (text.empty() ? "" : ",") + id;
    return '{' + text + '}';
}

// Holds the row locks of some reservations until it goes out of scope or is rolled back.
sql_session lock_reservations(database const& db, std::vector<std::string> const& ids)
{
    auto session = db.session();
    session.run("BEGIN");
    auto const rows = session.run(
        "SELECT id FROM reservation WHERE id = ANY($1::uuid[]) FOR UPDATE", {array_literal(ids)});
    REQUIRE(rows.size() == ids.size());
    return session;
}

} // namespace

TEST_CASE("A1: the last unit is sold once, whatever the rush")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto buyers = shops(service, 50);

    for (auto const* strategy : strategies)
        for (int round = 0; round < 12; ++round)
            sell_the_last_unit_to_all(buyers, front, strategy);

    CHECK(front.audit_ok());
}

TEST_CASE("A2: of ten units, only one of two buyers gets seven")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto buyers = shops(service, 2);

    for (auto const* strategy : strategies)
        for (int round = 0; round < 60; ++round)
            sell_seven_of_ten_to_both(buyers, front, strategy);

    CHECK(front.audit_ok());
}

TEST_CASE("A3: two services on one database sell the last unit once")
{
    database const db;
    service_process const first({.database_url = db.connection_string()});
    service_process const second({.database_url = db.connection_string()});
    shop front(first);
    auto crowd = shops(first, 25);
    auto others = shops(second, 25);
    std::move(others.begin(), others.end(), std::back_inserter(crowd));
    std::vector<shop> pair;
    pair.emplace_back(first);
    pair.emplace_back(second);

    for (auto const* strategy : strategies) {
        for (int round = 0; round < 8; ++round)
            sell_the_last_unit_to_all(crowd, front, strategy);
        for (int round = 0; round < 30; ++round)
            sell_seven_of_ten_to_both(pair, front, strategy);
    }

    CHECK(front.audit_ok());
}

TEST_CASE("A5: what is promised adds up, by whichever door the requests came in")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 20);

    for (std::size_t round = 0; round < 18; ++round) {
        std::string const strategy = strategies[round % strategies.size()];
        CAPTURE(strategy);
        auto const sku = front.item(1, {{"strategy", strategy}});
        auto const other = front.item(100, {{"strategy", strategy}});
        auto const earlier = front.hold({{other}});

        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            auto& till = tills[i];
            switch (i % 10) {
            case 0: return till.reserve({{sku}, {other}});
            case 1: return till.reserve({{sku}}, {{"confirm", true}});
            case 2: return till.reserve({{sku}}, {{"supersedes", earlier}});
            case 3: return till.adjust(sku, {{"delta", 1}, {"reason", "found"}});
            case 4: return till.adjust(sku, {{"delta", -1}, {"reason", "damaged"}});
            case 5: return till.import_csv("add", "sku,quantity\r\n" + sku + ",1\r\n");
            case 6: return till.put_item(sku, {{"name", "New name"}, {"strategy", strategy}});
            default: return till.reserve(sku);
            }
        });

        for (auto const& answer : answers) {
            INFO(outcome(answer));
            CHECK((answer.status < 300 || answer.status == 409));
        }
        auto const left = front.level_of(sku);
        CHECK(left.available >= 0);
        CHECK(left.reserved == units_held(front, sku));
        CHECK(left == front.ledger_of(sku));
        CHECK(sell_out(front, sku) == left.available);
    }

    CHECK(front.audit_ok());
}

TEST_CASE("A6: two orders and a clerk who writes off all five units: exactly one of them wins")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 3);

    for (std::size_t round = 0; round < 60; ++round) {
        auto const sku = front.item(5, {{"strategy", strategies[round % strategies.size()]}});

        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            // The clerk takes turns at each place, so that each may come first.
            return i == round % tills.size()
                       ? tills[i].adjust(sku, {{"delta", -5}, {"reason", "damaged"}})
                       : tills[i].reserve(sku, 5);
        });

        bool const clerk_won = answers[round % tills.size()].status == 201;
        if (clerk_won) {
            CHECK(tally(answers) == "1 x 201, 2 x 409 insufficient-stock");
            CHECK(front.level_of(sku) == level{.on_hand = 0, .reserved = 0, .available = 0});
        } else {
            CHECK(tally(answers) == "1 x 201, 1 x 409 insufficient-stock, 1 x 409 would-be-short");
            CHECK(front.level_of(sku) == level{.on_hand = 5, .reserved = 5, .available = 0});
        }
    }

    CHECK(front.audit_ok());
}

TEST_CASE("A9: a hold counts even while somebody has its row locked")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto buyers = shops(service, 20);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        // Ten units, six of them promised: four are left, whoever looks at the six just now.
        auto const sku = front.item(10, {{"strategy", strategy}});
        std::vector<std::string> ids;
        for (int i = 0; i < 6; ++i)
            ids.push_back(front.hold({{sku}}));
        auto const locks = lock_reservations(db, {ids.begin(), ids.begin() + 4});

        auto const answers =
            run_together(buyers.size(), [&](std::size_t i) { return buyers[i].reserve(sku); });

        CHECK(tally(answers) == "4 x 201, 16 x 409 insufficient-stock");
        CHECK(front.level_of(sku) == level{.on_hand = 10, .reserved = 10, .available = 0});
    }
    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        // One customer may have three and holds two: one is left to her, locked rows or not.
        auto const sku = front.item(50, {{"strategy", strategy}, {"max_per_customer", 3}});
        json const anna{{"customer", "anna"}};
        auto const locks =
            lock_reservations(db, {front.hold({{sku}}, anna), front.hold({{sku}}, anna)});

        auto const answers = run_together(
            buyers.size(), [&](std::size_t i) { return buyers[i].reserve({{sku}}, anna); });

        CHECK(tally(answers) == "1 x 201, 19 x 409 customer-limit");
    }
    // Five lapsed holds, two of them locked: their units come back once, now or a moment later.
    auto const sku = front.item(5);
    std::vector<std::string> ids;
    for (int i = 0; i < 5; ++i)
        ids.push_back(front.hold({{sku}}, {{"ttl_seconds", 1}}));
    for (auto const& id : ids)
        front.wait_until_expired(id);
    auto locks = lock_reservations(db, {ids[1], ids[3]});
    std::atomic<int> sold{0};

    auto answers = run_together(buyers.size() + 1, [&](std::size_t i) {
        if (i == buyers.size()) {
            eventually(500ms, [&] { return sold >= 3; });
            locks.run("ROLLBACK");
            return http_response{.status = 201};
        }
        auto answer = buyers[i].reserve(sku);
        sold += answer.status == 201 ? 1 : 0;
        return answer;
    });
    answers.pop_back();

    CHECK(count(answers, "201") + count(answers, "409 insufficient-stock") == buyers.size());
    CHECK(sold + sell_out(front, sku) == 5);
    CHECK(front.audit_ok());
}

TEST_CASE("A10: a database server that defaults to stricter isolation gets the same answers")
{
    for (std::string const isolation : {"repeatable read", "serializable"}) {
        CAPTURE(isolation);
        database const db;
        db.set("default_transaction_isolation", isolation);
        service_process const service({.database_url = db.connection_string()});
        shop front(service);
        auto buyers = shops(service, 50);
        REQUIRE(db.session().value("SHOW default_transaction_isolation") == isolation);

        for (auto const* strategy : strategies)
            for (int round = 0; round < 6; ++round)
                sell_the_last_unit_to_all(buyers, front, strategy);

        CHECK(front.audit_ok());
    }
}

TEST_CASE("A16: the database itself refuses a change by hand that would promise too much")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const id = front.hold({{sku, 4}});
    auto session = db.session();
    std::string const check_violation = "23514";

    for (std::string const change : {
             "reserved = 11",
             "reserved = reserved + 7",
             "reserved = -1",
             "on_hand = -1",
             "on_hand = 3",
             "on_hand = on_hand - 7",
             "on_hand = on_hand - 10, reserved = reserved - 3",
         }) {
        CAPTURE(change);
        CHECK(session.refusal("UPDATE stock_level SET " + change + " WHERE sku = $1", {sku}) ==
              check_violation);
    }
    // The ledger is for good: no line of it can be bent or taken out.
    std::string const restrict_violation = "23001";
    CHECK(session.refusal("UPDATE movement SET on_hand_delta = 0 WHERE sku = $1", {sku}) ==
          restrict_violation);
    CHECK(session.refusal("DELETE FROM movement WHERE sku = $1", {sku}) == restrict_violation);

    CHECK(front.level_of(sku) == level{.on_hand = 10, .reserved = 4, .available = 6});
    CHECK(outcome(front.confirm(id)) == "200");
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

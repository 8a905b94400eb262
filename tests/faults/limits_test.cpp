// SPDX-License-Identifier: Apache-2.0
// Faults F and G: a buyer's own holds, and limits per customer. Each test is named after its row
// in the list of faults that shops really suffered.
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

// Reserves, confirms, releases and returns at random under one customer's name.
std::vector<http_response> shop_around(shop& till, std::string const& sku,
                                       std::uint64_t random_seed)
{
    std::mt19937_64 random(random_seed);
    std::vector<http_response> answers;
    for (int i = 0; i < 40; ++i) {
        auto const quantity = static_cast<std::int64_t>(random() % 3 + 1);
        auto const made = till.reserve({{sku, quantity}}, {{"customer", "greta"}});
        answers.push_back(made);
        if (made.status != 201)
            continue;
        if (random() % 2 == 0) {
            answers.push_back(till.release(id_of(made)));
            continue;
        }
        answers.push_back(till.confirm(id_of(made)));
        answers.push_back(till.give_back(id_of(made), {{sku, quantity}}));
    }
    return answers;
}

// The most units of an item that customers were seen to have, held or paid for, in 30 looks.
std::int64_t most_units_had(database const& db, std::string const& sku)
{
    auto session = db.session();
    std::int64_t most = 0;
    for (int look = 0; look < 30; ++look)
        most = std::max(most, std::int64_t{std::stoll(session.value(
                                  "SELECT coalesce(sum(CASE r.state WHEN 'held' THEN l.quantity"
                                  " ELSE l.confirmed - l.restocked END), 0)"
                                  "  FROM reservation_line l JOIN reservation r"
                                  "    ON r.id = l.reservation_id"
                                  " WHERE l.sku = $1 AND r.state IN ('held', 'confirmed')",
                                  {sku}))});
    return most;
}

// Six tills at once under one name that may have four, while somebody looks at the books.
void shop_around_at_six_tills(database const& db, service_process const& service)
{
    shop front(service);
    auto tills = shops(service, 6);
    auto const sku = front.item(1000, {{"max_per_customer", 4}});
    std::int64_t most = 0;

    auto const answers = run_together(tills.size() + 1, [&](std::size_t i) {
        if (i < tills.size())
            return shop_around(tills[i], sku, seed() + i);
        most = most_units_had(db, sku);
        return std::vector<http_response>{};
    });

    CHECK(most <= 4);
    for (auto const& of_one_till : answers) {
        INFO(tally(of_one_till));
        CHECK(count(of_one_till, "201") + count(of_one_till, "200") +
                  count(of_one_till, "409 customer-limit") ==
              of_one_till.size());
    }
    // All came back, so the whole limit is there again, and not a unit more.
    CHECK(front.level_of(sku) == level{.on_hand = 1000, .reserved = 0, .available = 1000});
    CHECK(outcome(front.reserve({{sku, 4}}, {{"customer", "greta"}})) == "201");
    CHECK(outcome(front.reserve({{sku, 1}}, {{"customer", "greta"}})) == "409 customer-limit");
}

} // namespace

TEST_CASE("F1: a new hold that replaces the buyer's own takes over its unit")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 8);
    level const one_promised{.on_hand = 1, .reserved = 1, .available = 0};

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        auto const sku = front.item(1, {{"strategy", strategy}});
        auto const first = front.hold({{sku}});
        CHECK(outcome(front.reserve(sku)) == "409 insufficient-stock");

        // More than there is, even with the own unit: refused, and the first hold stands.
        CHECK(outcome(front.reserve({{sku, 2}}, {{"supersedes", first}})) ==
              "409 insufficient-stock");
        CHECK(front.reservation(first).at("state") == "held");

        auto const second = front.reserve({{sku}}, {{"supersedes", first}});
        CHECK(outcome(second) == "201");
        CHECK(front.reservation(first).at("state") == "released");
        CHECK(outcome(front.confirm(first)) == "409 already-released");
        CHECK(front.level_of(sku) == one_promised);
        CHECK(outcome(front.confirm(id_of(second))) == "200");

        // Nor can one that had run out before, though its units would be there to be taken again.
        auto const plenty = front.item(10, {{"strategy", strategy}});
        for (bool const is_reclaimed : {false, true}) {
            CAPTURE(is_reclaimed);
            auto const lapsed = front.hold({{plenty}}, {{"ttl_seconds", 1}});
            REQUIRE(eventually(std::chrono::seconds(10),
                               [&] { return front.reservation(lapsed).at("state") == "expired"; }));
            if (is_reclaimed)
                CHECK(outcome(front.release(lapsed)) == "200");
            CHECK(outcome(front.reserve({{plenty}}, {{"supersedes", lapsed}})) == "201");
            CHECK(outcome(front.confirm(lapsed, {{"if_expired", "reserve_again"}})) ==
                  "409 already-released");
        }
        CHECK(front.level_of(plenty).reserved == 2);
    }

    // Eight checkouts of one buyer each replace the same hold: one of them has the unit.
    for (int round = 0; round < 25; ++round) {
        auto const sku = front.item(1);
        auto const first = front.hold({{sku}});
        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            return tills[i].reserve({{sku}}, {{"supersedes", first}});
        });
        INFO(tally(answers));
        CHECK(count(answers, "201") == 1);
        for (auto const& answer : answers)
            CHECK((answer.status == 201 || answer.status == 409));
        CHECK(front.level_of(sku) == one_promised);
    }

    // Replaced and paid for at once: one of both, so the unit goes out once.
    for (int round = 0; round < 40; ++round) {
        auto const sku = front.item(1);
        auto const first = front.hold({{sku}});
        auto const answers = run_together(2, [&](std::size_t i) {
            return i == 0 ? tills[i].confirm(first)
                          : tills[i].reserve({{sku}}, {{"supersedes", first}});
        });
        bool const is_paid = answers[0].status == 200;
        CHECK(answers[1].status == (is_paid ? 409 : 201));
        CHECK((is_paid || outcome(answers[0]) == "409 already-released"));
        CHECK(front.level_of(sku) == (is_paid ? level{} : one_promised));
    }
    CHECK(front.audit_ok());
}

TEST_CASE("F3: a hold on the last units can be paid for, since they are its own")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 10);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        auto const sku = front.item(3, {{"strategy", strategy}});
        auto const id = front.hold({{sku, 3}});
        REQUIRE(front.level_of(sku).available == 0);

        // While others try in vain.
        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            return i == 0 ? tills[i].confirm(id) : tills[i].reserve(sku);
        });

        CHECK(tally(answers) == "1 x 200, 9 x 409 insufficient-stock");
        CHECK(answers[0].status == 200);
        CHECK(front.level_of(sku) == level{.on_hand = 0, .reserved = 0, .available = 0});
    }
    CHECK(front.audit_ok());
}

TEST_CASE("G1: a customer who may have two gets two, however many clicks come at once")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 10);

    for (std::size_t round = 0; round < 36; ++round) {
        auto const sku = front.item(
            50, {{"max_per_customer", 2}, {"strategy", strategies[round % strategies.size()]}});

        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            return tills[i].reserve({{sku}}, {{"customer", "greta"}});
        });

        CHECK(tally(answers) == "2 x 201, 8 x 409 customer-limit");
        CHECK(front.level_of(sku).reserved == 2);
        CHECK(outcome(front.reserve({{sku, 2}}, {{"customer", "hanna"}})) == "201");
        CHECK(outcome(front.reserve({{sku}}, {{"customer", "hanna"}})) == "409 customer-limit");
    }
    CHECK(front.audit_ok());
}

TEST_CASE("G2: a customer's limit holds over all orders, paid or not, and given back is given back")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100, {{"max_per_customer", 3}});
    json const greta{{"customer", "greta"}};
    json const briefly{{"customer", "greta"}, {"ttl_seconds", 4}};
    auto const is_full = [&] {
        return outcome(front.reserve({{sku}}, greta)) == "409 customer-limit";
    };

    auto const nameless = front.reserve(sku);
    CHECK(outcome(nameless) == "400 validation-failed");
    CHECK(pointers_in(nameless) == "/customer");

    auto const two = front.hold({{sku, 2}}, greta);
    CHECK(outcome(front.reserve({{sku, 2}}, greta)) == "409 customer-limit");
    CHECK(outcome(front.reserve({{sku, 1}, {sku, 1}}, greta)) == "409 customer-limit");
    auto const one = front.hold({{sku}}, greta);
    CHECK(is_full());
    CHECK(outcome(front.confirm(two)) == "200");
    CHECK(is_full()); // Paid for counts as well.

    CHECK(outcome(front.release(one)) == "200");
    CHECK(outcome(front.release(one)) == "200");
    auto const brief = front.hold({{sku}}, briefly); // A release gave one back, not two.
    CHECK(is_full());
    front.wait_until_expired(brief);
    auto const third = front.hold({{sku}}, greta); // So did the lapse of a hold.
    CHECK(is_full());

    CHECK(outcome(front.give_back(two, {{sku}}, {{"restock", false}})) == "201");
    CHECK(is_full()); // What does not go back on the shelf was still had.
    CHECK(outcome(front.give_back(two, {{sku}}, {{"restock", true}})) == "201");
    auto const fourth = front.hold({{sku}}, greta);
    CHECK(is_full());
    CHECK(outcome(front.reserve({{sku}}, {{"customer", "greta"}, {"supersedes", third}})) == "201");
    CHECK(is_full());
    CHECK(outcome(front.confirm(fourth)) == "200");
    CHECK(is_full());

    // One of three confirmed: the other two of the order are given back.
    json const hanna{{"customer", "hanna"}};
    auto const order = front.hold({{sku, 3}}, hanna);
    json const only_one{{"lines", json::array({{{"sku", sku}, {"quantity", 1}}})}};
    CHECK(outcome(front.confirm(order, only_one)) == "200");
    CHECK(outcome(front.reserve({{sku, 3}}, hanna)) == "409 customer-limit");
    CHECK(outcome(front.reserve({{sku, 2}}, hanna)) == "201");

    shop_around_at_six_tills(db, service);
    CHECK(front.audit_ok());
}

TEST_CASE("G4: a customer's hundred tries cost the shop one unit, and leave the rest to others")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 100);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        for (int round = 0; round < 4; ++round) {
            auto const sku = front.item(100, {{"max_per_customer", 1}, {"strategy", strategy}});

            auto const answers = run_together(tills.size(), [&](std::size_t i) {
                return tills[i].reserve({{sku}}, {{"customer", "greta"}, {"confirm", true}});
            });

            CHECK(tally(answers) == "1 x 201, 99 x 409 customer-limit");
            CHECK(front.level_of(sku) == level{.on_hand = 99, .reserved = 0, .available = 99});
            CHECK(outcome(front.reserve({{sku}}, {{"customer", "hanna"}})) == "201");
            CHECK(front.ledger_of(sku) == level{.on_hand = 99, .reserved = 1, .available = 98});
        }
    }
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

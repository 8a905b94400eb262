// SPDX-License-Identifier: Apache-2.0
// Faults B: baskets, that is one request with many lines, or with one item twice. Each test is
// named after its row in the list of faults that shops really suffered.
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace holdfast::test {

TEST_CASE("B1: an item that stands twice in a basket is counted together")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        auto const sku = front.item(5, {{"strategy", strategy}});

        auto const too_many = front.reserve({{sku, 3}, {sku, 3}});
        CHECK(outcome(too_many) == "409 insufficient-stock");
        CHECK(available_in(too_many, sku) == 5);
        CHECK(too_many.json().at("items").size() == 1);
        CHECK(too_many.json().at("items")[0].at("requested") == 6);
        CHECK(front.level_of(sku) == level{.on_hand = 5, .reserved = 0, .available = 5});

        auto const fits = front.reserve({{sku, 2}, {sku, 3}});
        CHECK(outcome(fits) == "201");
        CHECK(front.level_of(sku) == level{.on_hand = 5, .reserved = 5, .available = 0});
        CHECK(outcome(front.confirm(id_of(fits))) == "200");
        CHECK(front.level_of(sku) == level{.on_hand = 0, .reserved = 0, .available = 0});

        // The same at once: of two baskets of 3 + 3 out of eleven units, one fits.
        auto const rare = front.item(11, {{"strategy", strategy}});
        auto tills = shops(service, 6);
        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            return tills[i].reserve({{rare, 3}, {rare, 3}});
        });
        CHECK(tally(answers) == "1 x 201, 5 x 409 insufficient-stock");
        CHECK(front.level_of(rare) == level{.on_hand = 11, .reserved = 6, .available = 5});
    }

    CHECK(front.audit_ok());
}

TEST_CASE("B5: a basket with an item twice does not wait for itself")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 20);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        auto const sku = front.item(200, {{"strategy", strategy}});
        auto const other = front.item(200, {{"strategy", strategy}});

        auto const alone = front.reserve({{sku}, {sku}});
        CHECK(outcome(alone) == "201");
        CHECK(front.level_of(sku).reserved == 2);

        // Twice the same with another item between, and many such baskets at once.
        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            return i % 2 == 0 ? tills[i].reserve({{sku}, {other}, {sku}})
                              : tills[i].reserve({{other}, {sku}, {other}});
        });
        CHECK(tally(answers) == "20 x 201");
        CHECK(front.level_of(sku).reserved == 2 + 10 * 2 + 10);
        CHECK(front.level_of(other).reserved == 10 + 10 * 2);
        CHECK(outcome(front.release(id_of(alone))) == "200");
        CHECK(front.level_of(sku).reserved == 30);
    }

    CHECK(front.audit_ok());
}

TEST_CASE("B7: a basket that fails takes nothing away from others, not even for a moment")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 4);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        // The sold-out item comes after the other in one basket and before it in the next,
        // in the order of lines as in the order of names.
        auto const none_before = unique("A-NONE");
        auto const wanted = unique("M-WANTED");
        auto const none_after = unique("Z-NONE");
        for (auto const& sku : {none_before, none_after})
            REQUIRE(front.put_item(sku, {{"on_hand", 0}, {"strategy", strategy}}).status == 201);
        REQUIRE(front.put_item(wanted, {{"on_hand", 1}, {"strategy", strategy}}).status == 201);

        for (int round = 0; round < 60; ++round) {
            auto const answers = run_together(tills.size(), [&](std::size_t i) {
                switch (i) {
                case 0: return tills[i].reserve(wanted);
                case 1: return tills[i].reserve({{wanted}, {none_after}});
                case 2: return tills[i].reserve({{none_before}, {wanted}});
                default: return tills[i].reserve({{none_after}, {wanted}});
                }
            });

            REQUIRE(outcome(answers[0]) == "201");
            REQUIRE(tally(answers) == "1 x 201, 3 x 409 insufficient-stock");
            CHECK(available_in(answers[1], none_after) == 0);
            REQUIRE(outcome(tills[0].release(id_of(answers[0]))) == "200");
        }
        CHECK(front.level_of(wanted) == level{.on_hand = 1, .reserved = 0, .available = 1});
    }

    CHECK(front.audit_ok());
}

} // namespace holdfast::test

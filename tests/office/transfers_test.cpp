// SPDX-License-Identifier: Apache-2.0
// Units that go from one location to another: never lost on the way, never there twice.
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

http_response transfer(shop& front, std::string const& sku, std::int64_t quantity,
                       json more = json::object())
{
    json body{{"sku", sku}, {"from", "main"}, {"to", "shelf"}, {"quantity", quantity}};
    body.update(more);
    return front.post("/v1/transfers", body);
}

} // namespace

TEST_CASE("a transfer is two movements under one reference")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);

    auto const answer = transfer(front, sku, 4, {{"reference", "tour-12"}, {"note", "by van"}});
    CHECK(outcome(answer) == "201");
    auto const told = answer.json();
    CHECK(told.at("from").at("level").at("on_hand") == 6);
    CHECK(told.at("to").at("level").at("on_hand") == 4);
    for (auto const* end : {"from", "to"}) {
        CHECK(told.at(end).at("movement").at("reason") == "transferred");
        CHECK(told.at(end).at("movement").at("reference") == "tour-12");
        CHECK(told.at(end).at("movement").at("note") == "by van");
    }
    CHECK(front.level_of(sku).on_hand == 10);

    auto const nameless = transfer(front, sku, 1).json();
    auto const& reference = nameless.at("from").at("movement").at("reference");
    CHECK(reference.is_string());
    CHECK(reference == nameless.at("to").at("movement").at("reference"));
    CHECK(front.audit_ok());

    REQUIRE(wait_until_told(front, {sku}));
    auto const told_of = read_feed(front, "", "&type=stock.adjusted&sku=" + sku);
    CHECK(std::ranges::count_if(
              told_of, [](json const& event) { return event.at("location") == "shelf"; }) == 2);
}

TEST_CASE("a transfer takes neither what is not there nor, unasked, what is reserved")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const held = front.hold({{sku, 7}});

    CHECK(outcome(transfer(front, sku, 11)) == "409 would-go-negative");
    CHECK(outcome(transfer(front, sku, 4)) == "409 would-be-short");
    CHECK(outcome(transfer(front, "NEVER", 1)) == "404 unknown-sku");
    CHECK(pointers_in(transfer(front, sku, 1, {{"to", "main"}})) == "/to");
    CHECK(pointers_in(front.post("/v1/transfers", json::object())) == "/sku /from /to /quantity");
    CHECK(front.item_of(sku).at("levels").size() == 1); // no level was made for nothing

    auto const insisted = transfer(front, sku, 4, {{"allow_short", true}});
    CHECK(outcome(insisted) == "201");
    CHECK(insisted.json().at("from").at("level").at("short") == 1);
    auto const unserved = front.confirm(held); // no count has found anything
    CHECK(outcome(unserved) == "409 insufficient-stock");
    CHECK(unserved.json().at("detail") == "There are fewer units on hand than were promised.");
    CHECK(outcome(front.adjust(sku, {{"set_to", 9'000'000'000'000'000},
                                     {"expect_on_hand", nullptr},
                                     {"reason", "found"},
                                     {"location", "full"}})) == "201");
    front.adjust(sku, {{"delta", 5}, {"reason", "found"}});
    CHECK(outcome(transfer(front, sku, 1, {{"to", "full"}})) == "422 quantity-overflow");
    CHECK(front.audit_ok());
}

TEST_CASE("transfers to and fro wait for each other, and every unit is somewhere")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(100);
    auto shelved = correction_of({at.sku, location("shelf")});
    shelved.delta = 100;
    CHECK(word_of(bench.adjustments.adjust(bench.link, shelved)) == "ok");
    auto const words = run_together(8, [&](std::size_t van) {
        workbench desk(place);
        std::string all;
        for (int i = 0; i < 5; ++i) {
            bool const is_out = van % 2 == 0;
            auto const done = desk.adjustments.transfer(
                desk.link, {.key = new_key(),
                            .actor = "van",
                            .sku = at.sku,
                            .from = is_out ? location() : location("shelf"),
                            .to = is_out ? location("shelf") : location(),
                            .quantity = 1,
                            .note = {},
                            .reference = {}});
            all += word_of(done) + ' ';
        }
        return all;
    });
    CHECK(words == std::vector<std::string>(8, "ok ok ok ok ok "));
    CHECK(bench.row(at).on_hand == 100);
    CHECK(bench.row({at.sku, location("shelf")}).on_hand == 100);
    CHECK(bench.audit_findings() == "");
}

} // namespace holdfast::test

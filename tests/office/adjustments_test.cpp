// SPDX-License-Identifier: Apache-2.0
// Many adjustments at once: all of them or none, and every refusal told by its row.
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace holdfast::test {

namespace {

json row_of(std::string const& sku, std::int64_t delta, std::string const& location = "main")
{
    return {{"sku", sku}, {"delta", delta}, {"reason", "correction"}, {"location", location}};
}

http_response adjust_many(shop& front, std::vector<json> const& rows)
{
    return front.post("/v1/adjustments", {{"rows", rows}});
}

} // namespace

TEST_CASE("many adjustments are one: each moves its level, in the order of the request")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    std::vector const skus{front.item(10), front.item(20), front.item(30)};
    std::vector<json> rows{row_of(skus[2], -5), row_of(skus[0], 1), row_of(skus[0], 4, "shelf")};
    rows.push_back({{"sku", skus[1]}, {"set_to", 7}, {"expect_on_hand", 20}, {"reason", "count"}});

    auto const answer = adjust_many(front, rows);
    CHECK(outcome(answer) == "201");
    auto const told = answer.json().at("rows");
    REQUIRE(told.size() == 4);
    CHECK(told.at(0).at("level").at("on_hand") == 25);
    CHECK(told.at(2).at("level").at("location") == "shelf");
    CHECK(told.at(3).at("movement").at("kind") == "counted");
    CHECK(told.at(3).at("movement").at("on_hand_delta") == -13);
    CHECK(front.level_of(skus[0]).on_hand == 15);
    CHECK(front.audit_ok());
}

TEST_CASE("one row that is refused leaves everything as it was, and every such row is told")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const held = front.item(10);
    front.hold({{held, 8}});
    auto const books = books_of(db);

    auto const answer = adjust_many(front, {row_of(sku, 1),
                                            row_of(held, -3),
                                            row_of("NEVER", 1),
                                            row_of(sku, -1, "shelf"),
                                            {{"sku", held},
                                             {"location", "shelf"},
                                             {"set_to", 5},
                                             {"expect_on_hand", 9},
                                             {"reason", "found"}}});
    CHECK(outcome(answer) == "404 unknown-sku"); // the first of them in the table
    CHECK(pointers_in(answer) == "/rows/1 /rows/2 /rows/3 /rows/4");
    std::string codes;
    auto const told = answer.json();
    for (auto const& error : told.at("errors"))
        codes += error.at("code").get<std::string>() + ' ';
    CHECK(told.at("errors").at(0).at("sku") == held);
    CHECK(told.at("errors").at(1).at("sku") == "NEVER");
    CHECK(codes == "would-be-short unknown-sku would-go-negative precondition-failed ");
    CHECK(books_of(db) == books);

    auto insisting = row_of(held, -3);
    insisting["allow_short"] = true;
    auto const allowed = adjust_many(front, {insisting, row_of(sku, 1)});
    CHECK(outcome(allowed) == "201");
    CHECK(allowed.json().at("rows").at(0).at("level").at("short") == 1);
}

TEST_CASE("a level stands in one row, and there are no more than a thousand")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1);
    auto const twice = adjust_many(front, {row_of(sku, 1), row_of(sku, 1, "a"), row_of(sku, 2)});
    CHECK(outcome(twice) == "400 validation-failed");
    CHECK(pointers_in(twice) == "/rows/2");
    CHECK(pointers_in(adjust_many(front, {})) == "/rows");
    auto const wrong =
        adjust_many(front, {{{"sku", sku}, {"reason", "lost"}}, row_of(sku, 0, "a")});
    CHECK(pointers_in(wrong) == "/rows/0 /rows/1/delta");

    std::vector<json> rows;
    for (int i = 0; i < 1000; ++i)
        rows.push_back(row_of(sku, 1, "l-" + std::to_string(i)));
    CHECK(outcome(adjust_many(front, rows)) == "201");
    CHECK(front.level_of(sku).on_hand == 1001);
    rows.push_back(row_of(sku, 1));
    CHECK(outcome(adjust_many(front, rows)) == "400 validation-failed");
}

TEST_CASE("the same many adjustments sent twice are done once")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    std::vector const skus{front.item(10), front.item(10)};
    auto const body = json{{"rows", {row_of(skus[1], 2), row_of(skus[0], 3)}}}.dump();
    auto const send = [&] {
        return front.http().send({.method = "POST",
                                  .target = "/v1/adjustments",
                                  .body = body,
                                  .headers = {{"Idempotency-Key", "delivery-7"}}});
    };
    auto const first = send();
    front.adjust(skus[1], {{"delta", 1}, {"reason", "found"}});
    auto const again = send();
    CHECK(outcome(again) == "201");
    CHECK(again.header("idempotent-replayed") == "true");
    for (std::size_t i = 0; i < 2; ++i)
        CHECK(again.json().at("rows").at(i).at("movement") ==
              first.json().at("rows").at(i).at("movement"));
    CHECK(again.json().at("rows").at(0).at("level").at("on_hand") == 13); // as it stands now
    CHECK(front.level_of(skus[0]).on_hand == 13);
}

TEST_CASE("clerks who adjust the same levels in any order wait for each other and lose nothing")
{
    migrated_database const place;
    workbench bench(place);
    std::vector<level_key> const at{bench.item(100), bench.item(100), bench.item(100)};
    auto const done = run_together(6, [&](std::size_t clerk) {
        workbench desk(place);
        bulk_adjust_command cmd{new_key(), {}};
        for (std::size_t i = 0; i < at.size(); ++i) {
            auto row = correction_of(at[(clerk + i) % at.size()]);
            row.delta = -1;
            cmd.rows.push_back(row);
        }
        return word_of(desk.adjustments.adjust_all(desk.link, cmd));
    });
    for (auto const& word : done)
        CHECK(word == "ok");
    for (auto const& key : at)
        CHECK(bench.row(key).on_hand == 94);
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("units of holds that are due do not stand in the way of many adjustments")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(5);
    bench.let_lapse(bench.hold(at, 5));
    auto loss = correction_of(at);
    loss.delta = -5;
    CHECK(word_of(bench.adjustments.adjust_all(bench.link, {new_key(), {loss}})) == "ok");
    CHECK(bench.row(at).on_hand == 0);
    CHECK(bench.audit_findings() == "");
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// Customers to whom nothing more is promised, and what stays theirs.
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <string>

namespace holdfast::test {

namespace {

http_response block(shop& front, std::string const& customer, json const& body)
{
    return front.http().send(
        {.method = "PUT", .target = "/v1/blocked-customers/" + customer, .body = body.dump()});
}

http_response unblock(shop& front, std::string const& customer)
{
    return front.http().send({.method = "DELETE", .target = "/v1/blocked-customers/" + customer});
}

http_response buy(shop& front, std::string const& sku, std::string const& customer)
{
    return front.reserve({{sku, 1}}, {{"customer", customer}});
}

} // namespace

TEST_CASE("a blocked customer is promised nothing, from the answer on, and others are")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    CHECK(outcome(buy(front, sku, "c-1")) == "201");

    CHECK(outcome(block(front, "c-1", {{"reason", "chargebacks"}})) == "201");
    CHECK(outcome(block(front, "c-1", {{"reason", "fraud"}})) == "200");
    auto const books = books_of(db);
    CHECK(outcome(buy(front, sku, "c-1")) == "403 customer-blocked");
    CHECK(outcome(buy(front, "NEVER", "c-1")) == "404 unknown-sku");
    CHECK(books_of(db) == books);
    CHECK(outcome(buy(front, sku, "c-10")) == "201");
    CHECK(outcome(front.reserve(sku)) == "201");

    auto const listed = front.get("/v1/blocked-customers").json().at("data");
    REQUIRE(listed.size() == 1);
    CHECK(listed.at(0).at("customer") == "c-1");
    CHECK(listed.at(0).at("reason") == "fraud");

    CHECK(outcome(unblock(front, "c-1")) == "204");
    CHECK(outcome(unblock(front, "c-1")) == "404 not-found");
    CHECK(outcome(buy(front, sku, "c-1")) == "201");
    CHECK(front.audit_ok());
}

TEST_CASE("what a blocked customer has can be confirmed, released and asked for again")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const first = front.hold({{sku, 1}}, {{"customer", "c-1"}});
    auto const second = front.hold({{sku, 2}}, {{"customer", "c-1"}});
    auto const third = front.hold({{sku, 3}}, {{"customer", "c-1"}});
    auto const send = [&] {
        return front.http().send(
            {.method = "POST",
             .target = "/v1/reservations",
             .body = R"({"customer":"c-1","lines":[{"sku":")" + sku + R"(","quantity":1}]})",
             .headers = {{"Idempotency-Key", "cart-1"}}});
    };
    auto const made = send();
    REQUIRE(outcome(made) == "201");

    REQUIRE(outcome(block(front, "c-1", {{"reason", "fraud"}})) == "201");
    CHECK(outcome(front.confirm(first)) == "200");
    CHECK(outcome(front.release(second)) == "200");
    CHECK(outcome(front.extend(third, 600)) == "200");
    CHECK(outcome(front.give_back(first, {{sku, 1}})) == "201");
    auto const again = send();
    CHECK(outcome(again) == "201");
    CHECK(id_of(again) == id_of(made));
    auto const instead = front.reserve({{sku, 1}}, {{"customer", "c-1"}, {"supersedes", third}});
    CHECK(outcome(instead) == "403 customer-blocked");
    CHECK(front.reservation(third).at("state") == "held");
}

TEST_CASE("in a batch only the blocked customer's requests are refused, in every mode")
{
    migrated_database const place;
    workbench boss(place);
    boss.sql.run("INSERT INTO blocked_customer (customer, reason, actor) VALUES ('bad', 'x', 'x')");
    for (auto const& mode : modes_under_test()) {
        CAPTURE(mode);
        workbench bench(place, {.strategy = mode});
        auto const at = bench.item(3);
        std::vector<reserve_command> wishes(3);
        std::vector<reserve_command const*> asked;
        for (std::size_t i = 0; i < wishes.size(); ++i) {
            wishes[i].key = new_key();
            wishes[i].actor = "x";
            wishes[i].lines = {{at, 1}};
            wishes[i].customer = i == 1 ? "bad" : "good";
            asked.push_back(&wishes[i]);
        }
        auto const answers = bench.reservations.reserve(bench.link, asked);
        REQUIRE(answers[1].has_value());
        CHECK(word_of(*answers[1]) == "customer_blocked");
        CHECK(bench.row(at).reserved == 2);
    }
    CHECK(boss.audit_findings() == "");
}

TEST_CASE("reasons are texts, names are names, and the list has pages")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    CHECK(pointers_in(block(front, "c", json::object())) == "/reason");
    CHECK(pointers_in(block(front, "c", {{"reason", ""}})) == "/reason");
    CHECK(pointers_in(block(front, "c", {{"reason", std::string(501, 'x')}})) == "/reason");
    CHECK(pointers_in(block(front, std::string(201, 'c'), {{"reason", "x"}})) == "/path/customer");
    for (auto const* name : {"a", "b%20b", "c%2Fd"})
        CHECK(outcome(block(front, name, {{"reason", "x"}})) == "201");
    auto const page = front.get("/v1/blocked-customers?limit=2").json();
    CHECK(page.at("data").at(1).at("customer") == "b b");
    auto const rest = front.get("/v1/blocked-customers?limit=2&cursor=" +
                                page.at("next_cursor").get<std::string>());
    CHECK(rest.json().at("data").at(0).at("customer") == "c/d");
    CHECK(rest.json().at("next_cursor").is_null());
}

} // namespace holdfast::test

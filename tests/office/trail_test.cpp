// SPDX-License-Identifier: Apache-2.0
// The audit trail: what staff did that the ledger does not say, told with its request.
#include "tests/cli/command.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <string>

namespace holdfast::test {

namespace {

json trail(shop& front, std::string const& query)
{
    return front.get("/v1/trail" + query).json().at("data");
}

std::string actions_in(json const& entries)
{
    std::string all;
    for (auto const& entry : entries)
        all += (all.empty() ? "" : " ") + entry.at("action").get<std::string>();
    return all;
}

} // namespace

TEST_CASE("settings are told with what they were and what they are, and only when they change")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10, {{"name", "Tee"}, {"low_stock_at", 3}});
    auto const changed = front.put_item(sku, {{"low_stock_at", nullptr}, {"on_sale", false}});
    front.put_item(sku, {{"on_sale", false}}); // as it is
    front.put_item(sku, {{"sale_ends_at", "x"}});

    auto const told = trail(front, "?subject=item:" + sku);
    REQUIRE(actions_in(told) == "item.changed item.created");
    auto const& change = told.at(0);
    CHECK(change.at("detail").at("before") == json{{"low_stock_at", 3}, {"on_sale", true}});
    CHECK(change.at("detail").at("after") == json{{"low_stock_at", nullptr}, {"on_sale", false}});
    CHECK(change.at("request_id") == changed.header("x-request-id").value());
    CHECK(told.at(1).at("detail").at("after") == json{{"name", "Tee"}, {"low_stock_at", 3}});
}

TEST_CASE("webhooks, blocked customers and imports are told, and no secret is")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto& http = front.http();
    auto const made = front.post("/v1/webhooks", {{"url", "https://shop.example/hooks"}}).json();
    auto const hook = "/v1/webhooks/" + made.at("id").get<std::string>();
    for (int i = 0; i < 2; ++i)
        http.send({.method = "PATCH", .target = hook, .body = R"({"state":"paused"})"});
    http.send({.method = "POST", .target = hook + "/rotate", .body = "{}"});
    http.send({.method = "DELETE", .target = hook});
    auto const of_hook = trail(front, "?subject=webhook:" + made.at("id").get<std::string>());
    CHECK(actions_in(of_hook) == "webhook.deleted webhook.rotated webhook.changed webhook.created");
    CHECK(of_hook.dump().find("whsec") == std::string::npos);
    CHECK(of_hook.at(2).at("detail").at("after").at("state") == "paused");

    std::string const customer = "/v1/blocked-customers/c-1";
    for (int i = 0; i < 2; ++i)
        http.send({.method = "PUT", .target = customer, .body = R"({"reason":"fraud"})"});
    http.send({.method = "DELETE", .target = customer});
    http.send({.method = "DELETE", .target = customer});
    CHECK(actions_in(trail(front, "?subject=customer:c-1")) ==
          "customer.unblocked customer.blocked");

    front.import_csv("set", "sku,quantity\nNEW-1,5\n");
    front.import_csv("set", "sku,quantity\nNEW-1,x\n"); // refused
    auto const imports = trail(front, "?subject=catalogue");
    REQUIRE(imports.size() == 1);
    CHECK(imports.at(0).at("detail").at("created") == 1);
}

TEST_CASE("keys that are made and revoked on the server are told")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const before = trail(front, "?actor=keeper").size();
    static_cast<void>(create_key(db.connection_string(), "viewer", "wall"));
    auto const told = trail(front, "?actor=keeper");
    REQUIRE(told.size() == before + 1);
    CHECK(told.at(0).at("action") == "key.created");
    CHECK(told.at(0).at("detail") == json{{"name", "wall"}, {"role", "viewer"}});
    CHECK(told.at(0).at("request_id").is_null());
}

TEST_CASE("the trail has pages and filters, is an administrator's, and is never rewritten")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1);
    for (int i = 1; i <= 4; ++i)
        front.put_item(sku, {{"low_stock_at", i}});
    std::string actions;
    std::string cursor;
    do {
        auto const page =
            front.get("/v1/trail?limit=2&subject=item:" + sku + "&cursor=" + cursor).json();
        actions += actions_in(page.at("data")) + '|';
        cursor = page.at("next_cursor").is_null() ? "" : page.at("next_cursor").get<std::string>();
    } while (!cursor.empty());
    CHECK(actions == "item.changed item.changed|item.changed item.changed|item.created|");
    auto const actor = trail(front, "?limit=1").at(0).at("actor").get<std::string>();
    CHECK(trail(front, "?actor=" + actor + "&subject=item:" + sku).size() == 5);
    CHECK(trail(front, "?actor=nobody&subject=item:" + sku).empty());
    CHECK(outcome(front.get("/v1/trail?subject=")) == "400 validation-failed");
    CHECK_THROWS(db.session().run("DELETE FROM trail"));
    CHECK_THROWS(db.session().run("UPDATE trail SET actor = 'x'"));
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// What staff does to a hold, and why: in the ledger where units move, else in the trail.
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <string>

namespace holdfast::test {

namespace {

http_response act(shop& front, std::string const& id, std::string const& verb, json const& body)
{
    return front.post("/v1/reservations/" + id + '/' + verb, body);
}

} // namespace

TEST_CASE("a release that says why says so in the ledger")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const id = front.hold({{sku, 2}});
    CHECK(outcome(act(front, id, "release", {{"reason", "fraud check failed"}})) == "200");
    CHECK(outcome(act(front, id, "release", {{"reason", "again"}})) == "200");
    auto const lines = front.movements(sku);
    CHECK(lines.back().at("kind") == "released");
    CHECK(lines.back().at("note") == "fraud check failed");
    CHECK(front.level_of(sku).reserved == 0);

    auto const other = front.hold({{sku, 1}});
    CHECK(outcome(act(front, other, "release", json::object())) == "200");
    CHECK(front.movements(sku).back().at("note").is_null());
}

TEST_CASE("an extension that says why says so in the trail, and one that does not is not there")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const id = front.hold({{sku, 2}});
    CHECK(outcome(act(front, id, "extend", {{"ttl_seconds", 60}})) == "200");
    auto const answer =
        act(front, id, "extend", {{"ttl_seconds", 7200}, {"reason", "bank is slow"}});
    CHECK(outcome(answer) == "200");
    auto const lines = front.movements(sku).size();
    auto const told = front.get("/v1/trail?subject=reservation:" + id).json().at("data");
    REQUIRE(told.size() == 1);
    CHECK(told.at(0).at("action") == "hold.extended");
    CHECK(told.at(0).at("detail") == json{{"reason", "bank is slow"}, {"ttl_seconds", 7200}});
    CHECK(told.at(0).at("request_id") == answer.header("x-request-id").value());
    CHECK(front.movements(sku).size() == lines);

    front.release(id);
    auto const late = act(front, id, "extend", {{"ttl_seconds", 60}, {"reason", "too late"}});
    CHECK(outcome(late) == "409 already-released");
    CHECK(front.get("/v1/trail?subject=reservation:" + id).json().at("data").size() == 1);
}

TEST_CASE("a reason is a text of 1 to 500 characters")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const id = front.hold({{front.item(1), 1}});
    for (json const& reason : {json(""), json(std::string(501, 'x')), json(1), json("a\nb")}) {
        CHECK(pointers_in(act(front, id, "release", {{"reason", reason}})) == "/reason");
        CHECK(pointers_in(act(front, id, "extend", {{"reason", reason}, {"ttl_seconds", 60}})) ==
              "/reason");
    }
    CHECK(outcome(act(front, id, "release", {{"reason", std::string(500, 'x')}})) == "200");
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// Settings that two people change at once: with If-Match nobody overwrites what he has not seen.
#include "tests/support/database.hpp"
#include "tests/support/person.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <utility>

namespace holdfast::test {

namespace {

http_response put_if(shop& front, std::string const& sku, std::string const& tag,
                     json const& settings)
{
    return front.http().send({.method = "PUT",
                              .target = "/v1/stock/" + sku,
                              .body = settings.dump(),
                              .headers = {{"If-Match", tag}}});
}

std::string tag_of(shop& front, std::string const& sku)
{
    return front.get("/v1/stock/" + sku).header("etag").value();
}

} // namespace

TEST_CASE("settings are changed while they are what was seen, and told when they are not")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const seen = tag_of(front, sku);
    front.reserve(sku);
    CHECK(tag_of(front, sku) == seen); // a sale changes no setting

    auto const mine = put_if(front, sku, seen, {{"low_stock_at", 3}});
    CHECK(outcome(mine) == "200");
    CHECK(mine.header("etag") == tag_of(front, sku));
    auto const late = put_if(front, sku, seen, {{"low_stock_at", 5}});
    CHECK(outcome(late) == "412 precondition-failed");
    CHECK(late.json().at("item").at("low_stock_at") == 3);
    CHECK(late.header("etag") == mine.header("etag"));
    CHECK(front.item_of(sku).at("low_stock_at") == 3);

    CHECK(outcome(put_if(front, sku, "\"x\", " + tag_of(front, sku), {{"low_stock_at", 4}})) ==
          "200");
    CHECK(outcome(put_if(front, sku, "*", {{"low_stock_at", 6}})) == "200");
    CHECK(outcome(put_if(front, sku, "W/" + tag_of(front, sku), {{"low_stock_at", 7}})) ==
          "412 precondition-failed");
    CHECK(outcome(front.put_item(sku, {{"low_stock_at", 8}})) == "200"); // as it always did
}

TEST_CASE("every setting is one that somebody may have changed meanwhile")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1);
    std::set<std::string> tags{tag_of(front, sku)};
    json const changes{{"name", "Mug"},
                       {"on_sale", false},
                       {"sale_starts_at", "2026-01-01T00:00:00Z"},
                       {"sale_ends_at", "2026-01-02T00:00:00Z"},
                       {"max_per_customer", 2},
                       {"low_stock_at", 2},
                       {"strategy", "row_lock"},
                       {"admission", "token"},
                       {"admission_pool", 7},
                       {"admission_ttl_seconds", 60}};
    for (auto const& [name, value] : changes.items()) {
        CAPTURE(name);
        CHECK(outcome(front.put_item(sku, {{name, value}})) == "200");
        CHECK(tags.insert(tag_of(front, sku)).second);
    }
    auto shown = front.item_of(sku);
    for (auto const* other : {"sku", "levels", "on_hand", "reserved", "available", "short",
                              "sold_out", "created_at", "updated_at", "fast_path"})
        shown.erase(other);
    CHECK(shown.size() == changes.size()); // a new setting belongs here as well
}

TEST_CASE("an item that is not there is not made, and a field that is no tag is refused")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    CHECK(outcome(put_if(front, "NEVER", "*", {{"on_hand", 1}})) == "412 precondition-failed");
    CHECK(outcome(front.get("/v1/stock/NEVER")) == "404 unknown-sku");
    auto const sku = front.item(1);
    for (auto const* tag : {"x", "\"a\" \"b", ",", "\""})
        CHECK(pointers_in(put_if(front, sku, tag, {{"on_sale", true}})) == "/header/if-match");
}

TEST_CASE("a person says what was seen, a key need not")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "manager", "Anna");
    shop front(service);
    auto const sku = front.item(1);
    auto const put = [&](std::string const& name, header_list headers, json const& settings) {
        return anna.send({.method = "PUT",
                          .target = "/v1/stock/" + name,
                          .body = settings.dump(),
                          .headers = std::move(headers)});
    };
    CHECK(outcome(put(sku, {}, {{"low_stock_at", 2}})) == "428 precondition-required");
    CHECK(outcome(put(unique("SKU"), {}, {{"on_hand", 2}})) == "428 precondition-required");
    CHECK(front.item_of(sku).at("low_stock_at").is_null());
    CHECK(outcome(put(sku, {{"If-Match", tag_of(front, sku)}}, {{"low_stock_at", 2}})) == "200");
    CHECK(outcome(put(sku, {{"If-Match", "*"}}, {{"low_stock_at", 3}})) == "200");
    CHECK(outcome(front.put_item(sku, {{"low_stock_at", 4}})) == "200"); // as the contract has it

    // To make one is to have seen none.
    auto const fresh = unique("SKU");
    header_list const none{{"If-None-Match", "*"}};
    CHECK(outcome(put(fresh, none, {{"on_hand", 2}})) == "201");
    auto const again = put(fresh, none, {{"low_stock_at", 2}});
    CHECK(outcome(again) == "412 precondition-failed");
    CHECK(again.json().at("item").at("on_hand") == 2);
    CHECK(again.header("etag") == tag_of(front, fresh));
    CHECK(pointers_in(put(fresh, {{"If-None-Match", "\"a\""}}, {{"low_stock_at", 2}})) ==
          "/header/if-none-match");
    CHECK(pointers_in(put(fresh, {{"If-None-Match", "*"}, {"If-Match", "*"}},
                          {{"low_stock_at", 2}})) == "/header/if-none-match");
}

TEST_CASE("of many who saw the same settings one changes them")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1);
    auto const seen = tag_of(front, sku);
    auto clerks = shops(service, 8);
    auto const answers = run_together(8, [&](std::size_t i) {
        return put_if(clerks[i], sku, seen, {{"low_stock_at", static_cast<int>(i)}});
    });
    CHECK(count(answers, "200") == 1);
    CHECK(count(answers, "412 precondition-failed") == 7);
}

} // namespace holdfast::test

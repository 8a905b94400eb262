// SPDX-License-Identifier: Apache-2.0
// /openapi.json is written by hand, so it is held against the program: every route, every code, and
// the answers themselves, in both directions.
#include "service/http/routes.hpp"
#include "stock/errc.hpp"
#include "tests/http/answers.hpp"
#include "tests/http/checked_calls.hpp"
#include "tests/http/schema_reader.hpp"
#include "tests/support/database.hpp"
#include "tests/support/person.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

// The document as the running service gives it.
json document_of(shop& front)
{
    auto const answer = front.get("/openapi.json");
    REQUIRE(answer.status == 200);
    return answer.json();
}

std::string upper(std::string text)
{
    for (auto& c : text)
        if (c >= 'a' && c <= 'z')
            c = static_cast<char>(c - 'a' + 'A');
    return text;
}

std::string lines_of(std::string const& sku, int quantity)
{
    return R"({"lines":[{"sku":")" + sku + R"(","quantity":)" + std::to_string(quantity) + "}]}";
}

// A reservation's life, and what can be refused in it. Returns the SKU.
std::string call_reservations(checked_calls& call)
{
    std::string const all = "/v1/reservations";
    auto sku = unique("SKU");
    call("/v1/stock/{sku}", {.method = "PUT",
                             .target = "/v1/stock/" + sku,
                             .body = R"({"on_hand":10,"name":"Tee","max_per_customer":5})"});
    call("/v1/stock/{sku}", {.method = "PUT",
                             .target = "/v1/stock/" + sku,
                             .body = R"({"low_stock_at":3,"max_per_customer":null})"});

    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i)
        ids.push_back(
            id_of(call(all, {.method = "POST", .target = all, .body = lines_of(sku, 2)})));
    auto const at = [&](std::size_t i) { return all + '/' + ids[i]; };
    for (auto const& [verb, i, body] :
         std::vector<std::tuple<std::string, std::size_t, std::string>>{
             {"confirm", 0, ""},
             {"release", 1, ""},
             {"extend", 2, R"({"ttl_seconds":600,"reason":"asked by telephone"})"},
             {"returns", 0, lines_of(sku, 1)},
             {"confirm", 3, lines_of(sku, 1)},
             // Each of these is refused.
             {"release", 0, ""},
             {"confirm", 1, ""},
             {"extend", 1, R"({"ttl_seconds":600})"},
             {"extend", 2, R"({"ttl_seconds":0})"},
             {"returns", 2, lines_of(sku, 1)},
             {"returns", 1, lines_of(sku, 1)},
         })
        call(all + "/{id}/" + verb, {.method = "POST", .target = at(i) + '/' + verb, .body = body});
    for (auto const& body :
         {lines_of(sku, 100), lines_of("NEVER", 1), std::string("{}"), std::string("{")})
        call(all, {.method = "POST", .target = all, .body = body});
    call(all + "/{id}", {.target = at(0)});
    call(all + "/{id}", {.target = all + "/nothing"});
    call(all, {.target = all + "?limit=1"});
    call(all, {.target = all + "?limit=0"});
    return sku;
}

// What a clerk does to an item, and what can be refused of it.
void call_stock(checked_calls& call, std::string const& sku)
{
    auto const item = "/v1/stock/" + sku;
    auto const adjust = [&](std::string const& target, std::string const& body) {
        call("/v1/stock/{sku}/adjustments",
             {.method = "POST", .target = target + "/adjustments", .body = body});
    };
    adjust(item, R"({"delta":3,"reason":"received","note":"late"})");
    adjust(item, R"({"set_to":1,"expect_on_hand":null,"reason":"count"})"); // is short then
    adjust(item, R"({"set_to":1,"expect_on_hand":500,"reason":"count"})");
    adjust(item, R"({"delta":-500,"reason":"lost"})");
    adjust(item, R"({"delta":-1,"reason":"lost"})");
    adjust(item, R"({"delta":9000000000000000,"reason":"found"})");
    adjust("/v1/stock/NEVER", R"({"delta":1,"reason":"found"})");
    std::string const many = "/v1/adjustments";
    for (std::string const change :
         {R"("delta":1)", R"("delta":-500)", R"("set_to":1,"expect_on_hand":500)"})
        call(many, {.method = "POST",
                    .target = many,
                    .body = R"({"rows":[{"sku":")" + sku + R"(",)" + change +
                            R"(,"location":"shelf","reason":"other"}]})"});
    call(many, {.method = "POST", .target = many, .body = R"({"rows":[]})"});
    call(many, {.method = "POST",
                .target = many,
                .body = R"({"rows":[{"sku":"NEVER","delta":1,"reason":"found"}]})"});
    std::string const transfers = "/v1/transfers";
    for (auto const& [name, quantity] : std::vector<std::pair<std::string, std::string>>{
             {sku, "1"}, {sku, "500"}, {sku, "0"}, {"NEVER", "1"}})
        call(transfers, {.method = "POST",
                         .target = transfers,
                         .body = R"({"sku":")" + name +
                                 R"(","from":"shelf","to":"attic","quantity":)" + quantity + '}'});
    call("/v1/stock/{sku}", {.target = item});
    call("/v1/stock/{sku}", {.method = "PUT",
                             .target = item,
                             .body = R"({"low_stock_at":9})",
                             .headers = {{"If-Match", R"("old")"}}});
    call("/v1/stock/{sku}", {.target = "/v1/stock/NEVER"});
    call("/v1/stock/{sku}", {.target = "/v1/stock/%00"});
    call("/v1/stock/{sku}/why", {.target = item + "/why"});
    call("/v1/stock/{sku}/why", {.target = "/v1/stock/NEVER/why"});
    call("/v1/stock/{sku}/why", {.target = item + "/why?location=A"});
    call("/v1/stock", {.target = "/v1/stock?limit=1"});
    call("/v1/stock", {.target = "/v1/stock?low=maybe"});
    call("/v1/stock/{sku}/movements", {.target = item + "/movements?limit=200"});
    call("/v1/stock/{sku}/movements", {.target = "/v1/stock/NEVER/movements"});
    for (std::string const csv : {"sku,quantity\nA,1\nB,2\n", "sku,quantity\nA,-1\n", "sku\nA\n"})
        for (std::string const query : {"?mode=set&dry_run=true", "?mode=set", "?mode=never"})
            call("/v1/imports", {.method = "POST",
                                 .target = "/v1/imports" + query,
                                 .body = csv,
                                 .headers = {{"Content-Type", "text/csv"}}});
}

// Imports that were applied, and what can be refused of undoing one.
void call_imports(checked_calls& call)
{
    std::string const all = "/v1/imports";
    auto const one = all + "/{id}";
    auto const sku = unique("SKU");
    auto const made = call(all, {.method = "POST",
                                 .target = all + "?mode=set",
                                 .body = "sku,quantity,name\n" + sku + ",5,Tee\n",
                                 .headers = {{"Content-Type", "text/csv"}}});
    auto const id = id_of(made);
    call("/v1/stock/{sku}",
         {.method = "PUT", .target = "/v1/stock/" + sku, .body = R"({"name":"Shirt"})"});
    call("/v1/reservations",
         {.method = "POST", .target = "/v1/reservations", .body = lines_of(sku, 4)});
    auto const undo = [&](std::string const& which, std::string const& body) {
        call(one + "/undo",
             {.method = "POST", .target = all + '/' + which + "/undo", .body = body});
    };
    undo(id, ""); // would be short
    undo(id, R"({"allow_short":1})");
    undo("nothing", "");
    for (int i = 0; i < 2; ++i)
        undo(id, R"({"allow_short":true})");
    call(one, {.target = all + '/' + id});
    call(one, {.target = all + "/nothing"});
    call(all, {.target = all + "?limit=1"});
    call(all, {.target = all + "?cursor=x"});
}

// What is told of all items at once.
void call_reports(checked_calls& call)
{
    std::string const all = "/v1/reports";
    call("/v1/stock/{sku}", {.method = "PUT",
                             .target = "/v1/stock/" + unique("SKU"),
                             .body = R"({"on_hand":1,"low_stock_at":3})"});
    for (std::string const name : {"/low-stock", "/held-longest"})
        for (std::string const query : {"?limit=1", "?cursor=x", "?format=csv", "?format=pdf"})
            call(all + name, {.target = all + name + query});
    std::string const period = "?from=2026-11-01T00:00:00Z&to=2026-11-30T00:00:00Z";
    for (auto const& query :
         {period, period + "&by=sku&limit=1", period + "&by=x", period + "&format=csv"})
        call(all + "/movements", {.target = all + "/movements" + query});
}

// A shelf that is counted, and what can be refused of that.
void call_counts(checked_calls& call)
{
    std::string const all = "/v1/counts";
    auto const sku = unique("SKU");
    call("/v1/stock/{sku}",
         {.method = "PUT", .target = "/v1/stock/" + sku, .body = R"({"on_hand":5})"});
    call("/v1/reservations",
         {.method = "POST", .target = "/v1/reservations", .body = lines_of(sku, 4)});
    json const wish{{"name", "Shelf 4"}, {"skus", {sku}}, {"note", "monthly"}};
    auto const id = id_of(call(all, {.method = "POST", .target = all, .body = wish.dump()}));
    for (std::string const body : {R"({"name":"a"})", "{}", R"({"name":"a","skus":["NEVER"]})"})
        call(all, {.method = "POST", .target = all, .body = body});
    auto const one = all + "/{id}";
    auto const enter = [&](std::string const& which, std::string const& name, int quantity) {
        json const entry{{"sku", name}, {"quantity", quantity}};
        call(one + "/entries", {.method = "PUT",
                                .target = all + '/' + which + "/entries",
                                .body = json{{"entries", json::array({entry})}}.dump()});
    };
    enter(id, sku, 3); // is short then
    enter(id, sku, -1);
    enter(id, "NEVER", 1);
    enter("nothing", sku, 1);
    call(one, {.target = all + '/' + id});
    call(one, {.target = all + "/nothing"});
    call(all, {.target = all + "?open=true&limit=1"});
    call(all, {.target = all + "?open=maybe"});
    call("/v1/stock/{sku}/adjustments",
         {.method = "POST",
          .target = "/v1/stock/" + sku + "/adjustments",
          .body = R"({"delta":-4,"reason":"lost","allow_short":true})"});
    auto const apply = one + "/apply";
    call(apply, {.method = "POST", .target = all + '/' + id + "/apply"}); // below zero
    enter(id, sku, 1);
    for (auto const& each : {id, id, std::string("nothing")})
        call(apply, {.method = "POST", .target = all + '/' + each + "/apply"});
    enter(id, sku, 1); // it is closed
    auto const other =
        id_of(call(all, {.method = "POST", .target = all, .body = R"({"name":"b"})"}));
    for (auto const& each : {id, other, std::string("nothing")})
        call(one + "/cancel", {.method = "POST", .target = all + '/' + each + "/cancel"});
}

// Who is told of events, and what can be refused of that.
void call_events(checked_calls& call)
{
    std::string const all = "/v1/webhooks";
    call("/v1/events", {.target = "/v1/events?limit=1"});
    call("/v1/events", {.target = "/v1/events?type=nothing"});
    call("/v1/events", {.target = "/v1/events?after=evt_999_1_1_0"});
    call("/v1/events/stream", {.target = "/v1/events/stream?after=evt_999_1_1_0"});
    call("/v1/events/stream", {.target = "/v1/events/stream?after=x"});
    auto const made = call(
        all, {.method = "POST", .target = all, .body = R"({"url":"https://shop.example/hooks"})"});
    call(all, {.method = "POST", .target = all, .body = R"({"url":"https://10.0.0.1/"})"});
    call(all, {.target = all});
    auto const hook = all + '/' + made.json().at("id").get<std::string>();
    std::string const one = all + "/{id}";
    call(one, {.target = hook});
    call(one, {.target = all + "/nothing"});
    call(one, {.method = "PATCH", .target = hook, .body = R"({"state":"paused"})"});
    call(one, {.method = "PATCH", .target = hook, .body = R"({"state":"gone"})"});
    for (std::string const verb : {"rotate", "test", "replay"})
        for (auto const& target : {hook, all + "/nothing"})
            call(one + '/' + verb,
                 {.method = "POST",
                  .target = target + '/' + verb,
                  .body = verb == "replay" ? R"({"since":"2026-11-01T00:00:00Z"})" : "{}"});
    auto const sent = call(one + "/deliveries", {.target = hook + "/deliveries"}).json();
    call(one + "/deliveries", {.target = hook + "/deliveries?state=lost"});
    for (std::string const& id :
         {sent.at("data").at(0).at("id").get<std::string>(), std::string("nothing")})
        call(one + "/deliveries/{delivery}/resend",
             {.method = "POST", .target = hook + "/deliveries/" + id + "/resend"});
    call(one, {.method = "DELETE", .target = hook});
    call(one, {.method = "DELETE", .target = hook});
}

// Accounts, as an owner sees them.
void call_staff(checked_calls& call, person& owner)
{
    std::string const all = "/v1/staff";
    call.let(&owner);
    auto const password = std::string(good_password);
    json const bert{{"name", "Bert"}, {"role", "clerk"}, {"password", password}};
    auto const made = call(all, {.method = "POST", .target = all, .body = bert.dump()}).json();
    call(all, {.method = "POST", .target = all, .body = bert.dump()}); // the name is taken
    call(all, {.target = all + "?limit=1"});
    call("/v1/session", {.target = "/v1/session"});
    call("/v1/stock/{sku}",
         {.method = "PUT", .target = "/v1/stock/A", .body = R"({"low_stock_at":9})"}); // 428
    auto const one = all + "/{id}";
    auto const target = all + '/' + made.at("id").get<std::string>();
    auto const self = all + '/' + owner.get("/v1/session").json().at("staff_id").get<std::string>();
    for (std::string const body :
         {R"({"role":"viewer"})", R"({"expect_revision":1})", R"({"role":"king"})"})
        call(one, {.method = "PATCH", .target = target, .body = body});
    call(one, {.method = "PATCH", .target = self, .body = R"({"disabled":true})"});
    for (std::string const& body : {json{{"password", password}}.dump(), std::string("{}")})
        call(one + "/password", {.method = "POST", .target = target + "/password", .body = body});
    for (auto const& each : {target, self, all + "/nothing"})
        call(one + "/link", {.method = "POST", .target = each + "/link"});
    for (auto const& each : {target, all + "/nothing"})
        call(one + "/sessions", {.method = "DELETE", .target = each + "/sessions"});
    for (auto const& each : {target, target, self})
        call(one, {.method = "DELETE", .target = each});
    call.let(nullptr);
    call(all, {.target = all}); // a key may not
}

// How people come in and go, and the keys of programs.
void call_people(checked_calls& call, service_process const& service, database const& db)
{
    auto owner = new_person(service, db.connection_string(), "owner", "Olga");
    call_staff(call, owner);
    std::string const first = "/v1/staff/first";
    auto const password = std::string(good_password);
    json const wish{{"token", invite(db.connection_string(), "viewer", "Vera")},
                    {"password", password}};
    for (int i = 0; i < 2; ++i)
        call(first, {.method = "POST", .target = first, .body = wish.dump()});
    std::string const session = "/v1/session";
    for (auto const& shown : {password, password + "!"})
        call(session, {.method = "POST",
                       .target = session,
                       .body = json{{"name", "Vera"}, {"password", shown}}.dump()});
    call(session, {.method = "DELETE", .target = session}); // a key has none
    call.let(&owner);
    call(session, {.method = "DELETE", .target = session});
    call.let(nullptr);

    std::string const keys = "/v1/keys";
    auto const made =
        call(keys, {.method = "POST", .target = keys, .body = R"({"name":"a","role":"shop"})"});
    call(keys, {.method = "POST", .target = keys, .body = R"({"name":"a","role":"owner"})"});
    call(keys, {.target = keys + "?limit=1"});
    for (int i = 0; i < 2; ++i)
        call(keys + "/{id}",
             {.method = "DELETE", .target = keys + '/' + made.json().at("id").get<std::string>()});
}

// What staff did, as it is told.
void call_trail(checked_calls& call)
{
    call("/v1/trail", {.target = "/v1/trail?limit=200"});
    call("/v1/trail", {.target = "/v1/trail?subject=customer:c-13&limit=1"});
    call("/v1/trail", {.target = "/v1/trail?actor="});
}

// What the door says to whoever does not come in, at an address of each kind.
void call_at_the_door(checked_calls& call)
{
    header_list const stranger{{"Authorization", "Bearer nobodys-key-0123456789"}};
    call("/v1/stock", {.target = "/v1/stock", .headers = stranger});
    call("/v1/reservations", {.method = "POST",
                              .target = "/v1/reservations",
                              .body = "{}",
                              .headers = {{"Content-Type", "text/plain"}}});
    call("/v1/reservations",
         {.method = "POST", .target = "/v1/reservations", .body = std::string((1 << 20) + 1, ' ')});
    call("/v1/stock", {.target = "/v1/stock", .headers = {{"X-Long", std::string(17'000, 'a')}}});
    for (std::string const path : {"/v1/audit", "/livez", "/readyz", "/metrics", "/openapi.json",
                                   "/docs", "/admin", "/admin/"})
        call(path, {.target = path});
    call("/admin/{file}", {.target = "/admin/icon.svg"});
    call("/admin/{file}", {.target = "/admin/nothing.js"});
}

// Who is let in, who waits, and what can be refused.
void call_tokens(checked_calls& call)
{
    std::string const all = "/v1/tokens";
    auto const sku = unique("SKU");
    call("/v1/stock/{sku}", {.method = "PUT",
                             .target = "/v1/stock/" + sku,
                             .body = R"({"on_hand":2,"admission":"token","admission_pool":1})"});
    auto const ask = [&](std::string const& name, std::string const& customer) {
        return call(all, {.method = "POST",
                          .target = all,
                          .body = json{{"sku", name}, {"customer", customer}}.dump()});
    };
    auto const token = ask(sku, "c-1").json().at("token").get<std::string>();
    CHECK(ask(sku, "c-2").status == 202);
    CHECK(ask("NEVER", "c-1").status == 404);
    CHECK(ask(sku, "").status == 400);
    for (auto const& shown : {std::string(), std::string("x"), token, token}) {
        json body{{"lines", {{{"sku", sku}, {"quantity", 1}}}}, {"customer", "c-1"}};
        if (!shown.empty())
            body["token"] = shown;
        call("/v1/reservations",
             {.method = "POST", .target = "/v1/reservations", .body = body.dump()});
    }
    call("/v1/stock/{sku}",
         {.method = "PUT", .target = "/v1/stock/" + sku, .body = R"({"on_sale":false})"});
    call("/v1/stock/{sku}", {.target = "/v1/stock/" + sku});
}

// Who gets nothing more.
void call_customers(checked_calls& call, std::string const& sku)
{
    std::string const all = "/v1/blocked-customers";
    auto const one = all + "/{customer}";
    auto const target = all + "/c-13";
    for (std::string const body : {R"({"reason":"fraud"})", R"({"reason":"chargebacks"})", "{}"})
        call(one, {.method = "PUT", .target = target, .body = body});
    call(all, {.target = all + "?limit=1"});
    call(all, {.target = all + "?cursor=x"});
    call("/v1/reservations",
         {.method = "POST",
          .target = "/v1/reservations",
          .body = R"({"customer":"c-13","lines":[{"sku":")" + sku + R"(","quantity":1}]})"});
    call(one, {.method = "DELETE", .target = target});
    call(one, {.method = "DELETE", .target = target});
}

void call_fast_path(checked_calls& call, std::string const& sku)
{
    std::string const all = "/v1/fast-path";
    auto const one = all + "/{sku}";
    auto const target = all + '/' + sku;
    call(one, {.method = "PUT", .target = target, .body = R"({"mode":"durable","buckets":2})"});
    call(one, {.method = "PUT", .target = target, .body = R"({"buckets":0})"});
    call(one, {.method = "PUT", .target = all + "/NEVER", .body = "{}"});
    call(one, {.target = target});
    call(one, {.target = all + "/NEVER"});
    call(all, {.target = all});
    call("/v1/stock/{sku}", {.target = "/v1/stock/" + sku});
    call("/v1/reconciliations",
         {.method = "POST", .target = "/v1/reconciliations", .body = R"({"repair":true})"});
    call("/v1/reconciliations",
         {.method = "POST", .target = "/v1/reconciliations", .body = R"({"repair":1})"});
    call("/v1/reconciliations", {.target = "/v1/reconciliations?limit=1&sku=" + sku});
    call("/v1/reconciliations", {.target = "/v1/reconciliations?cursor=never"});
    call(one, {.method = "DELETE", .target = target});
    call(one, {.method = "DELETE", .target = target});
}

} // namespace

TEST_CASE("every route is described, and nothing is described that is no route")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const document = document_of(front);

    std::set<std::string> described;
    std::set<std::string> ids;
    for (auto const& [each_path, item] : document.at("paths").items()) {
        auto const& path = each_path;
        for (auto const& [each_method, operation] : item.items()) {
            auto const& method = each_method;
            if (method == "parameters")
                continue;
            CAPTURE(path);
            CAPTURE(method);
            described.insert(upper(method) + ' ' + path);
            CHECK(ids.insert(operation.at("operationId").get<std::string>()).second);
            CHECK_FALSE(operation.at("summary").get<std::string>().empty());
        }
    }
    std::set<std::string> routes;
    for (auto const& route : http::routes())
        routes.insert(std::string(route.method) + ' ' + std::string(route.pattern));
    CHECK(described == routes);

    // What needs a key says so, and what a role may not do says 403.
    for (auto const& route : http::routes()) {
        CAPTURE(route.pattern);
        std::string method(route.method);
        for (auto& c : method)
            c = static_cast<char>(c - 'A' + 'a');
        auto const& operation = document.at("paths").at(std::string(route.pattern)).at(method);
        bool const is_open = operation.value("security", json(nullptr)) == json::array();
        CHECK(is_open == !route.needs.has_value());
        // Who signs in shows something else, which may be wrong.
        bool const may_be_wrong = route.needs.has_value() || route.method == "POST";
        CHECK(operation.at("responses").contains("401") == may_be_wrong);
        CHECK(operation.at("responses").contains("403") == may_be_wrong);
        if (route.method != "GET" && operation.contains("requestBody"))
            CHECK(
                operation.at("requestBody").at("content").contains(std::string(route.media_type)));
    }
}

TEST_CASE("every code a problem can have is described, and no other")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const document = document_of(front);

    std::set<std::string> codes{"internal", "overloaded", "database-unavailable",
                                "outcome-unknown"}; // Faults have no errc.
    for (int i = 0; slug(static_cast<errc>(i)) != "internal"; ++i)
        codes.insert(std::string(slug(static_cast<errc>(i))));
    CHECK(codes.size() > 20);
    auto const& words = document.at("components").at("schemas").at("ProblemCode").at("enum");
    CHECK(words.size() == codes.size());
    CHECK(words.get<std::set<std::string>>() == codes);
}

TEST_CASE("every reference of the document leads somewhere, and every schema is referred to")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const document = document_of(front);

    std::set<std::string> references;
    std::vector<json> left{document};
    while (!left.empty()) {
        auto const node = std::move(left.back());
        left.pop_back();
        for (auto const& [name, member] : node.items())
            if (name == "$ref" && node.is_object())
                references.insert(member.get<std::string>().substr(1));
            else if (member.is_structured())
                left.push_back(member);
    }
    for (auto const& reference : references) {
        CAPTURE(reference);
        CHECK(document.contains(json::json_pointer(reference)));
    }
    for (std::string const kind : {"schemas", "responses", "parameters", "headers"})
        for (auto const& [each_name, ignored] : document.at("components").at(kind).items()) {
            auto const& name = each_name;
            CAPTURE(name);
            CHECK(references.contains("/components/" + kind + '/' + name));
        }
}

TEST_CASE("what the service answers is what is described, member by member")
{
    database const db;
    redis_server const redis;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_REDIS_URL", redis.url()}}});
    shop front(service);
    schema_reader const reader(document_of(front));
    checked_calls call(front, reader);

    auto const sku = call_reservations(call);
    call_stock(call, sku);
    call_counts(call);
    call_imports(call);
    call_reports(call);
    call_events(call);
    call_customers(call, sku);
    call_fast_path(call, sku);
    call_tokens(call);
    call_people(call, service, db);
    call_trail(call);
    call_at_the_door(call);

    // Nothing that can succeed was left out.
    std::set<std::string> operations;
    for (auto const& [path, item] : reader.document().at("paths").items())
        for (auto const& [method, operation] : item.items())
            if (method != "parameters")
                operations.insert(operation.at("operationId").get<std::string>());
    // One that has no end is read elsewhere.
    CHECK(operations.erase("stream_events") == 1);
    CHECK(call.succeeded() == operations);
    CHECK(call.refusals().size() >= 14);

    // A broken number is described as well.
    db.session().run("UPDATE stock_level SET on_hand = on_hand + 1 WHERE sku = $1", {sku});
    auto const report = call("/v1/audit", {.target = "/v1/audit"}).json();
    CHECK(report.at("ok") == false);
    CHECK_FALSE(report.at("violations").empty());
}

} // namespace holdfast::test

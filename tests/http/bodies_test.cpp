// SPDX-License-Identifier: Apache-2.0
// Bodies and queries as broken clients send them: each is refused with all that is wrong with it,
// and changes nothing.
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::string_literals;

// The same text so many times.
std::string repeated(std::string_view text, std::size_t times)
{
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

// No JSON (RFC 8259), each around or instead of the good {"lines":[{"sku":"SKU","quantity":1}]}.
std::vector<std::string> const broken_texts{
    "",
    " ",
    "{",
    "}",
    "[",
    "{\"lines\"",
    "{\"lines\":",
    "{\"lines\":[",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}]",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}],}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1,}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1},]}",
    "{\"lines\":[{\"sku\":\"SKU\" \"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\" 1}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":01}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":+1}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":.5}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1.}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1e}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":0x1}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1_000}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":NaN}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":Infinity}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":-}]}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}]} x",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}]}{}",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}]},",
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}]} // why not",
    "/* a */{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}]}",
    "{lines:[{\"sku\":\"SKU\",\"quantity\":1}]}",
    "{'lines':[{'sku':'SKU','quantity':1}]}",
    "{\"lines\":[{\"sku\":\"SKU,\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":SKU,\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\\x\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\\u12\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\\ud800\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"\\udc00SKU\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\\\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SK\nU\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SK\tU\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SK\0U\",\"quantity\":1}]}"s,
    "{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}]}\0"s,
    "\0{\"lines\":[{\"sku\":\"SKU\",\"quantity\":1}]}"s,
    "{\"lines\":[{\"sku\":\"SKU\xFF\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\xC0\xAF\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\xED\xA0\x80\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\xE2\x82\",\"quantity\":1}]}",
    "{\"lines\":[{\"sku\":\"SKU\xF5\x80\x80\x80\",\"quantity\":1}]}",
    "{\"l\xFFnes\":[{\"sku\":\"SKU\",\"quantity\":1}]}",
    "\xFF\xFE{\0}\0"s,
    "lines=SKU&quantity=1",
    "<lines><sku>SKU</sku></lines>",
    "sku,quantity\nSKU,1\n",
    "True",
    "nul",
    "undefined",
    repeated("{\"a\":", 10) + "1",
};

struct faulty_body {
    std::string text;
    std::string pointers;
};

// JSON that is no reservation, with where it is wrong.
std::vector<faulty_body> const faulty_reservations{
    {"null", ""},
    {"true", ""},
    {"0", ""},
    {"\"lines\"", ""},
    {"[]", ""},
    {"[{\"lines\":[]}]", ""},
    {"{}", "/lines"},
    {"{\"lines\":null}", "/lines"},
    {"{\"lines\":{}}", "/lines"},
    {"{\"lines\":\"SKU\"}", "/lines"},
    {"{\"lines\":[]}", "/lines"},
    {"{\"lines\":[[]]}", "/lines/0"},
    {"{\"lines\":[null]}", "/lines/0"},
    {"{\"lines\":[\"SKU\"]}", "/lines/0"},
    {"{\"lines\":[{}]}", "/lines/0/sku /lines/0/quantity"},
    {R"({"Lines":[{"sku":"SKU","quantity":1}]})", "/lines /Lines"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"lines":[{"sku":"SKU","quantity":1}]})", "/lines"},
    {R"({"lines":[{"sku":"SKU","sku":"SKU","quantity":1}]})", "/lines/0/sku"},
    {R"({"lines":[{"sku":"SKU","quantity":1,"quantity":1,"quantity":2}]})",
     "/lines/0/quantity /lines/0/quantity"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"metadata":{"a":1,"a":2}})", "/metadata/a"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"metadata":{"a":1,"\u0061":2}})", "/metadata/a"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"metadata":{"a":[18446744073709551617]}})",
     "/metadata/a/0"},
    {R"({"lines":[{"sku":"SKU","quantity":1,"qty":1}]})", "/lines/0/qty"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"":1})", "/"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"a/b~c":1})", "/a~1b~0c"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"__proto__":{}})", "/__proto__"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"id":"01890a5d-ac96-774b-bcce-b302099a8057"})",
     "/id"},
    {R"({"lines":[{"sku":1,"quantity":"1","location":7}]})",
     "/lines/0/sku /lines/0/quantity /lines/0/location"},
    {R"({"lines":[{"sku":"SKU","quantity":1},{"sku":"","quantity":0,"location":"No"}]})",
     "/lines/1/sku /lines/1/quantity /lines/1/location"},
    {R"({"lines":[{"sku":"S\u0000","quantity":1}]})", "/lines/0/sku"},
    {R"({"lines":[{"sku":"\u0000","quantity":1}]})", "/lines/0/sku"},
    {R"({"lines":[{"sku":"SKU","quantity":1e400}]})", "/lines/0/quantity"},
    {R"({"lines":[{"sku":"SKU","quantity":1e3}]})", "/lines/0/quantity"},
    {R"({"lines":[{"sku":"SKU","quantity":1.0}]})", "/lines/0/quantity"},
    {R"({"lines":[{"sku":"SKU","quantity":1000000001}]})", "/lines/0/quantity"},
    {R"({"lines":[{"sku":"SKU","quantity":18446744073709551617}]})", "/lines/0/quantity"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"customer":7,"reference":[],"ttl_seconds":"60",)"
     R"("confirm":1,"supersedes":"that one","metadata":[]})",
     "/customer /reference /ttl_seconds /confirm /supersedes /metadata"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"customer":"","reference":"a\u0000b"})",
     "/customer /reference"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"confirm":"true"})", "/confirm"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"confirm":null})", "/confirm"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"ttl_seconds":604801})", "/ttl_seconds"},
    {R"({"lines":[{"sku":"SKU","quantity":1}],"metadata":{"a":")" + std::string(4100, 'x') + "\"}}",
     "/metadata"},
    {R"({"lines":[)" + repeated(R"({"sku":"SKU","quantity":1},)", 100) +
         R"({"sku":"SKU","quantity":1}]})",
     "/lines"},
};

std::string with_sku(std::string text, std::string const& sku)
{
    for (auto at = text.find("SKU"); at != std::string::npos;
         at = text.find("SKU", at + sku.size()))
        text.replace(at, 3, sku);
    return text;
}

// The pointers of a refusal, sorted, since their order promises nothing.
std::vector<std::string> sorted_pointers(std::string const& text)
{
    std::vector<std::string> pointers{""};
    for (auto const c : text) {
        if (c == ' ')
            pointers.emplace_back();
        else
            pointers.back() += c;
    }
    std::sort(pointers.begin(), pointers.end());
    return pointers;
}

} // namespace

TEST_CASE("a body that is no JSON is refused as such, and nothing comes of it")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1000);
    auto const id = front.hold({{sku}});
    auto const books = books_of(db);

    for (auto const& text : broken_texts) {
        CAPTURE(text);
        CHECK(verdict(front.post_text("/v1/reservations", with_sku(text, sku))) ==
              "400 malformed-json");
    }
    // The same at every other address that takes JSON.
    for (auto const& target :
         {"/v1/reservations/" + id + "/extend", "/v1/reservations/" + id + "/confirm",
          "/v1/reservations/" + id + "/release", "/v1/reservations/" + id + "/returns",
          "/v1/stock/" + sku + "/adjustments"}) {
        CAPTURE(target);
        for (std::string const text : {"{", "{\"delta\":1,}", "{} {}", "{\"a\":\"\xFF\"}"})
            CHECK(verdict(front.post_text(target, text)) == "400 malformed-json");
    }
    for (std::string const text : {"", "{", "{\"on_hand\":1,}", "{\"name\":\"\xFF\"}"})
        CHECK(verdict(
                  front.http().send({.method = "PUT", .target = "/v1/stock/NEW", .body = text})) ==
              "400 malformed-json");
    CHECK(books_of(db) == books);
    CHECK(front.audit_ok());
}

TEST_CASE("JSON that is no reservation is refused with everything that is wrong with it")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1000);
    auto const books = books_of(db);

    for (auto const& [each_text, pointers] : faulty_reservations) {
        auto const& text = each_text;
        CAPTURE(text.substr(0, 300));
        auto const answer = front.post_text("/v1/reservations", with_sku(text, sku));
        CHECK(verdict(answer) == "400 validation-failed");
        CHECK(sorted_pointers(pointers_in(answer)) == sorted_pointers(pointers));
    }
    CHECK(books_of(db) == books);
    CHECK(front.audit_ok());
}

TEST_CASE("a body made to be heavy is refused as fast as any other")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const books = books_of(db);

    std::string many_members = "{";
    for (int i = 0; i < 50'000; ++i)
        many_members += "\"m" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    many_members += "\"lines\":[]}";
    std::string digits(500'000, '9');

    auto const began = std::chrono::steady_clock::now();
    for (auto const& text :
         {repeated("[", 500'000), repeated("{\"a\":", 100'000),
          repeated("[", 500'000) + repeated("]", 500'000), many_members,
          "{\"lines\":[" + repeated("{},", 200'000) + "{}]}",
          "{\"lines\":[" + repeated("1,", 400'000) + "1]}", "{\"lines\":" + digits + "}",
          "{\"lines\":[{\"sku\":\"a\",\"quantity\":" + digits + "}]}",
          "{\"lines\":[{\"sku\":\"a\",\"quantity\":1e" + digits + "}]}",
          "{\"lines\":[{\"sku\":\"" + std::string(900'000, 'a') + "\",\"quantity\":1}]}",
          "{\"lines\":[{\"sku\":\"" + repeated("\\u00e9", 150'000) + "\",\"quantity\":1}]}",
          "{\"" + std::string(900'000, 'k') + "\":1}",
          "{" + repeated("\"same\":1,", 80'000) + "\"same\":1}"}) {
        CAPTURE(text.substr(0, 60));
        auto const answer = front.post_text("/v1/reservations", text);
        CHECK(objection_to(answer) == "");
        CHECK(answer.status == 400);
        // A hostile body must not be answered with a bigger one.
        CHECK(answer.body.size() < 64 * 1024);
    }
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(20));
    CHECK(books_of(db) == books);
}

TEST_CASE("what nobody has heard of is told apart from what nobody can have heard of")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const books = books_of(db);
    json const one_line{{"lines", json::array({{{"sku", "NEVER"}, {"quantity", 1}}})}};

    for (std::string const id :
         {"01890a5d-ac96-774b-bcce-b302099a8057", "00000000-0000-0000-0000-000000000000", "1", "-1",
          "null", "%00", "%FF", "x%20y", "01890a5d-ac96-774b-bcce-b302099a805",
          "01890a5d-ac96-774b-bcce-b302099a80570", "01890a5d-ac96-774b-bcce-b302099a805g",
          "%7B01890a5d-ac96-774b-bcce-b302099a8057%7D", "01890a5dac96774bbcceb302099a8057",
          "1%27%20OR%20%271%27=%271"}) {
        CAPTURE(id);
        auto const at = "/v1/reservations/" + id;
        CHECK(verdict(front.get(at)) == "404 unknown-reservation");
        CHECK(verdict(front.post_text(at + "/confirm", "")) == "404 unknown-reservation");
        CHECK(verdict(front.post_text(at + "/release", "")) == "404 unknown-reservation");
        CHECK(verdict(front.post(at + "/extend", {{"ttl_seconds", 60}})) ==
              "404 unknown-reservation");
        CHECK(verdict(front.post(at + "/returns", one_line)) == "404 unknown-reservation");
    }
    CHECK(verdict(front.get("/v1/stock/NEVER")) == "404 unknown-sku");
    CHECK(verdict(front.get("/v1/stock/NEVER/movements")) == "404 unknown-sku");
    CHECK(verdict(front.adjust("NEVER", {{"delta", 1}, {"reason", "found"}})) == "404 unknown-sku");
    CHECK(verdict(front.post("/v1/reservations", one_line)) == "404 unknown-sku");
    auto const sku = front.item(5);
    CHECK(
        verdict(front.reserve({{sku}}, {{"supersedes", "01890a5d-ac96-774b-bcce-b302099a8057"}})) ==
        "404 unknown-reservation");
    CHECK(front.level_of(sku).reserved == 0);
    CHECK(front.get("/v1/reservations?reference=NEVER").json().at("data").empty());
    CHECK(books_of(db) != books); // The item that was made.
    CHECK(front.audit_ok());
}

TEST_CASE("a list takes its own cursors and sensible limits, and nothing else")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    front.item(10);
    front.hold({{sku}});
    front.hold({{sku}});
    auto const ledger = "/v1/stock/" + sku + "/movements";
    std::vector<std::string> const lists{"/v1/stock", "/v1/reservations", ledger};

    std::vector<std::string> cursors;
    for (auto const& list : lists) {
        CAPTURE(list);
        for (std::string const limit : {"1", "50", "200"})
            CHECK(verdict(front.get(list + "?limit=" + limit)) == "200");
        for (std::string const limit :
             {"0", "-1", "201", "1.0", "1e1", "+1", "0x1", "%201", "ten", "01234567890123456789"}) {
            CAPTURE(limit);
            auto const answer = front.get(list + "?limit=" + limit);
            CHECK(verdict(answer) == "400 validation-failed");
            CHECK(pointers_in(answer) == "/query/limit");
        }
        auto const page = front.get(list + "?limit=1").json();
        CHECK(page.at("data").size() == 1);
        cursors.push_back(page.at("next_cursor"));
    }
    for (std::size_t i = 0; i < lists.size(); ++i) {
        CAPTURE(lists[i]);
        CHECK(verdict(front.get(lists[i] + "?cursor=" + cursors[i])) == "200");
        auto broken = cursors; // The other two are cursors of other lists.
        broken[i] = cursors[i].substr(1);
        broken.insert(broken.end(), {"x", "%00", "%FF", "1", "=", cursors[i] + "=", "%27--", "AAAA",
                                     std::string(5000, 'A')});
        for (auto const& cursor : broken) {
            CAPTURE(cursor.substr(0, 100));
            auto const answer = front.get(lists[i] + "?cursor=" + cursor);
            CHECK(verdict(answer) == "400 validation-failed");
            CHECK(pointers_in(answer) == "/query/cursor");
        }
    }
    for (std::string const query :
         {"state=lost", "state=HELD", "sku=%00", "customer=%00", "reference=%FF", "offset=1",
          "limit=1&limit=1", "state=held&state=held"}) {
        CAPTURE(query);
        CHECK(verdict(front.get("/v1/reservations?" + query)) == "400 validation-failed");
    }
    CHECK(verdict(front.get("/v1/reservations?customer=" + std::string(201, 'c'))) ==
          "400 validation-failed");
    // An empty filter must not show what was not looked for; an empty search or cursor is harmless.
    for (std::string const name : {"state", "sku", "customer", "reference", "limit"}) {
        CAPTURE(name);
        for (auto const& query : {name + '=', name}) {
            auto const answer = front.get("/v1/reservations?" + query);
            CHECK(verdict(answer) == "400 validation-failed");
            CHECK(pointers_in(answer) == "/query/" + name);
        }
    }
    CHECK(front.get("/v1/reservations?cursor=").json().at("data").size() == 2);
    CHECK(front.get("/v1/stock?q=&cursor=").json().at("data").size() == 2);
    CHECK(verdict(front.get("/v1/stock?low=")) == "400 validation-failed");
    CHECK(verdict(front.get("/v1/stock?low=maybe")) == "400 validation-failed");
    CHECK(verdict(front.get(ledger + "?low=true")) == "400 validation-failed");
}

TEST_CASE("a file that is no catalogue is refused and nothing of it is kept")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    front.item(10);
    auto const books = books_of(db);

    for (auto const& csv : {""s,
                            "\n"s,
                            "\0"s,
                            "sku\nA\n"s,
                            "quantity\n1\n"s,
                            "sku,quantity,sku\nA,1,A\n"s,
                            "sku,quantity,price\nA,1,2\n"s,
                            "sku,quantity\nA\n"s,
                            "sku,quantity\nA,1,2\n"s,
                            "sku,quantity\n\"A,1\n"s,
                            "sku,quantity\nA\"B\",1\n"s,
                            "sku,quantity\n\"A\"B,1\n"s,
                            "sku,quantity\nA\0B,1\n"s,
                            "sku,quantity\n\xFF,1\n"s,
                            "\xFF\xFEs\0k\0u\0"s,
                            "sku,quantity\nA,1\nA,1\n"s,
                            "sku,quantity\nA,-1\n"s,
                            "sku,quantity\nA,1.5\n"s,
                            "sku,quantity\nA,9000000000000001\n"s,
                            "sku,quantity,on_sale\nA,1,maybe\n"s,
                            "sku,quantity,location\nA,1,Paris!\n"s,
                            "{\"lines\":[]}"s,
                            "PK\x03\x04\x14\0\0\0"s,
                            "sku,quantity\n" + repeated("\"", 100'001)}) {
        CAPTURE(csv.substr(0, 80));
        CHECK(verdict(front.import_csv("set", csv)) == "400 validation-failed");
    }
    for (std::string const mode :
         {"", "SET", "replace", "set&mode=add", "set&dry_run=1", "set&x=1"}) {
        CAPTURE(mode);
        CHECK(verdict(front.import_csv(mode, "sku,quantity\nA,1\n")) == "400 validation-failed");
    }
    CHECK(books_of(db) == books);
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

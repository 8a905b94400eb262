// SPDX-License-Identifier: Apache-2.0
// That a caller hears of everything that is wrong with a request at once, and where.

#include "service/http/body_reader.hpp"
#include "service/http/text.hpp"
#include "stock/sku.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using holdfast::http::invalid_members;
using holdfast::http::object_reader;
using holdfast::http::query_parameters;
using holdfast::http::query_reader;
using holdfast::http::text_rule;
using nlohmann::json;

namespace {

using texts = std::vector<std::string>;

// "pointer detail" of each fault.
texts listed(invalid_members const& faults)
{
    texts all;
    if (!faults.is_empty())
        for (auto const& error : faults.to_refusal().errors)
            all.push_back(error.pointer + " " + error.detail);
    return all;
}

// What `read` has to say about a body.
template <class Read>
texts faults_of(json const& value, Read read)
{
    invalid_members faults;
    object_reader body(value, "", faults);
    read(body);
    body.finish();
    return listed(faults);
}

template <class Read>
texts query_faults_of(query_parameters const& parameters, Read read)
{
    invalid_members faults;
    query_reader query(parameters, faults);
    read(query);
    query.finish();
    return listed(faults);
}

constexpr std::array<std::string_view, 2> sizes{"small", "large"};

} // namespace

TEST_CASE("all that is wrong with a body is told at once, each with its place")
{
    auto const body = json::parse(R"({"name":7,"count":"1","on":1,"at":"tomorrow","id":"x",
                                      "size":"huge","made":[],"lines":[{"n":0},5,{}],"extra":1})");
    CHECK(faults_of(body,
                    [](object_reader& r) {
                        CHECK(!r.text("name", {.length_max = 10}));
                        CHECK(!r.integer("count", {1, 9}));
                        CHECK(!r.boolean("on"));
                        CHECK(!r.instant_or_null("at"));
                        CHECK(!r.id_or_null("id"));
                        CHECK(!r.one_of("size", sizes));
                        CHECK(!r.free_object("made", 10));
                        for (auto& line : r.objects("lines", 3)) {
                            line.require("n");
                            (void)line.integer("n", {1, 9});
                            line.finish();
                        }
                        r.require("missing");
                    }) == texts{
                              "/name must be a string",
                              "/count must be an integer between 1 and 9",
                              "/on must be true or false",
                              "/at must be an RFC 3339 time in UTC, such as 2026-11-29T09:00:00Z",
                              "/id must be a UUID",
                              "/size must be one of small, large",
                              "/made must be an object",
                              "/lines/1 must be an object",
                              "/lines/0/n must be an integer between 1 and 9",
                              "/lines/2/n is required",
                              "/missing is required",
                              "/extra is not a known member",
                          });
}

TEST_CASE("a sound body is read without a word")
{
    auto const body =
        json::parse(R"({"name":"Café","count":9,"on":false,"at":"2026-11-29T09:00:00Z",
        "id":"0190a6c2-7d1e-7c3a-9b54-1f2e3d4c5b6a","size":"large","made":{"b":[1, 2],"a":"é"}})");
    CHECK(faults_of(body, [](object_reader& r) {
              CHECK(r.text("name", {.length_max = 4}) == "Café");
              CHECK(r.integer("count", {1, 9}) == 9);
              CHECK(r.boolean("on") == false);
              CHECK(r.instant_or_null("at").has_value());
              CHECK(r.id_or_null("id")->str() == "0190a6c2-7d1e-7c3a-9b54-1f2e3d4c5b6a");
              CHECK(r.one_of("size", sizes) == "large");
              CHECK(r.free_object("made", 22) == R"({"a":"é","b":[1,2]})");
              CHECK(!r.text("absent", {.length_max = 4}));
              CHECK(r.objects("absent", 4).empty());
          }) == texts{});
}

TEST_CASE("null clears where that means something, and is a fault elsewhere")
{
    auto const body =
        json::parse(R"({"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null})");
    CHECK(faults_of(body,
                    [](object_reader& r) {
                        CHECK(r.has("a"));
                        CHECK(r.is_null("a"));
                        CHECK(!r.has("z"));
                        CHECK(!r.is_null("z"));
                        CHECK(!r.text_or_null("a", {.length_max = 4}));
                        CHECK(!r.integer_or_null("b", {1, 9}));
                        CHECK(!r.id_or_null("c"));
                        CHECK(!r.instant_or_null("d"));
                        CHECK(!r.text("e", {.length_max = 4}));
                        CHECK(!r.integer("f", {1, 9}));
                        CHECK(!r.boolean("g"));
                    }) == texts{"/e must be a string", "/f must be an integer between 1 and 9",
                                "/g must be true or false"});
}

TEST_CASE("a body that is no object is one fault, not one for each member")
{
    for (auto const* text : {"[]", "null", "1", "\"x\"", "true"})
        CHECK(faults_of(json::parse(text), [](object_reader& r) {
                  r.require("name");
                  CHECK(!r.text("name", {.length_max = 4}));
                  CHECK(r.objects("lines", 4).empty());
              }) == texts{" must be an object"});
}

TEST_CASE("only plain integers are numbers of units")
{
    for (auto const* text :
         {"1.0", "1e0", "1.5", "\"1\"", "true", "null", "[1]", "0", "-1", "10", "2147483648",
          "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616",
          "-9223372036854775809", "1e300"})
        CHECK_MESSAGE(faults_of(json::parse("{\"n\":" + std::string(text) + "}"),
                                [](object_reader& r) {
                                    CHECK(!r.integer("n", {1, 9}));
                                }) == texts{"/n must be an integer between 1 and 9"},
                      text);
    CHECK(faults_of(json::parse(R"({"n":-9})"), [](object_reader& r) {
              CHECK(r.integer("n", {-9, 9}) == -9);
          }) == texts{});
}

TEST_CASE("a text has characters that can be seen, and not too many")
{
    auto const fault = [](std::string_view text, text_rule const& rule) {
        return holdfast::http::fault_of_text(text, rule).value_or("");
    };
    CHECK(fault("", {.length_max = 4}) == "must not be empty");
    CHECK(fault("", {.length_max = 4, .length_min = 0}) == "");
    CHECK(fault("ééééé", {.length_max = 4}) == "must have at most 4 characters");
    CHECK(fault("éééé", {.length_max = 4}) == "");
    CHECK(fault("a\nb", {.length_max = 4}) == "must not contain control characters");
    CHECK(fault(std::string_view("a\0b", 3), {.length_max = 4}) ==
          "must not contain control characters");

    text_rule const note{.length_max = 4, .length_min = 0, .may_have_lines = true};
    CHECK(fault("a\n\tb", note) == "");
    CHECK(fault("a\n\tbc", note) == "must have at most 4 characters");
    CHECK(fault("a\rb", note) == "must not contain control characters");
    CHECK(fault(std::string_view("a\0b", 3), note) == "must not contain control characters");
}

TEST_CASE("lists have at least one entry and at most as many as said")
{
    for (auto const* text : {"[]", "[{},{},{}]", "{}", "null", "\"x\""})
        CHECK_MESSAGE(faults_of(json::parse("{\"lines\":" + std::string(text) + "}"),
                                [](object_reader& r) { CHECK(r.objects("lines", 2).empty()); }) ==
                          texts{"/lines must be an array of 1 to 2 objects"},
                      text);
}

TEST_CASE("an object of the caller's own is bounded by its shortest form")
{
    auto const body = json::parse(R"({ "m" : { "k" : "123456789" } })");
    CHECK(faults_of(body, [](object_reader& r) { CHECK(r.free_object("m", 17)); }) == texts{});
    CHECK(faults_of(body, [](object_reader& r) { CHECK(!r.free_object("m", 16)); }) ==
          texts{"/m must be at most 16 bytes without white space"});
}

TEST_CASE("a query's parameters are known, given once, and within their bounds")
{
    CHECK(query_faults_of({{"size", "huge"},
                           {"on", "yes"},
                           {"limit", "201"},
                           {"cursor", "x"},
                           {"sku", " a"},
                           {"q", "a\n"},
                           {"colour", "red"},
                           {"size", "small"}},
                          [](query_reader& q) {
                              CHECK(!q.one_of("size", sizes));
                              CHECK(!q.boolean("on"));
                              CHECK(q.limit() == 50);
                              CHECK(!q.cursor("i"));
                              CHECK(!q.text("sku", &holdfast::sku::fault_of));
                              CHECK(!q.text("q", {.length_max = 4}));
                              q.require("mode");
                          }) == texts{
                                    "/query/size must be one of small, large",
                                    "/query/on must be one of true, false",
                                    "/query/limit must be an integer between 1 and 200",
                                    "/query/cursor must be a next_cursor of this list",
                                    "/query/sku must not begin or end with white space",
                                    "/query/q must not contain control characters",
                                    "/query/mode is required",
                                    "/query/colour is not a known parameter",
                                    "/query/size is there more than once",
                                });
}

TEST_CASE("a limit is a plain number from 1 to 200, and 50 when nobody says")
{
    auto const limit = [](std::string const& text) {
        std::size_t number = 0;
        auto const faults =
            query_faults_of({{"limit", text}}, [&](query_reader& q) { number = q.limit(); });
        return faults.empty() ? number : 0;
    };
    CHECK(limit("1") == 1);
    CHECK(limit("200") == 200);
    CHECK(query_faults_of({}, [](query_reader& q) { CHECK(q.limit() == 50); }) == texts{});
    for (auto const* text : {"", "0", "201", "-1", "+1", "1.0", "1e1", " 1", "1 ", "0x1", "ten",
                             "99999999999999999999"})
        CHECK_MESSAGE(limit(text) == 0, text);
}

TEST_CASE("an empty filter is a fault, since it must not find everything instead")
{
    CHECK(query_faults_of({{"size", ""}, {"on", ""}, {"customer", ""}, {"sku", ""}, {"limit", ""}},
                          [](query_reader& q) {
                              CHECK(!q.one_of("size", sizes));
                              CHECK(!q.boolean("on"));
                              CHECK(!q.text("customer", {.length_max = 4}));
                              CHECK(!q.text("sku", &holdfast::sku::fault_of));
                              CHECK(q.limit() == 50);
                          }) == texts{
                                    "/query/size must be one of small, large",
                                    "/query/on must be one of true, false",
                                    "/query/customer must not be empty",
                                    "/query/sku must not be empty",
                                    "/query/limit must be an integer between 1 and 200",
                                });
}

TEST_CASE("an empty cursor begins at the first page, and an empty search finds everything")
{
    CHECK(query_faults_of({{"cursor", ""}, {"q", ""}}, [](query_reader& q) {
              CHECK(!q.cursor("i"));
              CHECK(q.text("q", {.length_max = 4, .length_min = 0}) == "");
          }) == texts{});
}

TEST_CASE("a parameter whose name is no text does not come back in the answer")
{
    CHECK(query_faults_of({{"\xFF\xFE", "1"}, {std::string("a\0b", 3), "1"}, {"a/b~", "1"}},
                          [](query_reader&) {}) ==
          texts{"/query has a parameter whose name is not plain text",
                "/query has a parameter whose name is not plain text",
                "/query/a~1b~0 is not a known parameter"});
}

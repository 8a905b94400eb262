// SPDX-License-Identifier: Apache-2.0
// What a request means: every rule of the API about bodies, queries, keys and paths.

#include "service/http/text.hpp"
#include "service/http/wire.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using holdfast::errc;
using holdfast::level_key;
using holdfast::location;
using holdfast::reservation_state;
using holdfast::sku;
using holdfast::timestamp;
using holdfast::uuid;
using holdfast::http::query_parameters;
using holdfast::http::request;
using namespace std::chrono_literals;

namespace http = holdfast::http;

namespace {

using texts = std::vector<std::string>;

constexpr auto an_id = "0190a6c2-7d1e-7c3a-9b54-1f2e3d4c5b6a";
constexpr auto another_id = "0190a6c4-02b7-7f10-8a6d-77c0aa91e3f5";

// A request by the key "till-1", with an Idempotency-Key.
request ask(std::string body, std::vector<std::string> captured = {})
{
    request req;
    req.captured = std::move(captured);
    req.headers = {{"idempotency-key", "k-1"}};
    req.body = std::move(body);
    req.id = "req-1";
    req.who = {.api_key_id = 7, .name = "till-1", .role = holdfast::role::admin};
    return req;
}

request look(query_parameters query, std::vector<std::string> captured = {})
{
    auto req = ask("", std::move(captured));
    req.query = std::move(query);
    return req;
}

// "pointer detail" of each fault of a refusal that has to be validation_failed, or its other code.
template <class T>
texts faults(holdfast::result<T> const& parsed)
{
    if (parsed.has_value())
        return {};
    auto const& why = parsed.error();
    if (why.code != errc::validation_failed)
        return {std::string(slug(why.code))};
    texts all;
    for (auto const& error : why.errors)
        all.push_back(error.pointer + " " + error.detail);
    return all;
}

auto reserve(std::string body)
{
    return http::parse_reserve(ask(std::move(body)), 900s);
}

auto adjust(std::string body)
{
    return http::parse_adjust(ask(std::move(body), {"TEE-M"}));
}

auto put(std::string body)
{
    return http::parse_put_item(ask(std::move(body), {"TEE-M"}));
}

std::string one_line(std::string_view quantity)
{
    return R"({"lines":[{"sku":"A","quantity":)" + std::string(quantity) + "}]}";
}

timestamp at(std::string_view text)
{
    return holdfast::parse_rfc3339(text).value();
}

uuid id_of(std::string_view text)
{
    return uuid::parse(text).value();
}

} // namespace

TEST_CASE("a reservation needs nothing but its lines")
{
    auto const command = reserve(R"({"lines":[{"sku":"TEE-M","quantity":2}]})");
    REQUIRE(command.has_value());
    REQUIRE(command->lines.size() == 1);
    CHECK(command->lines[0].at == level_key{sku("TEE-M"), location("main")});
    CHECK(command->lines[0].quantity == 2);
    CHECK(command->ttl == 900s);
    CHECK(!command->customer);
    CHECK(!command->reference);
    CHECK(!command->confirm_at_once);
    CHECK(!command->supersedes);
    CHECK(command->metadata == "{}");
    CHECK(command->actor == "till-1");
    CHECK(command->key.api_key_id == 7);
    CHECK(command->key.key == "k-1");
}

TEST_CASE("a reservation may say all there is to say")
{
    auto const command = reserve(R"({"lines":[{"sku":"B","quantity":3,"location":"shop-2"},
        {"sku":"A","quantity":1000000000},{"sku":"B","quantity":4,"location":"shop-2"}],
        "customer":"c-42","reference":"order-1001","ttl_seconds":604800,"confirm":true,
        "supersedes":"0190A6C4-02B7-7F10-8A6D-77C0AA91E3F5","token":"abc",
        "metadata":{"b":[1, null],"a":"\u0000é"}})");
    REQUIRE(command.has_value());
    REQUIRE(command->lines.size() == 2);
    CHECK(command->lines[0].at == level_key{sku("A"), location()});
    CHECK(command->lines[1].at == level_key{sku("B"), location("shop-2")});
    CHECK(command->lines[1].quantity == 7);
    CHECK(command->customer == "c-42");
    CHECK(command->reference == "order-1001");
    CHECK(command->ttl == 604800s);
    CHECK(command->confirm_at_once);
    CHECK(command->supersedes == id_of(another_id));
    CHECK(command->token == "abc");
    CHECK(command->metadata == R"({"a":"\u0000é","b":[1,null]})");
}

TEST_CASE("K8: a quantity that is no plain integer from 1 to a milliard is refused with its place")
{
    for (auto const* quantity :
         {"0", "-1", "1.5", "1.0", "1e3", "1e9", "\"1\"", "1000000001", "2147483648",
          "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551615",
          "null", "true", "[]", "{}", "-0"})
        CHECK_MESSAGE(faults(reserve(one_line(quantity))) ==
                          texts{"/lines/0/quantity must be an integer between 1 and 1000000000"},
                      quantity);
    CHECK(faults(reserve(one_line("1e400"))) ==
          texts{"/lines/0/quantity is a number too large to be read"});
    CHECK(faults(reserve(one_line("18446744073709551616"))) ==
          texts{"/lines/0/quantity is an integer that 64 bits cannot hold"});
    CHECK(faults(reserve(one_line("01"))) == texts{"malformed-json"});
    CHECK(reserve(one_line("1")).has_value());
    CHECK(reserve(one_line("1000000000")).has_value());
}

TEST_CASE("all faults of a reservation are told at once")
{
    auto const command = reserve(R"({"lines":[{"sku":" A","quantity":0,"location":"Main","x":1},
        {"quantity":1},{"sku":"B"},7],"customer":"","reference":"a\nb","ttl_seconds":0,
        "confirm":"yes","supersedes":"order-1","metadata":[],"state":"held"})");
    CHECK(faults(command) == texts{
                                 "/lines/3 must be an object",
                                 "/lines/0/sku must not begin or end with white space",
                                 "/lines/0/quantity must be an integer between 1 and 1000000000",
                                 "/lines/0/location may contain only a-z, 0-9, _ and -",
                                 "/lines/0/x is not a known member",
                                 "/lines/1/sku is required",
                                 "/lines/2/quantity is required",
                                 "/customer must not be empty",
                                 "/reference must not contain control characters",
                                 "/ttl_seconds must be an integer between 1 and 604800",
                                 "/confirm must be true or false",
                                 "/supersedes must be a UUID",
                                 "/metadata must be an object",
                                 "/state is not a known member",
                             });
}

TEST_CASE("a reservation has 1 to 100 lines, and a body that is one object")
{
    auto const lines = [](std::size_t count) {
        std::string text;
        for (std::size_t i = 0; i < count; ++i)
            text += (i == 0 ? "" : ",") + std::string(R"({"sku":"A","quantity":1})");
        return "{\"lines\":[" + text + "]}";
    };
    CHECK(reserve(lines(100)).has_value());
    CHECK(faults(reserve(lines(101))) == texts{"/lines must be an array of 1 to 100 objects"});
    CHECK(faults(reserve(lines(0))) == texts{"/lines must be an array of 1 to 100 objects"});
    CHECK(faults(reserve("{}")) == texts{"/lines is required"});
    CHECK(faults(reserve("[]")) == texts{" must be an object"});
    CHECK(faults(reserve("null")) == texts{" must be an object"});
    CHECK(faults(reserve("")) == texts{"malformed-json"});
}

TEST_CASE("D6: a hold lasts whole seconds, at least one and at most a week")
{
    auto const ttl = [](std::string_view seconds) {
        return faults(reserve(R"({"lines":[{"sku":"A","quantity":1}],"ttl_seconds":)" +
                              std::string(seconds) + "}"));
    };
    CHECK(ttl("1").empty());
    for (auto const* seconds : {"0", "-1", "1000000000000", "\"60\"", "0.5", "60.0", "null"})
        CHECK_MESSAGE(ttl(seconds) == texts{"/ttl_seconds must be an integer between 1 and 604800"},
                      seconds);
}

TEST_CASE("metadata is any small object")
{
    auto const with = [](std::string const& metadata) {
        return reserve(R"({"lines":[{"sku":"A","quantity":1}],"metadata":)" + metadata + "}");
    };
    auto const sized = [](std::size_t bytes) {
        return "{ \"k\" : \"" + std::string(bytes - 8, 'x') + "\" }";
    };
    CHECK(with(sized(4096)).value().metadata.size() == 4096);
    CHECK(faults(with(sized(4097))) ==
          texts{"/metadata must be at most 4096 bytes without white space"});
    CHECK(with(R"({"n":18446744073709551615})").value().metadata ==
          R"({"n":18446744073709551615})");
    CHECK(faults(with(R"({"n":18446744073709551617})")) ==
          texts{"/metadata/n is an integer that 64 bits cannot hold"});
    CHECK(faults(with("null")) == texts{"/metadata must be an object"});
    CHECK(faults(with("{\"a\":1,\"a\":2}")) == texts{"/metadata/a is there more than once"});
}

TEST_CASE("a key is missing, bad or good, and what else is wrong is told first")
{
    auto req = ask(one_line("1"));
    auto const parsed = [&] { return http::parse_reserve(req, 900s); };

    req.headers = {{"host", "shop"}};
    CHECK(faults(parsed()) == texts{"idempotency-key-missing"});
    req.headers = {{"idempotency-key", "\"k-1\""}};
    CHECK(parsed()->key.key == "k-1");

    texts const bad{"/header/idempotency-key must be 1 to 255 printable ASCII characters, "
                    "bare or as a quoted string"};
    for (auto const& field : {std::string(), std::string(256, 'k'), std::string("clé")}) {
        req.headers = {{"idempotency-key", field}};
        CHECK(faults(parsed()) == bad);
    }
    req.headers = {{"idempotency-key", "a"}, {"idempotency-key", "b"}};
    CHECK(faults(parsed()) == texts{"/header/idempotency-key must be there once"});

    req.headers = {};
    req.body = one_line("0");
    CHECK(faults(parsed()) ==
          texts{"/lines/0/quantity must be an integer between 1 and 1000000000"});
}

TEST_CASE("the same request is the same however it is written, and any other is another")
{
    auto const print = [](std::string body) { return reserve(std::move(body))->key.fingerprint; };
    auto const first = print(R"({"lines":[{"sku":"A","quantity":1}],"customer":"é"})");
    CHECK(first == print(R"( { "customer" : "\u00e9", "lines":[{"quantity":1,"sku":"A"}] } )"));
    CHECK(first != print(R"({"lines":[{"sku":"A","quantity":2}],"customer":"é"})"));
    CHECK(first != print(R"({"lines":[{"sku":"A","quantity":1}]})"));

    auto const body = R"({"delta":1,"reason":"found"})";
    auto const adjusted = [&](std::string name) {
        return http::parse_adjust(ask(body, {std::move(name)}))->key.fingerprint;
    };
    CHECK(adjusted("A") == adjusted("A"));
    CHECK(adjusted("A") != adjusted("B"));

    auto const returned = [&](std::string id) {
        return http::parse_return(ask(one_line("1"), {std::move(id)}))->key.fingerprint;
    };
    CHECK(returned(an_id) != returned(another_id));
    CHECK(returned(an_id) != print(one_line("1")));
}

TEST_CASE("a confirmation may be empty, in part, or take an expired hold again")
{
    auto const confirm = [](std::string body) {
        return http::parse_confirm(ask(std::move(body), {an_id}));
    };
    for (auto const* body : {"", "{}"}) {
        auto const command = confirm(body);
        REQUIRE(command.has_value());
        CHECK(command->id == id_of(an_id));
        CHECK(command->actor == "till-1");
        CHECK(!command->lines);
        CHECK(command->if_expired == holdfast::if_expired::refuse);
    }
    auto const command = confirm(R"({"lines":[{"sku":"A","quantity":1},{"sku":"A","quantity":2}],
                    "if_expired":"reserve_again"})");
    REQUIRE(command.has_value());
    REQUIRE(command->lines->size() == 1);
    CHECK(command->lines->at(0).quantity == 3);
    CHECK(command->if_expired == holdfast::if_expired::reserve_again);

    CHECK(faults(confirm(R"({"lines":[]})")) ==
          texts{"/lines must be an array of 1 to 100 objects"});
    CHECK(faults(confirm(R"({"lines":null})")) ==
          texts{"/lines must be an array of 1 to 100 objects"});
    CHECK(faults(confirm(one_line("0"))) ==
          texts{"/lines/0/quantity must be an integer between 1 and 1000000000"});
    CHECK(faults(confirm(R"({"if_expired":"extend"})")) ==
          texts{"/if_expired must be one of reserve_again"});
    CHECK(faults(confirm(" ")) == texts{"malformed-json"});
}

TEST_CASE("a release says nothing, an extension says how long")
{
    CHECK(http::parse_release(ask("", {an_id})).value().id == id_of(an_id));
    CHECK(http::parse_release(ask("{}", {an_id})).value().id == id_of(an_id));
    CHECK(faults(http::parse_release(ask(R"({"why":1})", {an_id}))) ==
          texts{"/why is not a known member"});
    CHECK(faults(http::parse_release(ask("[]", {an_id}))) == texts{" must be an object"});

    CHECK(http::parse_extend(ask(R"({"ttl_seconds":600})", {an_id}))->ttl == 600s);
    CHECK(faults(http::parse_extend(ask("{}", {an_id}))) == texts{"/ttl_seconds is required"});
    CHECK(faults(http::parse_extend(ask("", {an_id}))) == texts{"malformed-json"});
}

TEST_CASE("a return names lines, and restocks unless told otherwise")
{
    auto const give_back = [](std::string body) {
        return http::parse_return(ask(std::move(body), {an_id}));
    };
    CHECK(give_back(one_line("2"))->restock);
    CHECK(give_back(one_line("2"))->lines.at(0).quantity == 2);
    CHECK(give_back(one_line("2"))->id == id_of(an_id));
    CHECK(!give_back(R"({"lines":[{"sku":"A","quantity":1}],"restock":false})")->restock);
    CHECK(faults(give_back("{}")) == texts{"/lines is required"});
}

TEST_CASE("an id that cannot be one is the id of nothing")
{
    for (auto const* id : {"1", "", "0190a6c27d1e7c3a9b541f2e3d4c5b6a", "../../etc/passwd",
                           "0190a6c2-7d1e-7c3a-9b54-1f2e3d4c5b6a'"}) {
        CHECK(faults(http::parse_reservation_id(look({}, {id}))) == texts{"unknown-reservation"});
        CHECK(faults(http::parse_confirm(ask("", {id}))) == texts{"unknown-reservation"});
        CHECK(faults(http::parse_release(ask("", {id}))) == texts{"unknown-reservation"});
        CHECK(faults(http::parse_extend(ask(R"({"ttl_seconds":1})", {id}))) ==
              texts{"unknown-reservation"});
        CHECK(faults(http::parse_return(ask(one_line("1"), {id}))) == texts{"unknown-reservation"});
    }
    CHECK(faults(http::parse_release(ask("[]", {"1"}))) == texts{" must be an object"});
}

TEST_CASE("K7: a SKU in an address keeps to the one written rule")
{
    for (auto const* name : {"abc", "ABC", "00123", "caf\xC3\xA9", "a/b?c", "%", "😀", "a b"})
        CHECK(http::parse_sku(look({}, {name})).value() == sku(name));
    for (auto const& name : {std::string(), std::string(" abc"), std::string("abc\xC2\xA0"),
                             std::string("cafe\xCC\x81"), std::string(300, 'a'),
                             std::string("a\0b", 3), std::string("\xFF"), std::string("a\nb")}) {
        auto const told = faults(http::parse_sku(look({}, {name})));
        REQUIRE(told.size() == 1);
        CHECK(told[0].starts_with("/path/sku must "));
    }
    auto const told = faults(http::parse_adjust(ask("{}", {" a"})));
    CHECK(told.size() == 3);
    CHECK(told.at(0) == "/path/sku must not begin or end with white space");
}

TEST_CASE("an item's settings: what is named changes, null clears, the rest stays")
{
    auto const nothing = put("{}");
    REQUIRE(nothing.has_value());
    CHECK(nothing->sku == sku("TEE-M"));
    CHECK(!nothing->name);
    CHECK(!nothing->on_sale);
    CHECK(!nothing->sale_starts_at);
    CHECK(!nothing->max_per_customer);
    CHECK(!nothing->strategy);
    CHECK(!nothing->on_hand);
    CHECK(!nothing->location);

    auto const cleared = put(R"({"name":null,"sale_starts_at":null,"sale_ends_at":null,
                                 "max_per_customer":null,"low_stock_at":null,"strategy":null,
                                 "admission":null})");
    REQUIRE(cleared.has_value());
    auto const is_cleared = [](auto const& member) { return member.has_value() && !*member; };
    CHECK(is_cleared(cleared->name));
    CHECK(is_cleared(cleared->sale_starts_at));
    CHECK(is_cleared(cleared->sale_ends_at));
    CHECK(is_cleared(cleared->max_per_customer));
    CHECK(is_cleared(cleared->low_stock_at));
    CHECK(is_cleared(cleared->strategy));
    CHECK(is_cleared(cleared->admission));

    auto const all = put(R"({"name":"Tee, black","on_sale":false,"on_hand":9000000000000000,
        "location":"shop-2","sale_starts_at":"2026-11-27T00:00:00Z",
        "sale_ends_at":"2026-11-30T00:00:00.5Z","max_per_customer":2,"low_stock_at":0,
        "strategy":"row_lock","admission":"token","admission_pool":1000000,
        "admission_ttl_seconds":86400})");
    REQUIRE(all.has_value());
    CHECK(all->name.value() == "Tee, black");
    CHECK(all->on_sale == false);
    CHECK(all->on_hand == 9'000'000'000'000'000);
    CHECK(all->location == location("shop-2"));
    CHECK(all->sale_starts_at.value() == at("2026-11-27T00:00:00Z"));
    CHECK(all->sale_ends_at.value() == at("2026-11-30T00:00:00.5Z"));
    CHECK(all->max_per_customer.value() == 2);
    CHECK(all->low_stock_at.value() == 0);
    CHECK(all->strategy.value() == "row_lock");
    CHECK(all->admission.value() == "token");
    CHECK(all->admission_pool == 1'000'000);
    CHECK(all->admission_ttl_seconds == 86'400);
}

TEST_CASE("an item's settings are refused when they make no sense, all of them at once")
{
    CHECK(faults(put(R"({"name":7,"on_sale":null,"on_hand":-1,"location":null,
                         "sale_starts_at":"2026-11-27","sale_ends_at":1,"max_per_customer":0,
                         "low_stock_at":-1,"strategy":"","admission":"draw","admission_pool":0,
                         "admission_ttl_seconds":86401,"reserved":1})")) ==
          texts{
              "/location must be a string",
              "/name must be a string",
              "/on_sale must be true or false",
              "/sale_starts_at must be an RFC 3339 time in UTC, such as 2026-11-29T09:00:00Z",
              "/sale_ends_at must be an RFC 3339 time in UTC, such as 2026-11-29T09:00:00Z",
              "/max_per_customer must be an integer between 1 and 1000000000",
              "/low_stock_at must be an integer between 0 and 9000000000000000",
              "/strategy must not be empty",
              "/on_hand must be an integer between 0 and 9000000000000000",
              "/admission must be token or null",
              "/admission_pool must be an integer between 1 and 1000000",
              "/admission_ttl_seconds must be an integer between 1 and 86400",
              "/reserved is not a known member",
          });
    CHECK(faults(put(R"({"on_hand":9000000000000001})")) ==
          texts{"/on_hand must be an integer between 0 and 9000000000000000"});
}

TEST_CASE("an adjustment is a change, or a new number with what was seen before")
{
    auto const change = adjust(R"({"delta":-3,"reason":"damaged","note":"Wet\n\tcarton",
                                   "reference":"dn-7","location":"shop-2","allow_short":true})");
    REQUIRE(change.has_value());
    CHECK(change->at == level_key{sku("TEE-M"), location("shop-2")});
    CHECK(change->delta == -3);
    CHECK(!change->set_to);
    CHECK(!change->expect_on_hand);
    CHECK(change->reason == "damaged");
    CHECK(change->note == "Wet\n\tcarton");
    CHECK(change->reference == "dn-7");
    CHECK(change->allow_short);
    CHECK(change->actor == "till-1");

    auto const count = adjust(R"({"set_to":0,"expect_on_hand":118,"reason":"count","note":null})");
    REQUIRE(count.has_value());
    CHECK(!count->delta);
    CHECK(count->set_to == 0);
    CHECK(count->expect_on_hand == 118);
    CHECK(!count->allow_short);
    CHECK(!count->note);

    auto const careless = adjust(R"({"set_to":5,"expect_on_hand":null,"reason":"count"})");
    REQUIRE(careless.has_value());
    CHECK(!careless->expect_on_hand);
}

TEST_CASE("an adjustment that leaves room for doubt is refused")
{
    auto const reason = std::string(R"("reason":"count"})");
    CHECK(faults(adjust("{" + reason)) == texts{" must have delta or set_to"});
    CHECK(faults(adjust(R"({"delta":1,"set_to":2,"expect_on_hand":1,)" + reason)) ==
          texts{"/set_to must not stand beside delta"});
    CHECK(faults(adjust(R"({"set_to":2,)" + reason)) ==
          texts{"/expect_on_hand is required with set_to: the number you saw, or null for "
                "whatever it is"});
    CHECK(faults(adjust(R"({"delta":2,"expect_on_hand":1,)" + reason)) ==
          texts{"/expect_on_hand only goes with set_to"});
    CHECK(faults(adjust(R"({"delta":0,)" + reason)) == texts{"/delta must not be 0"});
    CHECK(faults(adjust(R"({"delta":9000000000000001,)" + reason)) ==
          texts{"/delta must be an integer between -9000000000000000 and 9000000000000000"});
    CHECK(faults(adjust(R"({"delta":null,)" + reason)) ==
          texts{"/delta must be an integer between -9000000000000000 and 9000000000000000"});
    CHECK(faults(adjust(R"({"set_to":-1,"expect_on_hand":"1",)" + reason)) ==
          texts{"/set_to must be an integer between 0 and 9000000000000000",
                "/expect_on_hand must be an integer between 0 and 9000000000000000"});
    CHECK(faults(adjust(R"({"delta":1})")) == texts{"/reason is required"});
    CHECK(faults(adjust(R"({"delta":1,"reason":"theft"})")) ==
          texts{"/reason must be one of received, damaged, lost, found, correction, count, "
                "returned, sample, other"});
}

TEST_CASE("K1: an import says what its quantities mean")
{
    auto const import = [](query_parameters query) {
        auto req = ask("sku,quantity\nA,1\n");
        req.query = std::move(query);
        return faults(http::parse_import(req));
    };
    CHECK(import({}) == texts{"/query/mode is required"});
    CHECK(import({{"mode", ""}}) == texts{"/query/mode must be one of set, add, count"});
    // An empty dry_run must not become the real thing.
    CHECK(import({{"mode", "set"}, {"dry_run", ""}}) ==
          texts{"/query/dry_run must be one of true, false"});
    CHECK(import({{"mode", "replace"}}) == texts{"/query/mode must be one of set, add, count"});
    CHECK(import({{"mode", "set"}, {"dry_run", "1"}, {"force", "true"}}) ==
          texts{"/query/dry_run must be one of true, false",
                "/query/force is not a known parameter"});
    CHECK(import({{"mode", "count"}, {"dry_run", "true"}}).empty());
}

TEST_CASE("an import under one key is one file in one mode")
{
    auto const file = ask("sku,quantity\nA,1\n");
    auto const with = [](request req, query_parameters query) {
        req.query = std::move(query);
        return http::parse_import(req)->key.fingerprint;
    };
    auto const first = with(file, {{"mode", "add"}});
    CHECK(first == with(file, {{"mode", "add"}, {"dry_run", "false"}}));
    CHECK(first != with(file, {{"mode", "add"}, {"dry_run", "true"}}));
    CHECK(first != with(file, {{"mode", "set"}}));
    CHECK(first != with(ask("sku,quantity\nA,2\n"), {{"mode", "add"}}));

    auto req = file;
    req.query = {{"mode", "count"}, {"dry_run", "true"}};
    auto const command = http::parse_import(req);
    CHECK(command->csv == file.body);
    CHECK(command->mode == holdfast::import_mode::count);
    CHECK(command->run == holdfast::import_run::preview);

    req.headers.clear();
    CHECK(faults(http::parse_import(req)) == texts{"idempotency-key-missing"});
}

TEST_CASE("lists take their own filters and cursors, and no others")
{
    auto const filter =
        http::parse_reservation_filter(look({{"state", "held"},
                                             {"sku", "A"},
                                             {"customer", "c"},
                                             {"reference", "r"},
                                             {"limit", "7"},
                                             {"cursor", http::to_cursor("r", an_id)}}));
    REQUIRE(filter.has_value());
    CHECK(filter->state == reservation_state::held);
    CHECK(filter->sku == sku("A"));
    CHECK(filter->customer == "c");
    CHECK(filter->reference == "r");
    CHECK(filter->limit == 7);
    CHECK(filter->before == id_of(an_id));

    auto const everything = http::parse_reservation_filter(look({{"cursor", ""}}));
    CHECK(!everything->state);
    CHECK(!everything->sku);
    CHECK(!everything->customer);
    CHECK(!everything->reference);
    CHECK(!everything->before);
    CHECK(everything->limit == 50);

    CHECK(faults(http::parse_reservation_filter(
              look({{"state", ""}, {"sku", ""}, {"customer", ""}, {"reference", ""}}))) ==
          texts{"/query/state must be one of held, confirmed, released, expired",
                "/query/sku must not be empty", "/query/customer must not be empty",
                "/query/reference must not be empty"});
    CHECK(faults(http::parse_reservation_filter(look({{"state", "open"}, {"sku", " "}}))) ==
          texts{"/query/state must be one of held, confirmed, released, expired",
                "/query/sku must not begin or end with white space"});

    auto const items = http::parse_item_filter(
        look({{"q", "tee"}, {"low", "true"}, {"cursor", http::to_cursor("i", "TEE-M")}}));
    CHECK(items->q == "tee");
    CHECK(items->only_low);
    CHECK(items->after == sku("TEE-M"));
    auto const searched_for_nothing = http::parse_item_filter(look({{"q", ""}, {"cursor", ""}}));
    CHECK(!searched_for_nothing->q);
    CHECK(!searched_for_nothing->after);
    CHECK(faults(http::parse_item_filter(look({{"low", ""}}))) ==
          texts{"/query/low must be one of true, false"});

    auto const moved =
        http::parse_movement_filter(look({{"cursor", http::to_cursor("m", "48213")}}, {"TEE-M"}));
    CHECK(moved->sku == sku("TEE-M"));
    CHECK(moved->before == 48213);

    texts const bad_cursor{"/query/cursor must be a next_cursor of this list"};
    auto const with = [](std::string_view list, std::string_view last) {
        return look({{"cursor", http::to_cursor(list, last)}}, {"TEE-M"});
    };
    CHECK(faults(http::parse_reservation_filter(with("r", "TEE-M"))) == bad_cursor);
    CHECK(faults(http::parse_reservation_filter(with("i", an_id))) == bad_cursor);
    CHECK(faults(http::parse_item_filter(with("i", " a"))) == bad_cursor);
    CHECK(faults(http::parse_item_filter(with("m", "1"))) == bad_cursor);
    for (auto const* last : {"0", "-1", "1x", "", "9223372036854775808"})
        CHECK(faults(http::parse_movement_filter(with("m", last))) == bad_cursor);
}

TEST_CASE("a parameter nobody knows is refused everywhere")
{
    texts const unknown{"/query/x is not a known parameter"};
    auto const with_x = [](std::string body) {
        auto req = ask(std::move(body), {an_id});
        req.query = {{"x", "1"}};
        return req;
    };
    CHECK(faults(http::parse_nothing(with_x(""))) == unknown);
    CHECK(faults(http::parse_reserve(with_x(one_line("1")), 900s)) == unknown);
    CHECK(faults(http::parse_confirm(with_x(""))) == unknown);
    CHECK(faults(http::parse_release(with_x(""))) == unknown);
    CHECK(faults(http::parse_extend(with_x(R"({"ttl_seconds":1})"))) == unknown);
    CHECK(faults(http::parse_return(with_x(one_line("1")))) == unknown);
    CHECK(faults(http::parse_reservation_id(with_x(""))) == unknown);
    CHECK(faults(http::parse_reservation_filter(with_x(""))) == unknown);
    CHECK(faults(http::parse_put_item(with_x("{}"))) == unknown);
    CHECK(faults(http::parse_sku(with_x(""))) == unknown);
    CHECK(faults(http::parse_item_filter(with_x(""))) == unknown);
    CHECK(faults(http::parse_movement_filter(with_x(""))) == unknown);
    CHECK(faults(http::parse_adjust(with_x(R"({"delta":1,"reason":"found"})"))) == unknown);
    CHECK(http::parse_nothing(look({})).has_value());
}

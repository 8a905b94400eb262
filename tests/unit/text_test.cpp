// SPDX-License-Identifier: Apache-2.0
// What may stand in an address and in an Idempotency-Key, and that a cursor leads back to its page.

#include "service/http/text.hpp"
#include "stock/percent.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>

using holdfast::percent_decoded;
using holdfast::percent_encoded;
using holdfast::http::from_cursor;
using holdfast::http::origin_form;
using holdfast::http::parse_idempotency_key;
using holdfast::http::parse_query;
using holdfast::http::query_parameters;
using holdfast::http::to_cursor;

namespace {

// HOLDFAST_SEED plays a failed run again.
std::uint64_t seed_of_run()
{
    if (auto const* given = std::getenv("HOLDFAST_SEED"))
        return std::strtoull(given, nullptr, 10);
    return std::random_device{}();
}

std::string random_bytes(std::mt19937_64& engine)
{
    std::string bytes(engine() % 40, '\0');
    for (auto& byte : bytes)
        byte = static_cast<char>(engine());
    return bytes;
}

} // namespace

TEST_CASE("a SKU with a slash, a percent sign or an accent can stand in an address")
{
    CHECK(percent_decoded("a%2Fb%3Fc") == "a/b?c");
    CHECK(percent_decoded("100%25") == "100%");
    CHECK(percent_decoded("caf%C3%A9") == "caf\xC3\xA9");
    CHECK(percent_decoded("caf%c3%a9") == "caf\xC3\xA9");
    CHECK(percent_decoded("A+B") == "A+B");
    CHECK(percent_decoded("%00") == std::string(1, '\0'));
    CHECK(percent_encoded("a/b?c %\xC3\xA9") == "a%2Fb%3Fc%20%25%C3%A9");
    CHECK(percent_encoded("TEE-M_1.0~x") == "TEE-M_1.0~x");
}

TEST_CASE("a percent sign without two digits is no address")
{
    for (auto const* text : {"%", "a%", "a%2", "%G0", "%2G", "%%20", "% 0"})
        CHECK_MESSAGE(!percent_decoded(text), text);
}

TEST_CASE("a whole address stands for its path and query")
{
    CHECK(origin_form("http://shop.example/v1/stock?q=a%2Fb") == "/v1/stock?q=a%2Fb");
    CHECK(origin_form("HTTPS://[::1]:8080/livez") == "/livez");
    CHECK(origin_form("http://shop.example") == "/");
    CHECK(origin_form("http://shop.example?a=b") == "/?a=b");
    CHECK(origin_form("http://shop.example/http://other/") == "/http://other/");
    for (auto const* text : {"", "livez", "*", "http", "http:/livez", "http://", "http:///livez",
                             "http://:80/livez", "http://me:secret@shop.example/livez",
                             "ftp://shop.example/livez", "://shop.example/", "shop.example:443"})
        CHECK_MESSAGE(!origin_form(text), text);
}

TEST_CASE("a query is read in the order it was written")
{
    CHECK(parse_query("state=held&sku=a%26b&q=blue+tee%2B") ==
          query_parameters{{"state", "held"}, {"sku", "a&b"}, {"q", "blue tee+"}});
    CHECK(parse_query("a=1&a=2") == query_parameters{{"a", "1"}, {"a", "2"}});
    CHECK(parse_query("a=b=c&d&e=&=f") ==
          query_parameters{{"a", "b=c"}, {"d", ""}, {"e", ""}, {"", "f"}});
    CHECK(parse_query("&&a=1&") == query_parameters{{"a", "1"}});
    CHECK(parse_query("") == query_parameters{});
    CHECK(!parse_query("a=1&b=%2"));
    CHECK(!parse_query("%zz=1"));
}

TEST_CASE("a cursor leads back to where the page ended, in its own list only")
{
    auto const cursor = to_cursor("i", "caf\xC3\xA9/1");
    CHECK(from_cursor("i", cursor) == "caf\xC3\xA9/1");
    CHECK(!from_cursor("r", cursor));
    CHECK(cursor == percent_encoded(cursor));
    CHECK(from_cursor("i", to_cursor("i", "")) == "");
}

TEST_CASE("a cursor somebody made up or changed is none")
{
    auto const cursor = to_cursor("m", "48213");
    for (auto const& text : {std::string("48213"), std::string("%"), std::string("="), cursor + " ",
                             cursor + "=", cursor.substr(1), std::string("AAAA")})
        CHECK_MESSAGE(!from_cursor("m", text), text);

    // "1m:1" is MW06MQ: the last character holds four bits nobody reads.
    REQUIRE(to_cursor("m", "1") == "MW06MQ");
    CHECK(!from_cursor("m", "MW06MR"));
}

TEST_CASE("whatever bytes go into an address or a cursor come out again")
{
    auto const seed = seed_of_run();
    CAPTURE(seed);
    std::mt19937_64 engine(seed);
    for (int i = 0; i < 2000; ++i) {
        auto const bytes = random_bytes(engine);
        CHECK(percent_decoded(percent_encoded(bytes)) == bytes);
        CHECK(from_cursor("x", to_cursor("x", bytes)) == bytes);
        CHECK(parse_query("a=" + percent_encoded(bytes)) == query_parameters{{"a", bytes}});
    }
}

TEST_CASE("an Idempotency-Key in quotes is the same as the bare one")
{
    CHECK(parse_idempotency_key("order-1001") == "order-1001");
    CHECK(parse_idempotency_key("\"order-1001\"") == "order-1001");
    CHECK(parse_idempotency_key("\"a \\\"b\\\" \\\\ c\"") == "a \"b\" \\ c");
    CHECK(parse_idempotency_key("order 1001~") == "order 1001~");
    CHECK(parse_idempotency_key("a\"b") == "a\"b");
    CHECK(parse_idempotency_key("'a'") == "'a'");
    CHECK(parse_idempotency_key(std::string(255, 'k')) == std::string(255, 'k'));
    CHECK(parse_idempotency_key('"' + std::string(255, 'k') + '"') == std::string(255, 'k'));
}

TEST_CASE("an Idempotency-Key that is empty, too long, not printable or half quoted is refused")
{
    auto const nul = std::string("a\0b", 3);
    for (auto const& field :
         {std::string(), std::string("\"\""), std::string("\""), std::string("\"a"),
          std::string("\"a\"b"), std::string("\"a\";p=1"), std::string("\"a\\"),
          std::string("\"a\\n\""), std::string("caf\xC3\xA9"), std::string("a\tb"),
          std::string("a\x7F"), nul, std::string(256, 'k'), '"' + std::string(256, 'k') + '"'})
        CHECK_MESSAGE(!parse_idempotency_key(field), field);
}

// SPDX-License-Identifier: Apache-2.0
// What counts as JSON: everything that two programs could read in two ways is refused, and what the
// service writes any program reads.

#include "service/http/json.hpp"
#include "service/json_writer.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

using holdfast::errc;
using holdfast::json_writer;
using holdfast::refusal;
using holdfast::http::faults_listed_max;
using holdfast::http::json_depth_max;
using holdfast::http::parse_json;
using holdfast::http::pointer_to;

namespace {

using texts = std::vector<std::string>;

// HOLDFAST_SEED plays a failed run again.
std::uint64_t seed_of_run()
{
    if (auto const* given = std::getenv("HOLDFAST_SEED"))
        return std::strtoull(given, nullptr, 10);
    return std::random_device{}();
}

// The refusal of a text that must not be accepted.
refusal refused(std::string_view text)
{
    auto const read = parse_json(text);
    REQUIRE_MESSAGE(read.has_error(), text);
    return read.error();
}

texts pointers(refusal const& why)
{
    texts all;
    for (auto const& error : why.errors)
        all.push_back(error.pointer);
    return all;
}

std::string nested(std::size_t depth)
{
    return std::string(depth, '[') + std::string(depth, ']');
}

} // namespace

TEST_CASE("a body of every kind of value is read as it stands")
{
    std::string const text =
        R"({"a":[1,-2,2.5,"x\u00e9\ud83d\ude00",true,false,null,{}],"b":{"c":[[]]},"":0})";
    auto const read = parse_json(text);
    REQUIRE(read.has_value());
    CHECK(*read == nlohmann::json::parse(text));
    CHECK(parse_json(" \n[1] \r\t")->size() == 1);
    CHECK(parse_json("7").value() == 7);
    CHECK(parse_json("18446744073709551615")->is_number_unsigned());
}

TEST_CASE("what is not JSON is refused as malformed, and nothing of it is repeated")
{
    for (std::string const& text : {std::string(),
                                    std::string(" "),
                                    std::string("{"),
                                    std::string("{\"secret\":}"),
                                    std::string("{\"secret\":1,}"),
                                    std::string("[1,]"),
                                    std::string("[1 2]"),
                                    std::string("{'secret':1}"),
                                    std::string("{secret:1}"),
                                    std::string("secret"),
                                    std::string("[NaN]"),
                                    std::string("[Infinity]"),
                                    std::string("[+1]"),
                                    std::string("[01]"),
                                    std::string("[1.]"),
                                    std::string("[.5]"),
                                    std::string("[0x1]"),
                                    std::string("[\"secret"),
                                    std::string("[\"\\x\"]"),
                                    std::string("[\"\\ud800\"]"),
                                    std::string("[\"a\nb\"]"),
                                    std::string("[1] // secret"),
                                    std::string("[1] /* */"),
                                    std::string("[1][2]"),
                                    std::string("{}secret"),
                                    std::string("[\"\xFF\"]"),
                                    std::string("[\"\xC0\xAF\"]"),
                                    std::string("[\"\xED\xA0\x80\"]"),
                                    std::string("\xFF\xFE{\0}\0", 6),
                                    std::string("True")}) {
        auto const why = refused(text);
        CHECK_MESSAGE(why.code == errc::malformed_json, text);
        CHECK(why.detail.find("secret") == std::string::npos);
        CHECK(why.errors.empty());
    }
    CHECK(refused("[1,!]").detail == "The body is not valid JSON; reading stopped near byte 4.");
}

TEST_CASE("nothing can hide behind a NUL")
{
    CHECK(refused(std::string_view("{\"a\":1}\0{\"a\":2}", 15)).code == errc::malformed_json);
    CHECK(refused(std::string_view("{\"a\":1}\0", 8)).code == errc::malformed_json);
    CHECK(refused(std::string_view("{\"a\":\"\0\"}", 9)).code == errc::malformed_json);
    CHECK(parse_json(R"({"a":"\u0000"})")->at("a") == std::string(1, '\0'));
}

TEST_CASE(
    "a key that is there twice is refused wherever it is, since readers disagree which counts")
{
    auto const why = refused(R"({"lines":[{"sku":"A"},{"sku":"A","quantity":1,"quantity":2}],)"
                             R"("customer":{"x":1},"customer":{"y":1,"y":2}})");
    CHECK(why.code == errc::validation_failed);
    CHECK(pointers(why) == texts{"/lines/1/quantity", "/customer", "/customer/y"});
    CHECK(pointers(refused(R"({"a":1,"\u0061":2})")) == texts{"/a"});
    CHECK(parse_json(R"({"a":{"x":1},"b":{"x":1},"A":0})").has_value());
}

TEST_CASE("a broken body is malformed, whatever else is wrong with it")
{
    CHECK(refused(R"({"a":1,"a":2)").code == errc::malformed_json);
}

TEST_CASE("nesting has a bound, however deep a body goes")
{
    CHECK(parse_json(nested(json_depth_max)).has_value());
    auto const why = refused(nested(json_depth_max + 1));
    CHECK(why.code == errc::validation_failed);
    CHECK(pointers(why) == texts{"/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0/0"});
    CHECK(refused(nested(500'000)).code == errc::validation_failed);
    CHECK(refused(std::string(1'000'000, '[')).code == errc::validation_failed);
}

TEST_CASE("a number beyond all measure is refused with its place")
{
    auto const why = refused(R"({"lines":[{"quantity":1e400}]})");
    CHECK(why.code == errc::validation_failed);
    CHECK(pointers(why) == texts{"/lines/0/quantity"});
    CHECK(pointers(refused("[0,-1e999]")) == texts{"/1"});
}

TEST_CASE("an integer that would come back as another one is refused with its place")
{
    auto const why = refused(R"({"metadata":{"seen":[1,18446744073709551616],"id":)"
                             R"(-9223372036854775809,"n":123456789012345678901234567890}})");
    CHECK(why.code == errc::validation_failed);
    CHECK(pointers(why) == texts{"/metadata/seen/1", "/metadata/id", "/metadata/n"});
    CHECK(pointers(refused("18446744073709551616")) == texts{""});
    // These are kept to the last digit; what is written as a fraction is a double and says so.
    std::string const kept = "[18446744073709551615,-9223372036854775808,9007199254740993,0,-1]";
    CHECK(parse_json(kept)->dump() == kept);
    CHECK(parse_json("[1e20,0.1,-2.5]")->dump() == "[1e+20,0.1,-2.5]");
}

TEST_CASE("a hostile body is not answered with a page for each of its faults")
{
    std::string text = "{";
    for (int i = 0; i < 5000; ++i)
        text += "\"a\":1,";
    auto const why = refused(text + "\"b\":1}");
    CHECK(why.errors.size() == faults_listed_max);
    CHECK(why.detail == "The request has 4999 faults; the first 100 are listed.");
}

TEST_CASE("a pointer escapes what its own signs are, and cuts names without end")
{
    CHECK(pointer_to("/lines", std::size_t{3}) == "/lines/3");
    CHECK(pointer_to("", "a/b~c") == "/a~1b~0c");
    CHECK(pointer_to("/x", "") == "/x/");
    CHECK(pointer_to("", std::string(5000, 'k')) == "/" + std::string(100, 'k') + "…");
    CHECK(pointer_to("", std::string(99, 'k') + "\xC3\xA9") == "/" + std::string(99, 'k') + "…");
}

TEST_CASE("random bytes and torn bodies are refused or read, never more")
{
    auto const seed = seed_of_run();
    CAPTURE(seed);
    std::mt19937_64 engine(seed);
    std::string const sound =
        R"({"lines":[{"sku":"caf\u00e9","quantity":2e3}],"ttl_seconds":9,"m":{"a":[null]}})";
    for (int i = 0; i < 20'000; ++i) {
        auto text = sound;
        for (auto flips = engine() % 4 + 1; flips > 0; --flips)
            text[engine() % text.size()] = static_cast<char>(engine());
        text.resize(engine() % (text.size() + 1));
        auto const read = parse_json(text);
        auto const mirror = nlohmann::json::parse(text, nullptr, false);
        if (read)
            CHECK(*read == mirror);
    }
}

TEST_CASE("every text the service writes is read back the same")
{
    std::string all;
    for (int c = 0; c < 0x80; ++c)
        all += static_cast<char>(c);
    all += "é – 漢字 😀 \xE2\x80\xA8";

    json_writer out;
    out.begin_object();
    out.member(all, all);
    out.end_object();
    auto const text = out.take();
    CHECK(nlohmann::json::parse(text).at(all) == all);
    CHECK(text.find('\n') == std::string::npos);
}

TEST_CASE("the writer puts commas where they belong and null where nothing is")
{
    json_writer out;
    out.begin_object();
    out.member("a", std::optional<std::string>());
    out.member("b", std::optional<std::int64_t>(-9'000'000'000'000'000));
    out.member("c", true);
    out.member("d", "text");
    out.key("e");
    out.begin_array();
    out.begin_object();
    out.end_object();
    out.value(std::numeric_limits<std::int64_t>::min());
    out.begin_array();
    out.end_array();
    out.raw(R"({"x":1})");
    out.end_array();
    out.member("f", 1);
    out.end_object();
    CHECK(out.take() == R"({"a":null,"b":-9000000000000000,"c":true,"d":"text",)"
                        R"("e":[{},-9223372036854775808,[],{"x":1}],"f":1})");

    out.begin_array();
    out.end_array();
    CHECK(out.take() == "[]");
}

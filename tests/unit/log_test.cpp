// SPDX-License-Identifier: Apache-2.0
// A line of the log: valid JSON whatever is in it, and one line whatever is in it.
#include "service/log.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>
#include <string>

using namespace holdfast;

namespace {

constexpr std::string_view at = "2026-11-29T17:27:15.000042Z";

std::string json_line(std::string_view message, log::fields fields = {})
{
    return log::to_line(log::format::json, {at, log::level::info, message}, fields);
}

std::string text_line(std::string_view message, log::fields fields = {})
{
    return log::to_line(log::format::text, {at, log::level::warning, message}, fields);
}

} // namespace

TEST_CASE("a line of JSON has time, level, message and the fields as they are typed")
{
    std::string const name = "till";
    CHECK(json_line("service.started", {{"port", 8080},
                                        {"share", 0.25},
                                        {"is_root", true},
                                        {"name", name},
                                        {"size", std::size_t{7}},
                                        {"least", std::numeric_limits<std::int64_t>::min()}}) ==
          R"({"time":"2026-11-29T17:27:15.000042Z","level":"info","message":"service.started",)"
          R"("port":8080,"share":0.25,"is_root":true,"name":"till","size":7,)"
          R"("least":-9223372036854775808})");
}

TEST_CASE("no text from outside can break out of its field or its line")
{
    for (auto const& text : {std::string("a\"b\\c\n\r\t\x01\x7F{}"), std::string("a\0b", 3),
                             std::string("né 漢字 😀")}) {
        auto const line = json_line(text, {{"field", text}});
        CHECK(line.find('\n') == std::string::npos);
        auto const read = nlohmann::json::parse(line);
        CHECK(read.at("message") == text);
        CHECK(read.at("field") == text);
        CHECK(text_line(text, {{"field", text}}).find('\n') == std::string::npos);
    }
}

TEST_CASE("bytes that are not UTF-8 are written as the replacement character")
{
    auto const read_back = [](std::string_view bytes) {
        return nlohmann::json::parse(json_line(bytes)).at("message").get<std::string>();
    };
    CHECK(read_back("a\xFFz") == "a\uFFFDz");
    CHECK(read_back("\xC3") == "\uFFFD");
    CHECK(read_back("\xC0\xAF") == "\uFFFD\uFFFD");
    CHECK(read_back("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
    CHECK(read_back("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");
    CHECK(read_back("\xE2\x82\xAC\xE2\x82") == "€\uFFFD\uFFFD");
}

TEST_CASE("a number that JSON cannot write is null")
{
    auto const nan = std::numeric_limits<double>::quiet_NaN();
    auto const infinite = std::numeric_limits<double>::infinity();
    auto const read = nlohmann::json::parse(json_line("m", {{"a", nan}, {"b", infinite}}));
    CHECK(read.at("a").is_null());
    CHECK(read.at("b").is_null());
}

TEST_CASE("a line of text quotes what could be mistaken")
{
    CHECK(text_line("request", {{"path", "/v1/stock"}, {"name", "a b"}, {"none", ""}, {"n", 3}}) ==
          R"(2026-11-29T17:27:15.000042Z warning  request path=/v1/stock name="a b" none="" n=3)");
}

TEST_CASE("the level set decides which lines are written")
{
    log::start({.level = log::level::warning});
    CHECK(!log::is_on(log::level::info));
    CHECK(log::is_on(log::level::warning));
    CHECK(log::is_on(log::level::critical));
    log::start({});
    CHECK(log::is_on(log::level::info));
    CHECK(!log::is_on(log::level::debug));
}

// SPDX-License-Identifier: Apache-2.0
// Instants as text: one way to write them, and no guessing when they are read.
#include "stock/clock.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast {

namespace {

timestamp at(std::int64_t microseconds)
{
    return timestamp(std::chrono::microseconds(microseconds));
}

} // namespace

TEST_CASE("an instant is written in UTC with microseconds")
{
    CHECK(to_rfc3339(at(0)) == "1970-01-01T00:00:00.000000Z");
    CHECK(to_rfc3339(at(1)) == "1970-01-01T00:00:00.000001Z");
    CHECK(to_rfc3339(at(-1)) == "1969-12-31T23:59:59.999999Z");
    CHECK(to_rfc3339(at(1'709'210'096'789'012)) == "2024-02-29T12:34:56.789012Z");
    CHECK(to_rfc3339(at(253'402'300'799'999'999)) == "9999-12-31T23:59:59.999999Z");
}

TEST_CASE("an instant reads back as it was written")
{
    for (std::int64_t const us :
         {std::int64_t{0}, std::int64_t{999'999}, std::int64_t{951'782'400'000'000},
          std::int64_t{1'709'210'096'789'012}, std::int64_t{4'102'444'800'000'000},
          std::int64_t{253'402'300'799'999'999}}) {
        CAPTURE(us);
        CHECK(parse_rfc3339(to_rfc3339(at(us))) == at(us));
    }
}

TEST_CASE("RFC 3339 in UTC is read in each of its forms")
{
    auto const noon = parse_rfc3339("2026-03-29T12:00:00Z");
    REQUIRE(noon);
    for (auto const* text : {"2026-03-29T12:00:00z", "2026-03-29t12:00:00Z", "2026-03-29 12:00:00Z",
                             "2026-03-29T12:00:00.0Z", "2026-03-29T12:00:00.000000Z",
                             "2026-03-29T12:00:00+00:00", "2026-03-29 12:00:00.000+00"}) {
        CAPTURE(text);
        CHECK(parse_rfc3339(text) == noon);
    }
    using std::chrono::microseconds;
    CHECK(parse_rfc3339("2026-03-29T12:00:00.5Z") == *noon + microseconds(500'000));
    CHECK(parse_rfc3339("2026-03-29T12:00:00.000042Z") == *noon + microseconds(42));
}

TEST_CASE("leap days exist in leap years only")
{
    CHECK(parse_rfc3339("2024-02-29T00:00:00Z"));
    CHECK(parse_rfc3339("2000-02-29T00:00:00Z"));
    CHECK_FALSE(parse_rfc3339("2023-02-29T00:00:00Z"));
    CHECK_FALSE(parse_rfc3339("2100-02-29T00:00:00Z"));
}

TEST_CASE("what is not an instant in UTC is not guessed at")
{
    for (std::string_view const text : {"",
                                        "2026-03-29",
                                        "2026-03-29T12:00:00",
                                        "2026-03-29T12:00Z",
                                        "2026-03-29T12:00:00.Z",
                                        "2026-03-29T12:00:00.1234567Z",
                                        "2026-03-29T12:00:00+01:00",
                                        "2026-03-29T12:00:00-00:00",
                                        "2026-03-29T12:00:00Z ",
                                        " 2026-03-29T12:00:00Z",
                                        "2026-3-29T12:00:00Z",
                                        "2026-00-10T00:00:00Z",
                                        "2026-13-10T00:00:00Z",
                                        "2026-04-31T00:00:00Z",
                                        "2026-04-00T00:00:00Z",
                                        "2026-04-01T24:00:00Z",
                                        "2026-04-01T12:60:00Z",
                                        "2026-04-01T12:00:60Z",
                                        "1969-12-31T23:59:59Z",
                                        "02026-03-29T12:00:00Z",
                                        "+026-03-29T12:00:00Z",
                                        "2026-03-29T12:00:00,5Z",
                                        "20260329T120000Z",
                                        "now",
                                        "0",
                                        "2026-03-29T12:00:00ZZ",
                                        "2026/03/29T12:00:00Z",
                                        "-001-01-01T00:00:00Z"}) {
        CAPTURE(text);
        CHECK_FALSE(parse_rfc3339(text));
    }
    CHECK_FALSE(parse_rfc3339(std::string_view("2026-03-29T12:00:00Z\0", 21)));
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Ids of reservations: unique, sortable by their time, and written in one way only.
#include "stock/uuid.hpp"
#include "tests/support/run_together.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace holdfast {

namespace {

std::int64_t milliseconds_now()
{
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::int64_t milliseconds_in(uuid const& id)
{
    auto const text = id.str();
    return std::stoll(text.substr(0, 8) + text.substr(9, 4), nullptr, 16);
}

} // namespace

TEST_CASE("a new id is of version 7 and holds the present millisecond")
{
    auto const before = milliseconds_now();
    auto const id = uuid::make_v7();
    auto const after = milliseconds_now();

    auto const text = id.str();
    CHECK(text.size() == 36);
    CHECK(text[14] == '7');
    CHECK(std::string("89ab").find(text[19]) != std::string::npos);
    CHECK(milliseconds_in(id) >= before);
    CHECK(milliseconds_in(id) <= after);
}

TEST_CASE("ids made by many threads at once are all different")
{
    auto const made = test::run_together(8, [](std::size_t) {
        std::vector<uuid> ids;
        for (int i = 0; i < 5000; ++i)
            ids.push_back(uuid::make_v7());
        return ids;
    });
    std::set<uuid> all;
    for (auto const& ids : made)
        all.insert(ids.begin(), ids.end());
    CHECK(all.size() == 8 * 5000);
}

TEST_CASE("ids made one after the other sort in that order, as text and as value")
{
    auto const wait_for_the_clock = [](auto const then) {
        auto const tick = std::chrono::nanoseconds(500); // more than 1/4096 ms
        while (std::chrono::system_clock::now() - then < tick) {
        }
    };
    for (int i = 0; i < 2000; ++i) {
        auto const first = uuid::make_v7(i % 2 ? 0 : uuid::hint_max);
        wait_for_the_clock(std::chrono::system_clock::now());
        auto const second = uuid::make_v7(i % 2 ? uuid::hint_max : 0);
        CHECK(first < second);
        CHECK(first.str() < second.str());
    }
}

TEST_CASE("an id tells the caller's twelve bits, and nothing else of what was given")
{
    for (std::uint16_t const hint : {0, 1, 0x0abc, 0x0fff, 0xf123})
        CHECK(uuid::make_v7(hint).hint() == (hint & uuid::hint_max));
}

TEST_CASE("an id reads back as it was written, in either case")
{
    for (int i = 0; i < 200; ++i) {
        auto const id = uuid::make_v7();
        CHECK(uuid::parse(id.str()) == id);
        auto upper = id.str();
        std::ranges::transform(upper, upper.begin(), [](char c) {
            return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
        });
        CHECK(uuid::parse(upper) == id);
    }
    CHECK(uuid::parse("00000000-0000-0000-0000-000000000000") == uuid());
    CHECK(uuid::parse("ffffffff-ffff-ffff-ffff-ffffffffffff")->str() ==
          "ffffffff-ffff-ffff-ffff-ffffffffffff");
}

TEST_CASE("anything else is no id")
{
    std::string const good = "0193f0a2-7c4e-7b31-9d5e-2f6a8c0b1d3e";
    REQUIRE(uuid::parse(good));
    for (std::size_t i = 0; i < good.size(); ++i) {
        CAPTURE(i);
        for (char const c : {'g', ' ', '/', ':', '@', '`', '\0', '\xc3'}) {
            auto bad = good;
            bad[i] = c;
            CHECK_FALSE(uuid::parse(bad));
        }
        auto missing = good;
        missing.erase(i, 1);
        CHECK_FALSE(uuid::parse(missing));
        auto swapped = good;
        swapped[i] = good[i] == '-' ? '0' : '-';
        CHECK_FALSE(uuid::parse(swapped));
    }
    for (auto const& text : {std::string(), good + "0", '{' + good.substr(1), good + "\n",
                             "urn:uuid:" + good, std::string("0193f0a27c4e7b319d5e2f6a8c0b1d3e")}) {
        CAPTURE(text);
        CHECK_FALSE(uuid::parse(text));
    }
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Which differences between Redis and PostgreSQL nothing explains.
#include "service/fast_path/comparison.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <map>
#include <string>

namespace holdfast::fast_path {

namespace {

using namespace std::chrono_literals;

constexpr auto news_max = 4s;

timestamp at(std::chrono::milliseconds since_start)
{
    return timestamp(std::chrono::hours(24) + since_start);
}

facts level(units available, std::int64_t version, timestamp now)
{
    db::fast_path::fact known;
    known.location = "main";
    known.available = available;
    known.version = version;
    known.now = now;
    return {{"main", known}};
}

// What is judged to be drift when Redis has so many units.
units drift(agreement const& earlier, facts const& now, units found)
{
    auto const wrong = differences(now, now, {{"main", found}});
    auto const unexplained = drifted(earlier, now, wrong, news_max);
    return unexplained.empty() ? 0 : unexplained.front().found - unexplained.front().expected;
}

pending_request taken(redis_time since, units quantity)
{
    return {.id = uuid::make_v7(), .since = since, .is_taken = true, .lines = {{"main", quantity}}};
}

} // namespace

TEST_CASE("what changes in Redis while nothing changes in PostgreSQL is drift")
{
    auto const agreed = agree({}, level(5, 7, at(0ms)));
    CHECK(drift(agreed, level(5, 7, at(4000ms)), 8) == 3);
    CHECK(drift(agreed, level(5, 7, at(4000ms)), 0) == -5);
    CHECK(drift(agreed, level(5, 7, at(4000ms)), 5) == 0);
    CHECK(drift(agreed, level(-2, 7, at(4000ms)), 5) == 0);
}

TEST_CASE("what PostgreSQL explains is none")
{
    auto const agreed = agree({}, level(5, 7, at(0ms)));
    CHECK(drift({}, level(5, 7, at(9000ms)), 8) == 0);     // just loaded, or a round has failed
    CHECK(drift(agreed, level(6, 8, at(9000ms)), 5) == 0); // it has changed
    CHECK(drift(agreed, level(6, 7, at(9000ms)), 5) == 0); // a hold came due
    CHECK(drift(agreed, level(5, 9, at(9000ms)), 6) == 0); // came back, and was sold again
}

TEST_CASE("news that comes late is none")
{
    auto const first = agree({}, level(5, 7, at(0ms)));
    // Released: Redis was given the unit when the level was read, and is told of it afterwards.
    auto const released = agree(first, level(6, 8, at(8000ms)));
    CHECK(drift(released, level(6, 8, at(8100ms)), 7) == 0);
    auto later = released;
    for (auto now = 8100ms; now < 11900ms; now += 100ms)
        later = agree(later, level(6, 8, at(now)));
    CHECK(drift(later, level(6, 8, at(11900ms)), 7) == 0);
    CHECK(drift(later, level(6, 8, at(12000ms)), 7) == 1); // too late for any news
    auto const due = agree(later, level(8, 8, at(11900ms)));
    CHECK(drift(due, level(8, 8, at(12000ms)), 9) == 0);
}

TEST_CASE("a number that no level may have is cut, so that what is done with it has room")
{
    auto const agreed = agree({}, level(5, 7, at(0ms)));
    auto const most = std::numeric_limits<units>::max();
    CHECK(drift(agreed, level(5, 7, at(4000ms)), most) == level_max - 5);
}

TEST_CASE("a level is explained by its newest line in the ledger, or by having none")
{
    db::fast_path::fact known;
    CHECK_FALSE(ledger_fault_of(known));
    known.version = known.ledger_version = 3;
    known.on_hand = known.ledger_on_hand = 10;
    known.reserved = known.ledger_reserved = 4;
    CHECK_FALSE(ledger_fault_of(known));
    known.reserved = 6;
    CHECK(ledger_fault_of(known)->found - ledger_fault_of(known)->expected == 2);
    known.on_hand = 9;
    CHECK(ledger_fault_of(known)->found - ledger_fault_of(known)->expected == -1);
    known = {};
    known.version = 1;
    CHECK(ledger_fault_of(known)->cause.find("version 1") != std::string::npos);
}

TEST_CASE("units are given back for what nothing came of, not for what PostgreSQL has")
{
    sight bucket{.now = redis_time(100'000)};
    bucket.pending = {taken(redis_time(69'000), 2), taken(redis_time(69'000), 3),
                      taken(redis_time(71'000), 4)};
    CHECK(given_back({bucket}, {bucket.pending[1].id}) ==
          std::map<std::string, units>{{"main", 2}});
    bucket.pending[0].is_taken = false; // it was only asked about
    CHECK(given_back({bucket}, {bucket.pending[1].id}).empty());
}

TEST_CASE("what is queued is not given up while there is a queue that has it")
{
    sight bucket{.now = redis_time(100'000)};
    bucket.pending = {taken(redis_time(10'000), 2)};
    bucket.pending[0].is_queued = true;
    bucket.queue_length = 1;
    CHECK(given_back({bucket}, {}).empty());
    CHECK(leftovers({bucket}, {}).empty());
    bucket.queue_length = 0; // somebody has deleted the queue
    CHECK(given_back({bucket}, {}) == std::map<std::string, units>{{"main", 2}});
    CHECK(leftovers({bucket}, {}).size() == 1);
}

} // namespace holdfast::fast_path

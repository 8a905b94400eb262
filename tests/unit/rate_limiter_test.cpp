// SPDX-License-Identifier: Apache-2.0
// Rate limits: who may ask when, what is forgotten, what the header fields say. Time is made up.
#include "service/rate_limiter.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

rate_limiter::time_point const start{1000h};

int allowed_of(rate_limiter& limiter, int requests, rate_limiter::time_point now)
{
    int allowed = 0;
    for (int i = 0; i < requests; ++i)
        allowed += limiter.take("till", now).is_allowed ? 1 : 0;
    return allowed;
}

} // namespace

TEST_CASE("a rate may be slower than one request a second")
{
    rate_limiter limiter({.per_second = 1, .burst = 3, .second = 10s});

    CHECK(allowed_of(limiter, 20, start) == 3);
    CHECK(allowed_of(limiter, 20, start + 9s) == 0);
    CHECK(limiter.take("till", start + 9s).retry_after == 1s);
    CHECK(allowed_of(limiter, 20, start + 10s) == 1);
}

TEST_CASE("a rested caller may use the burst at once, then one request each interval")
{
    rate_limiter limiter({.per_second = 10, .burst = 5});

    CHECK(allowed_of(limiter, 20, start) == 5);
    CHECK(allowed_of(limiter, 20, start + 99ms) == 0);
    CHECK(allowed_of(limiter, 20, start + 100ms) == 1);
    CHECK(allowed_of(limiter, 20, start + 400ms) == 3);
    CHECK(allowed_of(limiter, 20, start + 1h) == 5);
}

TEST_CASE("without a burst of its own, a second's worth may be used at once")
{
    rate_limiter limiter({.per_second = 7});

    CHECK(allowed_of(limiter, 20, start) == 7);
    CHECK(allowed_of(limiter, 20, start + 1s) == 7);
}

TEST_CASE("over a long time a caller who never stops gets the rate and the first burst, no more")
{
    auto const seed = std::random_device{}();
    MESSAGE("seed " << seed);
    std::mt19937 random(seed);
    std::uniform_int_distribution<int> pause_us(0, 4000);
    rate_limiter limiter({.per_second = 300, .burst = 40});

    int allowed = 0;
    auto now = start;
    while (now < start + 60s) {
        allowed += limiter.take("till", now).is_allowed ? 1 : 0;
        now += std::chrono::microseconds(pause_us(random));
    }

    CHECK(allowed <= 60 * 300 + 40);
    CHECK(allowed >= 60 * 300 - 40);
}

TEST_CASE("a refused request costs nothing: asking on and on does not keep a caller out")
{
    rate_limiter limiter({.per_second = 1});
    CHECK(allowed_of(limiter, 1, start) == 1);

    CHECK(allowed_of(limiter, 10'000, start + 500ms) == 0);
    CHECK(allowed_of(limiter, 1, start + 1s) == 1);
}

TEST_CASE("one caller's requests are not counted against another")
{
    rate_limiter limiter({.per_second = 1});

    CHECK(limiter.take("till", start).is_allowed);
    CHECK(limiter.take("webshop", start).is_allowed);
    CHECK(limiter.take("", start).is_allowed);
    CHECK(!limiter.take("till", start).is_allowed);
}

TEST_CASE("an answer says what is left and when more comes, in whole seconds")
{
    rate_limiter limiter({.per_second = 2, .burst = 10});

    auto const first = limiter.take("till", start);
    CHECK(first.limit == 10);
    CHECK(first.window == 5s);
    CHECK(first.remaining == 9);
    CHECK(first.reset == 1s);
    CHECK(first.retry_after == 0s);

    CHECK(allowed_of(limiter, 20, start) == 9);
    auto const refused = limiter.take("till", start);
    CHECK(!refused.is_allowed);
    CHECK(refused.remaining == 0);
    CHECK(refused.reset == 5s);
    CHECK(refused.retry_after == 1s);
    CHECK(limiter.take("till", start + refused.retry_after).is_allowed);
}

TEST_CASE("who waits as long as Retry-After says is let in, at any rate")
{
    for (auto const per_second : {1, 3, 7, 60, 999, 1'000'000}) {
        rate_limiter limiter({.per_second = per_second, .burst = 2});
        CHECK(allowed_of(limiter, 2, start) == 2);
        auto const refused = limiter.take("till", start);
        CHECK(!refused.is_allowed);
        CHECK(refused.retry_after >= 1s);
        CHECK(limiter.take("till", start + refused.retry_after).is_allowed);
    }
}

TEST_CASE("an earlier time from another thread neither gives nor takes anything")
{
    rate_limiter limiter({.per_second = 10, .burst = 10});
    CHECK(allowed_of(limiter, 10, start) == 10);

    CHECK(allowed_of(limiter, 1, start - 1s) == 0);
    CHECK(allowed_of(limiter, 1, start + 100ms) == 1);
}

TEST_CASE("without a limit everything is allowed and nothing is remembered")
{
    rate_limiter limiter({});

    CHECK(!limiter.is_on());
    CHECK(allowed_of(limiter, 1000, start) == 1000);
    CHECK(limiter.keys_remembered() == 0);
}

TEST_CASE("a rate below zero is refused")
{
    CHECK_THROWS_AS(rate_limiter({.per_second = -1}), std::invalid_argument);
    CHECK_THROWS_AS(rate_limiter({.per_second = 1, .burst = -1}), std::invalid_argument);
}

TEST_CASE("however many callers come, no more than the bound are remembered")
{
    rate_limiter limiter({.per_second = 1, .burst = 1000}, 100);

    for (int i = 0; i < 10'000; ++i)
        CHECK(limiter.take("customer-" + std::to_string(i), start).is_allowed);

    CHECK(limiter.keys_remembered() == 100);
}

TEST_CASE("callers who rested are forgotten first, and one who did not is still refused")
{
    rate_limiter limiter({.per_second = 1, .burst = 3}, 10);
    CHECK(allowed_of(limiter, 5, start) == 3);
    for (int i = 0; i < 9; ++i)
        CHECK(limiter.take("rested-" + std::to_string(i), start).is_allowed);

    for (int i = 0; i < 9; ++i)
        CHECK(limiter.take("new-" + std::to_string(i), start).is_allowed);

    CHECK(limiter.keys_remembered() == 10);
    CHECK(!limiter.take("till", start).is_allowed);
}

TEST_CASE("callers who are gone make room long before the bound")
{
    rate_limiter limiter({.per_second = 10});
    for (int i = 0; i < 1000; ++i)
        CHECK(limiter.take("old-" + std::to_string(i), start).is_allowed);

    for (int i = 0; i < 1000; ++i)
        CHECK(limiter.take("new-" + std::to_string(i), start + 1h).is_allowed);

    CHECK(limiter.keys_remembered() <= 1001);
}

TEST_CASE("many threads together get the burst exactly")
{
    rate_limiter limiter({.per_second = 1, .burst = 500});
    std::atomic<int> allowed = 0;

    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 1000; ++i) {
                allowed += limiter.take("till", start).is_allowed ? 1 : 0;
                static_cast<void>(limiter.take(std::to_string(t * 1000 + i), start));
            }
        });
    threads.clear();

    CHECK(allowed == 500);
}

TEST_CASE("the header fields are the structured fields of the draft, an item for each limit")
{
    rate_limiter limiter({.per_second = 100});
    rate_limiter slow({.per_second = 1, .burst = 2});
    CHECK(allowed_of(limiter, 49, start) == 49);
    CHECK(allowed_of(slow, 2, start) == 2);

    std::array const key{met_limit{.policy = "key", .seen = limiter.take("till", start)}};
    CHECK(to_ratelimit_policy(key) == R"("key";q=100;w=1)");
    CHECK(to_ratelimit(key) == R"("key";r=50;t=1)");

    std::array const both{key[0],
                          met_limit{.policy = "customer", .seen = slow.take("till", start)}};
    CHECK(to_ratelimit_policy(both) == R"("key";q=100;w=1, "customer";q=2;w=2)");
    CHECK(to_ratelimit(both) == R"("key";r=50;t=1, "customer";r=0;t=1)");
}

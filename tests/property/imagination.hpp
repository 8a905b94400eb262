// SPDX-License-Identifier: Apache-2.0
// What clerks of random days think of: requests made up by chance.
#pragma once

#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace holdfast::test {

inline constexpr units holds_of_customer_max = 6;
inline constexpr std::size_t item_count = 5;

// HOLDFAST_MODEL_STEPS, or as many as a suite has time for.
inline std::size_t steps_wanted()
{
    auto const* wish = std::getenv("HOLDFAST_MODEL_STEPS");
    return wish != nullptr ? std::strtoull(wish, nullptr, 10) : 4000;
}

// Chance that a seed repeats.
class dice {
public:
    explicit dice(std::uint64_t start) : engine_(start) {}

    // 0 … n - 1
    std::size_t pick(std::size_t n)
    {
        return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine_);
    }

    units between(units low, units high)
    {
        return std::uniform_int_distribution<units>(low, high)(engine_);
    }

    bool chance(int percent) { return between(1, 100) <= percent; }

    template <class T>
    T const& of(std::vector<T> const& all)
    {
        return all.at(pick(all.size()));
    }

private:
    std::mt19937_64 engine_;
};

inline std::vector<std::string> some_customers()
{
    return {unique("customer"), unique("customer"), unique("customer"), unique("customer")};
}

// Makes up requests about some items and reservations.
struct imagination {
    dice& luck;
    std::vector<level_key> levels;
    std::vector<uuid> ids;
    std::vector<std::string> customers;

    level_key some_level()
    {
        if (luck.chance(1))
            return {new_sku(), location()};
        return luck.of(levels);
    }

    // Mostly one of the last, since those are the ones something can still happen to.
    uuid some_id()
    {
        if (ids.empty() || luck.chance(2))
            return uuid::make_v7();
        auto const recent = std::min<std::size_t>(ids.size(), 25);
        return luck.chance(85) ? ids[ids.size() - 1 - luck.pick(recent)] : luck.of(ids);
    }

    std::vector<line_request> some_lines()
    {
        std::vector<line_request> lines;
        for (auto n = luck.between(1, 3); n > 0; --n)
            lines.push_back(
                {some_level(), luck.chance(5) ? luck.between(10, 100) : luck.between(1, 5)});
        return merged(std::move(lines));
    }

    reserve_command some_reserve()
    {
        reserve_command c;
        c.key = new_key();
        c.actor = "clerk";
        c.lines = some_lines();
        if (luck.chance(75))
            c.customer = luck.of(customers);
        c.confirm_at_once = luck.chance(15);
        if (luck.chance(15))
            c.supersedes = some_id();
        return c;
    }

    confirm_command some_confirm()
    {
        confirm_command c{.id = some_id(), .actor = "clerk", .lines = {}};
        if (luck.chance(40))
            c.if_expired = if_expired::reserve_again;
        return c;
    }

    adjust_command some_adjust()
    {
        auto c = correction_of(some_level());
        if (luck.chance(60)) {
            c.delta = luck.between(1, 12) * (luck.chance(60) ? 1 : -1);
            c.reason = *c.delta > 0 ? "received" : "damaged";
        } else {
            c.set_to = luck.between(0, 15);
            c.reason = luck.chance(50) ? "count" : "correction";
            if (luck.chance(50))
                c.expect_on_hand = luck.between(0, 8);
        }
        c.allow_short = luck.chance(20);
        return c;
    }
};

} // namespace holdfast::test

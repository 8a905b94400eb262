// SPDX-License-Identifier: Apache-2.0
#include "bench/plan.hpp"

#include "service/config.hpp"
#include "strategies/registry.hpp"

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

// Four minutes less what the last load that still begins may take, on a slow machine.
constexpr auto quick_budget = 190s;

constexpr std::string_view preferred_subject = "batched";

plan plan_with(load_timing const& timing)
{
    strategy_registry const known;
    return {.timing = timing,
            .strategies = known.names(),
            .subject =
                known.has(preferred_subject) ? std::string(preferred_subject) : config{}.strategy,
            .budget = std::nullopt,
            .soak = std::nullopt};
}

} // namespace

plan full_plan()
{
    auto what = plan_with({.warm_up = 2000ms, .measured = 12'000ms});
    what.redis_connections = pool_sizes();
    return what;
}

plan quick_plan()
{
    auto what = plan_with({.warm_up = 700ms, .measured = 1800ms});
    what.budget = quick_budget;
    return what;
}

std::vector<int> pool_sizes()
{
    return {1, 2, 4, 8, 16, 32, 64};
}

} // namespace holdfast::bench

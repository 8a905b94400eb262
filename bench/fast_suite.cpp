// SPDX-License-Identifier: Apache-2.0
#include "bench/fast_suite.hpp"

#include "bench/number.hpp"
#include "bench/trial.hpp"
#include "bench/trial_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <utility>

namespace holdfast::bench {

fast_suite::fast_suite(recorder& by, plan const& what, results& into)
    : recorder_(by), plan_(what), results_(into)
{
    results_.machine.facts.emplace_back("Redis", version_of(redis_) + ", nothing kept on disk");
}

std::vector<std::size_t> fast_suite::more_connections() const
{
    std::vector<std::size_t> more;
    std::ranges::copy_if(plan_.other_connections, std::back_inserter(more),
                         [&](std::size_t number) { return number > plan_.connections; });
    return more;
}

void fast_suite::refuse()
{
    auto how =
        recorder_.subject_with({{.items = {scarce_item, 1}, .connections = plan_.connections}});
    how.refused_as = 409;
    how.front = {.server = &redis_};
    auto const outcome = recorder_.play("fast.refused", how);
    require_sold_out(outcome);
    if (outcome.tallies.front().statuses[409] > 0 && outcome.verdicts.value().refused <= 0)
        throw std::runtime_error("Redis refused nobody: what was measured is not the fast path");
    recorder_.note(
        {"A SKU that is sold out, behind Redis", plan_.subject + ", refused 409", "fast.refused"},
        figures_of(outcome, &tally::refused));
}

void fast_suite::sell(fast_mode mode)
{
    sell_to(plan_.connections, mode, "");
    for (auto const number : more_connections())
        sell_to(number, mode, std::to_string(number));
}

void fast_suite::sell_to(std::size_t clients, fast_mode mode, std::string const& suffix)
{
    bool const is_async = mode == fast_mode::async;
    std::string const prefix = is_async ? "fast.async" : "fast.durable";
    auto how = recorder_.subject_with({{.items = hot_item, .connections = clients}});
    how.front = {.server = &redis_, .mode = mode};
    if (is_async)
        how.accepted_as = {201, 202};
    auto const outcome = recorder_.play(fmt::format("{} {}", prefix, clients), how);
    recorder_.note({.section = "Hot SKU behind Redis",
                    .label = fmt::format("{}, {}", is_async ? "asynchronous" : "durable",
                                         counted(clients, "connection")),
                    .prefix = prefix,
                    .suffix = suffix,
                    .clients = clients},
                   figures_of(outcome, &tally::accepted));
}

void fast_suite::try_pool_sizes()
{
    for (auto const connections : plan_.redis_connections)
        for (auto const clients : plan_.pool_clients)
            try_pool(connections, clients);
}

void fast_suite::try_pool(int connections, std::size_t clients)
{
    auto how = recorder_.subject_with({{.items = hot_item, .connections = clients}});
    how.timing = plan_.pool_timing;
    how.front = {.server = &redis_, .connections = connections};
    auto const prefix = fmt::format("fast.pool.{}.{}", connections, clients);
    auto const outcome = recorder_.play(prefix, how);
    recorder_.note(
        {.section = "Connections to Redis",
         .label = fmt::format("{} to Redis, {}",
                              counted(static_cast<std::size_t>(connections), "connection"),
                              counted(clients, "client")),
         .prefix = prefix,
         .clients = clients,
         .redis_connections = connections},
        figures_of(outcome, &tally::accepted));
}

void fast_suite::add_ratios()
{
    auto const refused = results_.at("fast.refused.rps");
    results_.add_ratio({"fast.refused.noop", "refusals by Redis / GET /livez", refused,
                        results_.at("http.noop.rps")});
    results_.add_ratio({"fast.refused.soldout", "refusals by Redis / refusals by PostgreSQL",
                        refused, results_.at("hot.soldout.rps")});
    add_ratios_of("", plan_.connections);
    for (auto const number : more_connections())
        add_ratios_of(fmt::format(".{}", number), number);
}

void fast_suite::add_ratios_of(std::string const& suffix, std::size_t clients)
{
    struct part {
        std::string_view name;
        std::string_view says;
    };
    static constexpr part parts[] = {{"durable", "sold behind Redis"},
                                     {"async", "answered asynchronously behind Redis"},
                                     {"async.committed", "committed asynchronously behind Redis"}};
    auto const without = results_.at(fmt::format("hot.{}.rps{}", plan_.subject, suffix));
    for (auto const& [name, says] : parts)
        results_.add_ratio(
            {fmt::format("fast.{}.hot{}", name, suffix),
             fmt::format("{} / sold without, {}", says, counted(clients, "connection")),
             results_.at(fmt::format("fast.{}.rps{}", name, suffix)), without});
}

} // namespace holdfast::bench

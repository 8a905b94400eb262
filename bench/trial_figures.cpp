// SPDX-License-Identifier: Apache-2.0
#include "bench/trial_figures.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>

namespace holdfast::bench {

namespace {

constexpr double kibibyte = 1024;
constexpr double mebibyte = 1024 * 1024;

void add(std::vector<figure>& to, latency_summary const& latency)
{
    to.push_back({"p50_ms", latency.p50});
    to.push_back({"p90_ms", latency.p90});
    to.push_back({"p99_ms", latency.p99});
    to.push_back({"p999_ms", latency.p999});
    to.push_back({"max_ms", latency.max});
}

void add(std::vector<figure>& to, processor_shares const& shares)
{
    to.push_back({"cpu_service_percent", shares.service});
    to.push_back({"cpu_postgres_percent", shares.postgres});
    if (shares.redis)
        to.push_back({"cpu_redis_percent", *shares.redis});
    to.push_back({"cpu_generator_percent", shares.generator});
    to.push_back({"cpu_others_percent", shares.others});
    to.push_back({"cpu_idle_percent", shares.idle});
}

// Only said of a load that has some.
void add_unavailable(std::vector<figure>& to, tally const& counted)
{
    auto const& latencies = counted.unavailable.latencies_us;
    auto const all = latencies.size() + counted.accepted.latencies_us.size() +
                     counted.refused.latencies_us.size();
    if (latencies.empty())
        return;
    auto const summary = summary_of(latencies);
    to.push_back({"unavailable_percent",
                  100.0 * static_cast<double>(latencies.size()) / static_cast<double>(all)});
    to.push_back({"unavailable_p50_ms", summary.p50});
    to.push_back({"unavailable_p99_ms", summary.p99});
}

void add(std::vector<figure>& to, database_figures const& database, std::int64_t reservations)
{
    if (reservations == 0)
        return;
    auto const count = static_cast<double>(reservations);
    to.push_back(
        {"wal_flushes_per_reservation", static_cast<double>(database.wal.flushes) / count});
    to.push_back({"wal_bytes_per_reservation", static_cast<double>(database.wal.bytes) / count});
    to.push_back({"rows_read_per_reservation", static_cast<double>(database.rows_read) / count});
    auto const& table = database.level_table;
    to.push_back({"level_updates", static_cast<double>(table.updates)});
    if (table.updates > 0)
        to.push_back({"hot_update_percent", 100.0 * static_cast<double>(table.hot_updates) /
                                                static_cast<double>(table.updates)});
    to.push_back({"level_table_kib", static_cast<double>(table.bytes) / kibibyte});
}

// How many transactions had so many commands, as the service counted them.
void add(std::vector<figure>& to, histogram const& batches)
{
    if (batches.count <= 0)
        return;
    to.push_back({"batches", batches.count});
    to.push_back({"batch_mean", batches.mean()});
    for (auto const& [upper, count] : batches.buckets)
        to.push_back(
            {std::isfinite(upper) ? fmt::format("batches_le_{:g}", upper) : "batches_larger",
             count});
}

// Of all requests of the load, in percent.
void add(std::vector<figure>& to, verdict_counts const& said, tally const& counted)
{
    auto const all = std::accumulate(counted.statuses.begin(), counted.statuses.end(), 0.0);
    if (all <= 0)
        return;
    to.push_back({"redis_refused_percent", 100 * said.refused / all});
    to.push_back({"redis_taken_percent", 100 * said.taken / all});
    to.push_back({"redis_asked_percent", 100 * said.asked / all});
    to.push_back({"redis_lost_percent", 100 * said.lost / all});
}

// An answer is cheap while the work behind it piles up, so the work is counted to its end.
void add_queued(std::vector<figure>& to, trial_outcome const& outcome, double drain_seconds)
{
    auto const& statuses = outcome.tallies.front().statuses;
    auto const reservations = static_cast<double>(outcome.reservations);
    to.push_back({"drain_seconds", drain_seconds});
    to.push_back({"committed.rps", reservations / (outcome.seconds + drain_seconds)});
    if (reservations > 0)
        to.push_back({"pending_percent", 100 * static_cast<double>(statuses[202]) / reservations});
}

} // namespace

std::vector<figure> figures_of(trial_outcome const& outcome, answers tally::*kind)
{
    auto const& counted = outcome.tallies.front();
    std::vector<figure> figures{{"rps", counted.per_second(counted.*kind)}};
    add(figures, summary_of((counted.*kind).latencies_us));
    add(figures, outcome.shares);
    add_unavailable(figures, counted);
    if (kind == &tally::accepted)
        add(figures, outcome.database, outcome.reservations);
    else if (outcome.seconds > 0)
        // Too many rather than too few: those of the service's start and stop are among them.
        figures.push_back({"transactions_per_second",
                           static_cast<double>(outcome.database.transactions) / outcome.seconds});
    if (outcome.verdicts)
        add(figures, *outcome.verdicts, counted);
    if (outcome.drain_seconds)
        add_queued(figures, outcome, *outcome.drain_seconds);
    add(figures, outcome.batches);
    figures.push_back({"resident_mib", static_cast<double>(outcome.resident.back()) / mebibyte});
    return figures;
}

std::vector<figure> figures_of(pgbench_outcome const& outcome)
{
    std::vector<figure> figures{{"tps", outcome.per_second}};
    add(figures, outcome.latency);
    add(figures, outcome.shares);
    add(figures, outcome.database, outcome.transactions);
    return figures;
}

} // namespace holdfast::bench

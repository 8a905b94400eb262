// SPDX-License-Identifier: Apache-2.0
// The yardstick: PostgreSQL's own pgbench doing the same writes, one transaction a request, on the
// same server and schema (bench/pgbench/reserve.sql).
#pragma once

#include "bench/generator.hpp"
#include "bench/latency.hpp"
#include "bench/postgres_figures.hpp"
#include "bench/processor_time.hpp"
#include "bench/stage.hpp"

#include <cstdint>

namespace holdfast::bench {

struct pgbench_plan {
    std::uint32_t clients = 1;
    std::uint32_t items = 1; // how many different SKUs
    load_timing timing;
};

struct pgbench_outcome {
    double per_second = 0;         // after the warm-up
    latency_summary latency;       // of the same transactions
    std::int64_t transactions = 0; // of the whole run, as the following
    processor_shares shares;       // pgbench is the generator
    database_figures database;
};

// In a database of its own, which is proven at the end. Throws broken_promise,
// std::runtime_error when pgbench fails, and interrupted.
[[nodiscard]] pgbench_outcome run_pgbench(stage&, pgbench_plan const&);

} // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
// How much is measured: everything for the record, everything shortly, or a little to see that it
// works.
#pragma once

#include "bench/generator.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::bench {

struct plan {
    load_timing timing;
    std::vector<std::uint32_t> pgbench_clients{1, 8, 32, 64};
    std::vector<std::string> strategies; // each at `connections`

    // The strategy that is looked at more closely: over other numbers of connections, under
    // overload, sold out, beside a storm.
    std::string subject;
    std::size_t connections = 64;
    std::vector<std::size_t> other_connections{1, 16, 256}; // those above also behind Redis

    // Of the open loops. Requests that are not answered yet hold a connection each, so an overload
    // that is to fill the service's own queues needs many more than these.
    std::size_t open_connections = 256;
    std::size_t overload_connections = 6000;

    // Connections of the service to Redis, each number tried with each number of clients. None: not
    // tried.
    std::vector<int> redis_connections;
    std::vector<std::size_t> pool_clients{10, 50, 100};
    load_timing pool_timing{.warm_up = std::chrono::milliseconds(500),
                            .measured = std::chrono::milliseconds(2500)};

    // When this is used up, what no promise speaks of is left out.
    std::optional<std::chrono::seconds> budget;

    // Absent: the suite. Else one load of steady rate, so long, to look at memory.
    std::optional<std::chrono::seconds> soak;
};

// The strategies this build has; the subject is `batched`, or the default when there is none.
[[nodiscard]] plan full_plan();
[[nodiscard]] plan quick_plan(); // without numbers of connections to Redis

// All numbers of connections to Redis that there is reason to try.
[[nodiscard]] std::vector<int> pool_sizes();

} // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/latency.hpp"

#include "service/cli/drill_report.hpp"

#include <algorithm>

namespace holdfast::bench {

latency_summary summary_of(std::vector<std::uint32_t> latencies_us)
{
    std::ranges::sort(latencies_us);
    auto const ms = [&](unsigned per_mille) {
        return cli::percentile(latencies_us, per_mille) / 1000.0;
    };
    return {.p50 = ms(500), .p90 = ms(900), .p99 = ms(990), .p999 = ms(999), .max = ms(1000)};
}

} // namespace holdfast::bench

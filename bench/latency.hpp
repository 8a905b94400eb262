// SPDX-License-Identifier: Apache-2.0
// How long requests took, summed up. Every single one is kept until then: no buckets, no estimates.
#pragma once

#include <cstdint>
#include <vector>

namespace holdfast::bench {

// Milliseconds; 0 when nothing was measured.
struct latency_summary {
    double p50 = 0;
    double p90 = 0;
    double p99 = 0;
    double p999 = 0;
    double max = 0;
};

[[nodiscard]] latency_summary summary_of(std::vector<std::uint32_t> latencies_us);

} // namespace holdfast::bench

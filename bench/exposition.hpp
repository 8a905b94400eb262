// SPDX-License-Identifier: Apache-2.0
// Reads histograms and counters out of what the service exposes at /metrics.
#pragma once

#include <string_view>
#include <vector>

namespace holdfast::bench {

struct histogram {
    struct bucket {
        double upper = 0; // infinity for the last
        double count = 0; // of values in this bucket alone
    };

    std::vector<bucket> buckets; // none when the service has no such metric
    double sum = 0;
    double count = 0;

    [[nodiscard]] double mean() const { return count > 0 ? sum / count : 0; }
};

// The histogram of that name, added up over its labels.
[[nodiscard]] histogram histogram_in(std::string_view exposition, std::string_view name);

// The value of one series, named with its labels as they are written there; 0 when it is absent.
[[nodiscard]] double counter_in(std::string_view exposition, std::string_view series);

// What was added to `before` since. Both are of the same metric.
[[nodiscard]] histogram added(histogram const& before, histogram after);

} // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/exposition.hpp"

#include <cstdlib>
#include <limits>
#include <map>
#include <string>

namespace holdfast::bench {

namespace {

// Prometheus writes +Inf; strtod reads that as well.
double number_in(std::string_view text)
{
    return std::strtod(std::string(text).c_str(), nullptr);
}

double upper_in(std::string_view labels)
{
    constexpr std::string_view mark = "le=\"";
    auto const begin = labels.find(mark);
    if (begin == std::string_view::npos)
        return std::numeric_limits<double>::infinity();
    auto const from = begin + mark.size();
    return number_in(labels.substr(from, labels.find('"', from) - from));
}

} // namespace

histogram histogram_in(std::string_view exposition, std::string_view name)
{
    histogram found;
    std::map<double, double> up_to;
    while (!exposition.empty()) {
        auto const line = exposition.substr(0, exposition.find('\n'));
        exposition.remove_prefix(std::min(line.size() + 1, exposition.size()));
        if (!line.starts_with(name))
            continue;
        auto const rest = line.substr(name.size());
        auto const value = number_in(rest.substr(rest.rfind(' ') + 1));
        if (rest.starts_with("_bucket{"))
            up_to[upper_in(rest)] += value;
        else if (rest.starts_with("_sum"))
            found.sum += value;
        else if (rest.starts_with("_count"))
            found.count += value;
    }
    double below = 0;
    for (auto const& [upper, count] : up_to) {
        found.buckets.push_back({upper, count - below});
        below = count;
    }
    return found;
}

histogram added(histogram const& before, histogram after)
{
    after.sum -= before.sum;
    after.count -= before.count;
    for (auto& each : after.buckets)
        for (auto const& earlier : before.buckets)
            if (earlier.upper == each.upper)
                each.count -= earlier.count;
    return after;
}

} // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/exposition.hpp"

#include <algorithm>
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

// The next line, which is taken away from the text.
std::string_view take_line(std::string_view& text)
{
    auto const line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    return line;
}

} // namespace

histogram histogram_in(std::string_view exposition, std::string_view name)
{
    histogram found;
    std::map<double, double> up_to;
    while (!exposition.empty()) {
        auto const line = take_line(exposition);
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

double counter_in(std::string_view exposition, std::string_view series)
{
    while (!exposition.empty()) {
        auto const line = take_line(exposition);
        if (line.starts_with(series) && line.substr(series.size()).starts_with(' '))
            return number_in(line.substr(series.size() + 1));
    }
    return 0;
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

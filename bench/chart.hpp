// SPDX-License-Identifier: Apache-2.0
// A line chart as an SVG that reads well on light and dark pages and needs nothing but itself.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

struct chart_line {
    std::string label;
    std::vector<std::pair<double, double>> points; // x as the ticks have it; y in the chart's unit
};

enum class scale { linear, logarithmic };

struct chart {
    std::string title;
    std::string x_label;
    std::string y_label;
    std::vector<std::pair<double, std::string>> x_ticks; // in order
    scale y_scale = scale::linear;
    std::vector<chart_line> lines; // a line with one point is shown as a mark
};

[[nodiscard]] std::string to_svg(chart const&);

} // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#include "bench/chart.hpp"

#include "bench/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace holdfast::bench {

namespace {

constexpr double width = 860;
constexpr double height = 420;
constexpr double left = 76;
constexpr double right = 236; // room for the legend
constexpr double top = 52;
constexpr double bottom = 58;
constexpr double legend_step = 22;

// Told apart by most eyes on white as on black.
constexpr std::array<std::string_view, 8> colours{"#3f8fd2", "#e08a2e", "#2fa57c", "#c065b0",
                                                  "#d2564d", "#8b8f2a", "#7a7fd6", "#8a8f98"};

// One grey for both kinds of pages: the scheme a browser reports is not always that of the page.
constexpr std::string_view style = R"css(
text { font: 13px system-ui, sans-serif; fill: #747e89; }
.title { font-size: 16px; font-weight: 600; }
.grid { stroke: #8a8f98; stroke-opacity: .28; stroke-width: 1; }
.axis { stroke: #8a8f98; stroke-width: 1; }
.line { fill: none; stroke-width: 2.2; stroke-linejoin: round; }
)css";

std::string escaped(std::string_view text)
{
    std::string safe;
    for (char const c : text) {
        switch (c) {
        case '&': safe += "&amp;"; break;
        case '<': safe += "&lt;"; break;
        case '>': safe += "&gt;"; break;
        default: safe += c;
        }
    }
    return safe;
}

// "12 000", "0.25"
std::string to_label(double value)
{
    if (value < 1000)
        return fmt::format("{:g}", value);
    return grouped(value);
}

// 1, 2 or 5 times a power of ten, at least as large.
double round_up(double value)
{
    auto const power = std::pow(10, std::floor(std::log10(value)));
    for (double const step : {1.0, 2.0, 5.0})
        if (step * power >= value * (1 - 1e-9))
            return step * power;
    return 10 * power;
}

class drawing {
public:
    explicit drawing(chart const& of) : chart_(of)
    {
        settle_x();
        settle_y();
    }

    std::string svg()
    {
        put(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {} {}" role="img">)", width,
            height);
        out_ +=
            fmt::format("\n<title>{}</title>\n<style>{}</style>\n", escaped(chart_.title), style);
        put(R"(<text class="title" x="{}" y="26">{}</text>)", left, escaped(chart_.title));
        draw_axes();
        for (std::size_t i = 0; i < chart_.lines.size(); ++i)
            draw_line(i);
        draw_legend();
        return std::move(out_) + "</svg>\n";
    }

private:
    template <class... Values>
    void put(fmt::format_string<Values...> format, Values&&... values)
    {
        fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
        out_ += '\n';
    }

    void settle_x()
    {
        x_min_ = chart_.x_ticks.empty() ? 0 : chart_.x_ticks.front().first;
        x_max_ = chart_.x_ticks.empty() ? 1 : chart_.x_ticks.back().first;
    }

    void settle_y()
    {
        double smallest = 0;
        double largest = 0;
        for (auto const& line : chart_.lines)
            for (auto const& [x, y] : line.points) {
                largest = std::max(largest, y);
                if (y > 0 && (smallest == 0 || y < smallest))
                    smallest = y;
            }
        if (largest <= 0)
            smallest = largest = 1;
        if (chart_.y_scale == scale::linear) {
            auto const step = round_up(largest / 6);
            for (double at = 0; at < largest + step * 0.999; at += step)
                y_ticks_.push_back(at);
        } else {
            for (auto power = std::pow(10, std::floor(std::log10(smallest))); power < largest * 10;
                 power *= 10)
                for (double const step : {1.0, 2.0, 5.0})
                    y_ticks_.push_back(step * power);
            while (y_ticks_.size() > 2 && y_ticks_[1] <= smallest)
                y_ticks_.erase(y_ticks_.begin());
            while (y_ticks_.size() > 2 && y_ticks_[y_ticks_.size() - 2] >= largest)
                y_ticks_.pop_back();
        }
    }

    [[nodiscard]] double scaled(double y) const
    {
        return chart_.y_scale == scale::linear ? y : std::log10(std::max(y, y_ticks_.front()));
    }

    [[nodiscard]] double x_at(double x) const
    {
        auto const share = x_max_ > x_min_ ? (x - x_min_) / (x_max_ - x_min_) : 0.5;
        return left + 16 + share * (width - left - right - 32);
    }

    [[nodiscard]] double y_at(double y) const
    {
        auto const low = scaled(y_ticks_.front());
        auto const high = scaled(y_ticks_.back());
        return height - bottom - (scaled(y) - low) / (high - low) * (height - top - bottom);
    }

    void draw_axes()
    {
        for (double const tick : y_ticks_) {
            put(R"(<line class="grid" x1="{}" y1="{:.1f}" x2="{}" y2="{:.1f}"/>)", left, y_at(tick),
                width - right, y_at(tick));
            put(R"(<text x="{}" y="{:.1f}" text-anchor="end">{}</text>)", left - 10,
                y_at(tick) + 4.5, to_label(tick));
        }
        put(R"(<line class="axis" x1="{}" y1="{}" x2="{}" y2="{}"/>)", left, height - bottom,
            width - right, height - bottom);
        for (auto const& [x, label] : chart_.x_ticks)
            put(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>)", x_at(x),
                height - bottom + 20, escaped(label));
        put(R"(<text x="{}" y="{}" text-anchor="middle">{}</text>)",
            left + (width - left - right) / 2, height - 14, escaped(chart_.x_label));
        put(R"x(<text transform="translate(18 {}) rotate(-90)" text-anchor="middle">{}</text>)x",
            top + (height - top - bottom) / 2, escaped(chart_.y_label));
    }

    void draw_line(std::size_t number)
    {
        auto const& line = chart_.lines[number];
        auto const colour = colours[number % colours.size()];
        std::string path;
        for (auto const& [x, y] : line.points)
            path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : " L", x_at(x), y_at(y));
        if (line.points.size() > 1)
            put(R"(<path class="line" stroke="{}" d="{}"/>)", colour, path);
        for (auto const& [x, y] : line.points) {
            put(R"(<circle cx="{:.1f}" cy="{:.1f}" r="3.6" fill="{}">)", x_at(x), y_at(y), colour);
            put("<title>{}: {}</title></circle>", escaped(line.label),
                to_label(std::round(y * 100) / 100));
        }
    }

    void draw_legend()
    {
        auto y = top + 8;
        for (std::size_t i = 0; i < chart_.lines.size(); ++i, y += legend_step) {
            put(R"(<circle cx="{}" cy="{:.1f}" r="5" fill="{}"/>)", width - right + 24, y - 4.5,
                colours[i % colours.size()]);
            put(R"(<text x="{}" y="{:.1f}">{}</text>)", width - right + 36, y,
                escaped(chart_.lines[i].label));
        }
    }

    chart const& chart_;
    std::string out_;
    double x_min_ = 0;
    double x_max_ = 1;
    std::vector<double> y_ticks_;
};

} // namespace

std::string to_svg(chart const& of)
{
    return drawing(of).svg();
}

} // namespace holdfast::bench

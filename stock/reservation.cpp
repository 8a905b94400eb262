// SPDX-License-Identifier: Apache-2.0
#include "stock/reservation.hpp"

#include <algorithm>
#include <array>

namespace holdfast {

namespace {

constexpr std::array<std::string_view, 4> state_names{"held", "confirmed", "released", "expired"};

} // namespace

std::string_view to_string(reservation_state state) noexcept
{
    return state_names[static_cast<std::size_t>(state)];
}

std::optional<reservation_state> parse_reservation_state(std::string_view text) noexcept
{
    auto const found = std::ranges::find(state_names, text);
    if (found == state_names.end())
        return std::nullopt;
    return static_cast<reservation_state>(found - state_names.begin());
}

std::vector<line_request> merged(std::vector<line_request> lines)
{
    std::ranges::sort(lines, {}, &line_request::at);
    std::vector<line_request> sums;
    for (auto& line : lines) {
        if (!sums.empty() && sums.back().at == line.at)
            sums.back().quantity += line.quantity;
        else
            sums.push_back(std::move(line));
    }
    return sums;
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "stock/event.hpp"

#include <algorithm>
#include <cstdlib>

namespace holdfast {

std::optional<event_type> parse_event_type(std::string_view name) noexcept
{
    auto const found = std::ranges::find(event_type_names, name);
    if (found == event_type_names.end())
        return std::nullopt;
    return static_cast<event_type>(found - event_type_names.begin());
}

std::optional<std::vector<event_type>> parse_event_types(std::string_view names)
{
    std::vector<event_type> types;
    while (!names.empty()) {
        auto const end = std::min(names.find(','), names.size());
        auto const type = parse_event_type(names.substr(0, end));
        if (!type)
            return std::nullopt;
        types.push_back(*type);
        names.remove_prefix(std::min(end + 1, names.size()));
    }
    return types;
}

event_type event_type_of(movement_kind kind) noexcept
{
    switch (kind) {
    case movement_kind::reserved: return event_type::held;
    case movement_kind::confirmed: return event_type::confirmed;
    case movement_kind::released: return event_type::released;
    case movement_kind::expired: return event_type::expired;
    case movement_kind::returned: return event_type::returned;
    case movement_kind::received:
    case movement_kind::adjusted:
    case movement_kind::counted: break;
    }
    return event_type::adjusted;
}

units quantity_of(movement const& m) noexcept
{
    switch (m.kind) {
    case movement_kind::received:
    case movement_kind::adjusted:
    case movement_kind::counted: return m.on_hand_delta;
    case movement_kind::confirmed:
    case movement_kind::returned: return std::abs(m.on_hand_delta);
    case movement_kind::reserved:
    case movement_kind::released:
    case movement_kind::expired: break;
    }
    return std::abs(m.reserved_delta);
}

std::vector<event_type> edges_of(movement const& m, std::optional<units> low_stock_at)
{
    auto const after = m.after.available();
    auto const before = after - (m.on_hand_delta - m.reserved_delta);
    std::vector<event_type> edges;
    if (low_stock_at && before > *low_stock_at && after <= *low_stock_at)
        edges.push_back(event_type::low);
    if (before > 0 && after <= 0)
        edges.push_back(event_type::sold_out);
    if (before <= 0 && after > 0 && m.after.version > 1)
        edges.push_back(event_type::back_in_stock);
    return edges;
}

} // namespace holdfast

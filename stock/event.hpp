// SPDX-License-Identifier: Apache-2.0
// What others learn of a change: one event for each line of the ledger, and the edges that a level
// crossed in it. Besides, one for a number that no change explains.
#pragma once

#include "stock/clock.hpp"
#include "stock/movement.hpp"
#include "stock/quantity.hpp"
#include "stock/stock_level.hpp"
#include "stock/uuid.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

enum class event_type {
    held,
    confirmed,
    released,
    expired,
    returned,
    adjusted,
    low,
    sold_out,
    back_in_stock,
    drift,
};

inline constexpr std::array<std::string_view, 10> event_type_names{
    "reservation.held",    "reservation.confirmed", "reservation.released",
    "reservation.expired", "reservation.returned",  "stock.adjusted",
    "stock.low",           "stock.sold_out",        "stock.back_in_stock",
    "stock.drift",
};

[[nodiscard]] constexpr std::string_view to_string(event_type type) noexcept
{
    return event_type_names[static_cast<std::size_t>(type)];
}

[[nodiscard]] std::optional<event_type> parse_event_type(std::string_view) noexcept;

// Names parted by commas. Nothing when one of them is none.
[[nodiscard]] std::optional<std::vector<event_type>> parse_event_types(std::string_view);

struct event {
    std::string id; // the same wherever and however often the event is told
    event_type type = event_type::adjusted;
    timestamp occurred_at;
    level_key at;
    stock_level after; // absolute, so that whoever is told late or twice can drop it by its version
    // Of an adjustment, what it changed on hand; of a drift, what was found too much; of edges,
    // none.
    std::optional<units> quantity = {};
    std::optional<uuid> reservation_id = {};
    std::optional<std::string> reference = {};
    std::optional<std::string> customer = {};
};

// The event that every movement of this kind is.
[[nodiscard]] event_type event_type_of(movement_kind) noexcept;

// Units of a reservation, or what an adjustment changed on hand.
[[nodiscard]] units quantity_of(movement const&) noexcept;

// The edges a level crossed in this movement, in the order of the enumeration. `low_stock_at` is
// the item's threshold, if it has one. The first movement of a level brings it into being and
// crosses no edge upwards.
[[nodiscard]] std::vector<event_type> edges_of(movement const&, std::optional<units> low_stock_at);

} // namespace holdfast

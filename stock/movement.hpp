// SPDX-License-Identifier: Apache-2.0
// One line of the ledger: what changed at a level, why, by whom, and the level right after it.
#pragma once

#include "stock/clock.hpp"
#include "stock/stock_level.hpp"
#include "stock/uuid.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

enum class movement_kind {
    received,
    adjusted,
    counted,
    reserved,
    confirmed,
    released,
    expired,
    returned,
};

inline constexpr std::array<std::string_view, 8> movement_kind_names{
    "received", "adjusted", "counted", "reserved", "confirmed", "released", "expired", "returned"};

[[nodiscard]] constexpr std::string_view to_string(movement_kind kind) noexcept
{
    return movement_kind_names[static_cast<std::size_t>(kind)];
}

// The kind the database names so. Throws std::logic_error for a name that is none.
[[nodiscard]] movement_kind movement_kind_of(std::string_view name);

// Who does something and what they say of it, as the ledger keeps it.
struct attribution {
    std::string actor; // the API key's name, or the worker's
    std::optional<std::string> reason = {};
    std::optional<std::string> note = {};
    std::optional<std::string> reference = {};
};

struct movement {
    level_key at;
    movement_kind kind = movement_kind::adjusted;
    units on_hand_delta = 0;
    units reserved_delta = 0;
    stock_level after; // with after.version the movement's own place in the sequence of its level
    std::optional<uuid> reservation_id = {};
    attribution by = {};
};

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// How many units of a SKU are at a location, and how many of those are promised.
#pragma once

#include "stock/quantity.hpp"
#include "stock/sku.hpp"

#include <algorithm>
#include <cstdint>

namespace holdfast {

struct stock_level {
    units on_hand = 0;        // physically there
    units reserved = 0;       // of those, promised
    std::int64_t version = 0; // grows by one per movement, without gaps

    // What may still be promised. Below zero only while a count left fewer units than were
    // promised.
    [[nodiscard]] units available() const noexcept { return on_hand - reserved; }

    // Units promised beyond what is there, after a count or an adjustment that said so.
    [[nodiscard]] units short_by() const noexcept { return std::max<units>(0, reserved - on_hand); }

    bool operator==(stock_level const&) const = default;
};

} // namespace holdfast

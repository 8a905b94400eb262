// SPDX-License-Identifier: Apache-2.0
// Appends to the ledger and the outbox; reads the ledger.
#pragma once

#include "db/transaction.hpp"
#include "stock/movement.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::db::movements {

// A movement as it stands in the ledger.
struct entry {
    std::int64_t id = 0;
    holdfast::movement movement;
    timestamp at;
};

// Writes movements and their events, in the order given: per level by rising version. The levels
// must be locked by this transaction.
void append(transaction&, std::span<movement const>);

// The movement that gave the level this version. Precondition: there is one.
[[nodiscard]] entry of_version(transaction&, level_key const&, std::int64_t version);

// The same for many levels, in their order.
[[nodiscard]] std::vector<entry> of_versions(transaction&, std::span<level_key const>,
                                             std::vector<std::int64_t> const& versions);

// Newest first, those with an id below `before`.
[[nodiscard]] std::vector<entry> newest(transaction&, sku const&,
                                        std::optional<std::int64_t> before, std::size_t limit);

[[nodiscard]] std::optional<entry> by_id(transaction&, sku const&, std::int64_t id);

// Movements of one level that have kind and reason in common, and what they did to on_hand.
struct sum {
    holdfast::location location;
    movement_kind kind = movement_kind::adjusted;
    std::optional<std::string> reason;
    std::int64_t movements = 0;
    units on_hand_delta = 0;
};

// The level as an early movement left it.
struct earlier_level {
    holdfast::location location;
    std::int64_t version = 0;
    units on_hand = 0;
};

struct sums {
    std::vector<sum> all;                       // by location
    std::vector<earlier_level> brought_forward; // of levels that have moved more often than that
};

// The last `per_level_max` movements of each of these levels, added up.
[[nodiscard]] sums sums_of(transaction&, sku const&, std::vector<std::string> const& locations,
                           std::size_t per_level_max);

} // namespace holdfast::db::movements

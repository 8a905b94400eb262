// SPDX-License-Identifier: Apache-2.0
// Appends to the ledger and the outbox; reads the ledger.
#pragma once

#include "db/transaction.hpp"
#include "stock/movement.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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

// Newest first, those with an id below `before`.
[[nodiscard]] std::vector<entry> newest(transaction&, sku const&,
                                        std::optional<std::int64_t> before, std::size_t limit);

[[nodiscard]] std::optional<entry> by_id(transaction&, sku const&, std::int64_t id);

} // namespace holdfast::db::movements

// SPDX-License-Identifier: Apache-2.0
// Keeps what imports changed, and puts it back.
#pragma once

#include "db/items.hpp"
#include "db/transaction.hpp"
#include "stock/clock.hpp"
#include "stock/stock_level.hpp"
#include "stock/uuid.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::db::imports {

// After that an import is not there any more, and nobody can undo it.
inline constexpr std::chrono::hours kept_for{24 * 30};

struct row {
    uuid id;
    std::string mode;
    std::string actor;
    timestamp at;
    std::int64_t rows = 0;
    std::int64_t created = 0; // of these, whose item did not exist
    std::int64_t changed = 0;
    std::int64_t unchanged = 0;
    std::optional<std::string> undone_by;
    std::optional<timestamp> undone_at;
};

// By how much a row of the file moved its level.
struct moved_level {
    level_key at;
    std::int64_t line = 0;
    units on_hand_delta = 0;
    std::optional<std::int64_t> version; // that the level got by it; not of old imports
};

// Settings as they were and as the import left them.
struct changed_item {
    items::row before;
    items::row after;
};

// Its instant is the transaction's.
void write(transaction&, row const&, std::span<moved_level const>, std::span<changed_item const>);

[[nodiscard]] std::optional<row> find(transaction&, uuid const&);

// Whether it is undone; nothing when it is not there. Nobody else undoes it until the transaction
// ends.
[[nodiscard]] std::optional<bool> lock(transaction&, uuid const&);

// Newest first.
[[nodiscard]] std::vector<row> list(transaction&, std::optional<uuid> const& before,
                                    std::size_t limit);

// In the global order.
[[nodiscard]] std::vector<moved_level> levels(transaction&, uuid const&);

// Notes which of its levels somebody has said a number for since: undoing leaves them alone. The
// levels are locked.
void supersede(transaction&, uuid const&);

// Adds what those rows did to the rows of the imports that overtook them, so that undoing these as
// well leads to what the levels would be without either.
void hand_on(transaction&, uuid const&);

// Those others, in the global order.
[[nodiscard]] std::vector<moved_level> standing(transaction&, uuid const&);

// Levels that were left alone when it was undone, by their place in the file.
[[nodiscard]] std::vector<moved_level> list_superseded(transaction&, uuid const&,
                                                       std::size_t limit);

// Locks the items whose settings it wrote, in the order of their SKUs.
void lock_items(transaction&, uuid const&);

// Puts back the settings of locked items that are still what the import wrote, and notes the
// others.
void put_settings_back(transaction&, uuid const&);

// Those items that are paused only because the import that made them was undone.
[[nodiscard]] std::vector<std::string> withdrawn(transaction&,
                                                 std::vector<std::string> const& skus);

void close(transaction&, uuid const&, std::string const& actor);

// Settings that were not put back, because somebody had changed them since.
struct kept_back {
    std::string sku;
    std::string settings; // as the columns are called, parted by blanks
};

// By SKU.
[[nodiscard]] std::vector<kept_back> list_kept_back(transaction&, uuid const&, std::size_t limit);

// Removes at most so many rows of each kind of those that are too old. Returns how many.
std::size_t forget(transaction&, std::size_t rows_max);

} // namespace holdfast::db::imports

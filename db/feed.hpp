// SPDX-License-Identifier: Apache-2.0
// The order in which changes are told: positions for runs of the outbox that are committed, and
// what stands behind them.
#pragma once

#include "db/transaction.hpp"
#include "stock/event.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::db::feed {

// The last position given, and the highest id of the outbox that has one.
struct head {
    std::int64_t position = 0;
    std::int64_t last_id = 0;
};

[[nodiscard]] head read_head(transaction&);

// Gives positions to what is committed and has none, in the order of ids, to at most `ids_max` new
// ids. Returns how many ids were told; nothing when another process is at it.
[[nodiscard]] std::optional<std::int64_t> tell_committed(transaction&, std::size_t ids_max);

// A run of ids of the outbox with one position.
struct run {
    std::int64_t position = 0;
    std::int64_t first_id = 0;
    std::int64_t last_id = 0;
};

// From this position on, in order.
[[nodiscard]] std::vector<run> runs(transaction&, std::int64_t position, std::size_t limit);

// An entry of the outbox with its place: movements of one level that are told together, or a drift
// of it.
struct announcement {
    std::int64_t position = 0;
    std::int64_t id = 0;
    std::string sku;
    std::string location;
    std::int64_t first_version = 0;
    std::int64_t last_version = 0;
    std::optional<units> low_stock_at; // the item's threshold at that time
    std::optional<std::int64_t> drift_id;
};

// In the order of telling; only of one SKU when it is named.
[[nodiscard]] std::vector<announcement> announced(transaction&, std::span<run const>,
                                                  std::optional<std::string> const& sku,
                                                  std::size_t limit);

// A line of the ledger as events tell it, or a drift: of a movement only where and after count.
struct happening {
    std::size_t place = 0; // of its announcement among those asked for
    holdfast::movement movement;
    std::optional<std::string> reference;
    std::optional<std::string> customer;
    timestamp at;
    std::optional<units> drift; // found beyond what was expected
};

// What these announce, in their order.
[[nodiscard]] std::vector<happening> happened(transaction&, std::span<announcement const>);

// The first position that was told at this time or later.
[[nodiscard]] std::optional<std::int64_t> since(transaction&, timestamp);

// Forgets what was told longer ago than `keep`, at most `runs_max` positions and about `ids_max`
// announcements. Returns the number of positions forgotten.
[[nodiscard]] std::size_t forget(transaction&, std::chrono::seconds keep, std::size_t runs_max,
                                 std::int64_t ids_max);

} // namespace holdfast::db::feed

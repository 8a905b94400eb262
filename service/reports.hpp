// SPDX-License-Identifier: Apache-2.0
// What managers want to know of all items at once. Every report looks at a bounded number of rows,
// along an index.
#pragma once

#include "db/link.hpp"
#include "stock/clock.hpp"
#include "stock/quantity.hpp"
#include "stock/result.hpp"
#include "stock/uuid.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::reports {

// Of a shop that sells a thousand units a day, more than a year.
inline constexpr std::size_t movements_max = 1'000'000;
inline constexpr std::chrono::days period_max{92};

// Sums in one answer: a release may give a reason of its own.
inline constexpr std::size_t sums_max = 50'000;

inline constexpr std::size_t open_lines_max = 100'000;

// Rows of a report that is asked for as a file: what a spreadsheet is still quick with.
inline constexpr std::size_t file_rows_max = 10'000;

struct low_item {
    std::string sku;
    std::optional<std::string> name;
    units low_stock_at = 0;
    units on_hand = 0; // of all locations
    units reserved = 0;
    units available = 0; // no location counts below 0
};

struct low_stock_query {
    std::string after; // continue after this SKU
    std::size_t limit = 50;
};

struct low_stock_page {
    std::vector<low_item> shown;     // by SKU
    std::optional<std::string> next; // `after` of the next page; nothing when this is the last
};

// Items that have no more available than they call low. A page looks at the next 1000 items that
// say so, and may be short or empty and not the last.
[[nodiscard]] low_stock_page low_stock(db::link&, low_stock_query const&);

// The same as one long page: goes on through up to 100 of them, each as of its own instant, until
// it has `limit` items.
[[nodiscard]] low_stock_page low_stock_file(db::link&, low_stock_query const&);

struct old_hold {
    uuid id;
    timestamp created_at;
    timestamp expires_at;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
    std::int64_t lines = 0;
    units quantity = 0; // of all lines
};

struct held_longest_query {
    std::optional<uuid> after; // continue after this one
    std::size_t limit = 50;
};

struct held_longest_page {
    std::vector<old_hold> shown; // the oldest first
    std::optional<uuid> next;
    bool is_complete = true; // else only the next 100 000 lines to end were looked at
};

[[nodiscard]] held_longest_page held_longest(db::link&, held_longest_query const&);

enum class grouping { by_reason, by_sku };

struct movement_sum {
    std::optional<std::string> sku; // of those by SKU
    std::string kind;
    std::optional<std::string> reason;
    std::int64_t movements = 0;
    std::string on_hand_delta; // decimal numbers: a sum of many levels may be larger than one
    std::string reserved_delta;
};

struct movement_query {
    timestamp since;
    timestamp until; // behind the last, by no more than period_max
    grouping by = grouping::by_reason;
    std::string after;      // by SKU: continue after this one
    std::size_t limit = 50; // SKUs
};

struct movement_page {
    std::vector<movement_sum> shown; // by SKU, kind and reason
    std::optional<std::string> next;
};

// What the movements of a period come to. Refusals: validation_failed (there are more than
// movements_max, or more than sums_max sums).
[[nodiscard]] result<movement_page> movements(db::link&, movement_query const&);

} // namespace holdfast::reports

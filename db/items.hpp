// SPDX-License-Identifier: Apache-2.0
// Reads, locks and writes items.
#pragma once

#include "db/transaction.hpp"
#include "stock/clock.hpp"
#include "stock/quantity.hpp"
#include "stock/sku.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::db::items {

struct row {
    std::string sku;
    std::optional<std::string> name = {};
    bool on_sale = true;
    std::optional<timestamp> sale_starts_at = {};
    std::optional<timestamp> sale_ends_at = {};
    std::optional<units> max_per_customer = {};
    std::optional<units> low_stock_at = {};
    std::optional<std::string> strategy = {};
    std::optional<std::string> admission = {};
    units admission_pool = 100;
    units admission_ttl_seconds = 300;

    bool operator==(row const&) const = default;
};

// By SKU; those that do not exist are left out.
[[nodiscard]] std::vector<row> by_skus(transaction&, std::vector<std::string> const& skus);
[[nodiscard]] std::vector<row> lock(transaction&, std::vector<std::string> const& skus);

// When the item was made: by one transaction only, so it tells whose it is.
[[nodiscard]] std::optional<timestamp> made_at(transaction&, sku const&);

// Returns how many were new; those that exist stay as they are.
std::int64_t insert(transaction&, std::span<row const>);

void update(transaction&, std::span<row const>);

struct filter {
    std::optional<std::string> part; // of SKU or name, any case
    bool only_low = false;
    std::string after;
    std::size_t limit = 50;
};

// By SKU in byte order; those first whose SKU begins with a part of three characters or more.
[[nodiscard]] std::vector<row> list(transaction&, filter const&);

[[nodiscard]] bool is_empty(transaction&);

} // namespace holdfast::db::items

// SPDX-License-Identifier: Apache-2.0
// The history of numbers that nothing explains.
#pragma once

#include "db/transaction.hpp"
#include "stock/clock.hpp"
#include "stock/quantity.hpp"
#include "stock/stock_level.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::db::drift {

struct finding {
    std::string sku;
    std::string location; // empty when it is about the whole item
    std::string kind;     // available, pending, ledger, stopped
    units expected = 0;
    units found = 0;
    std::string cause;
    bool is_repaired = false;
    std::int64_t epoch = 0;
    stock_level level = {}; // of PostgreSQL at that moment
};

// Writes them down, with a stock.drift for each that is about the units of a level. One that is not
// repaired and was the last of its level and kind is left out.
void write(transaction&, std::span<finding const>);

// A finding as it stands in the history.
struct entry {
    std::int64_t id = 0;
    std::string sku;
    std::string location;
    std::string kind;
    units expected = 0;
    units found = 0;
    std::string cause;
    bool is_repaired = false;
    timestamp at;
};

// Newest first, those with an id below `before`; only of one SKU when it is named.
[[nodiscard]] std::vector<entry> newest(transaction&, std::optional<std::string> const& sku,
                                        std::optional<std::int64_t> before, std::size_t limit);

struct stop {
    std::string sku;
    std::string location;
    units expected = 0;
    units found = 0;
};

// For what each of these items was left to PostgreSQL the last time.
[[nodiscard]] std::vector<stop> last_stops(transaction&, std::vector<std::string> const& skus);

// Forgets what was found longer ago than `keep`. Returns how many.
[[nodiscard]] std::size_t forget(transaction&, std::chrono::seconds keep, std::size_t limit);

} // namespace holdfast::db::drift

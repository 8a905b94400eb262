// SPDX-License-Identifier: Apache-2.0
// Reads the feed of events as a consumer does.
#pragma once

#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

// Every event after a place, page by page until there are no more. `query` begins with "&" or is
// empty. Waits until what is committed is told only as far as `wait_until_told` was called.
[[nodiscard]] std::vector<json> read_feed(shop& front, std::string after = "",
                                          std::string const& query = "");

// The place behind the last event.
[[nodiscard]] std::string end_of_feed(shop& front);

// Waits until every ledger line of these items is in the feed. False after a long time.
[[nodiscard]] bool wait_until_told(shop& front, std::vector<std::string> const& skus);

// The levels a consumer has that keeps the newest version of each.
using level_name = std::pair<std::string, std::string>; // SKU, location
[[nodiscard]] std::map<level_name, level> levels_told(std::vector<json> const& events);

// Types of these events, parted by blanks, without "reservation." and "stock.".
[[nodiscard]] std::string types_of(std::vector<json> const& events);

// Tells what is committed, reads everything from the beginning, and compares the levels it rebuilds
// with those in the database. Empty when they are the same; else what differs.
[[nodiscard]] std::string rebuild_differs(workbench& bench);

} // namespace holdfast::test

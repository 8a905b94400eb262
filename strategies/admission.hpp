// SPDX-License-Identifier: Apache-2.0
// Who gets the units of levels that are locked: first come, first served. Pure, needs no database.
#pragma once

#include "strategies/strategy.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace holdfast {

using level_map = std::map<level_key, stock_level>;

// Admits each entry in order if its level still has enough, and moves the levels along.
[[nodiscard]] std::vector<taken> admit_in_order(level_map& levels, std::span<units_wanted const>);

// What the admitted entries of one level come to.
struct level_sum {
    level_key at;
    units quantity = 0;
    std::int64_t entries = 0;
};

// By level in order; levels of which nothing was taken are left out.
[[nodiscard]] std::vector<level_sum> sums_of(std::span<units_wanted const>, std::span<taken const>);

} // namespace holdfast

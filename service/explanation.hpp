// SPDX-License-Identifier: Apache-2.0
// Why a level has the numbers it has: what is on hand as the sum of its movements, what is reserved
// as the list of its holds.
#pragma once

#include "db/link.hpp"
#include "db/movements.hpp"
#include "service/adjustments.hpp"
#include "service/catalogue.hpp"
#include "stock/result.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace holdfast {

struct level_explanation {
    level_at level;
    // on_hand is that of `brought_forward`, 0 without one, and all sums added to it.
    std::optional<db::movements::earlier_level> brought_forward;
    std::vector<db::movements::sum> sums;
    // reserved is the quantities of `holds` and those of the holds beyond them, as far as these
    // were counted.
    std::vector<concerned_hold> holds; // the first to end, at most 100
    std::int64_t more_holds = 0;
    units more_held = 0;
};

struct explanation {
    holdfast::sku sku;
    std::vector<level_explanation> levels; // by location, at most 50
};

// At one instant. What it reads is bounded: the last 100 000 movements, and as many holds,
// shared by the levels. Refusals: unknown_sku.
[[nodiscard]] result<explanation> explain(db::link&, sku const&,
                                          std::optional<location> const& only);

} // namespace holdfast

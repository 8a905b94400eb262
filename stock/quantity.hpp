// SPDX-License-Identifier: Apache-2.0
// Counts of units and their bounds.
#pragma once

#include <cstdint>

namespace holdfast {

// A count of units, or a change of one.
using units = std::int64_t;

// The most one line of a request may ask for.
inline constexpr units quantity_max = 1'000'000'000;

// The most a level may hold: exact in a JSON number of any client (below 2^53).
inline constexpr units level_max = 9'000'000'000'000'000;

} // namespace holdfast

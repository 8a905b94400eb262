// SPDX-License-Identifier: Apache-2.0
// Everything the bench measures, in its order.
#pragma once

#include "bench/plan.hpp"
#include "bench/results.hpp"
#include "bench/stage.hpp"

#include <ostream>

namespace holdfast::bench {

// A line about each load goes to `progress`. Throws broken_promise, interrupted, and
// std::runtime_error when a load could not be played to its end.
[[nodiscard]] results run_suite(stage&, plan const&, std::ostream& progress);

} // namespace holdfast::bench

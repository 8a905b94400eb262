// SPDX-License-Identifier: Apache-2.0
// The outcome of a load as named numbers.
#pragma once

#include "bench/pgbench.hpp"
#include "bench/results.hpp"
#include "bench/trial.hpp"

#include <vector>

namespace holdfast::bench {

// Rate and latencies are those of one kind of answers to the first stream. What the database did is
// told for each reservation when those were made, and as transactions a second beside refusals.
[[nodiscard]] std::vector<figure> figures_of(trial_outcome const&, answers tally::*kind);

[[nodiscard]] std::vector<figure> figures_of(pgbench_outcome const&);

} // namespace holdfast::bench

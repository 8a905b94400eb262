// SPDX-License-Identifier: Apache-2.0
// Plays loads one after the other, says so to whoever waits, and keeps what they came to.
#pragma once

#include "bench/plan.hpp"
#include "bench/results.hpp"
#include "bench/stage.hpp"
#include "bench/trial.hpp"

#include <ostream>
#include <string_view>
#include <vector>

namespace holdfast::bench {

class recorder {
public:
    // All of them outlive it. A line about each load goes to `progress`.
    recorder(stage& on, plan const& what, std::ostream& progress, results& into)
        : stage_(on), plan_(what), progress_(progress), results_(into)
    {}

    // Throws as run_trial does.
    [[nodiscard]] trial_outcome play(std::string_view what, trial_plan const& how);

    void note(load_name name, std::vector<figure> figures);

    // A trial of the strategy that is looked at more closely.
    [[nodiscard]] trial_plan subject_with(std::vector<trial_stream> streams) const;

private:
    stage& stage_;
    plan const& plan_;
    std::ostream& progress_;
    results& results_;
};

} // namespace holdfast::bench

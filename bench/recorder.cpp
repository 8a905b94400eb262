// SPDX-License-Identifier: Apache-2.0
#include "bench/recorder.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::bench {

trial_outcome recorder::play(std::string_view what, trial_plan const& how)
{
    progress_ << "bench: " << what << std::flush;
    auto outcome = run_trial(stage_, how);
    for (auto const& each : outcome.tallies)
        progress_ << fmt::format("  {:.0f}/s",
                                 each.per_second(each.accepted) + each.per_second(each.refused));
    progress_ << std::endl;
    return outcome;
}

void recorder::note(load_name name, std::vector<figure> figures)
{
    results_.loads.push_back({.name = std::move(name), .figures = std::move(figures)});
}

trial_plan recorder::subject_with(std::vector<trial_stream> streams) const
{
    return {.strategy = plan_.subject,
            .streams = std::move(streams),
            .timing = plan_.timing,
            .refused_as = {}};
}

} // namespace holdfast::bench

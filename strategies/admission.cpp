// SPDX-License-Identifier: Apache-2.0
#include "strategies/admission.hpp"

namespace holdfast {

std::vector<taken> admit_in_order(level_map& levels, std::span<units_wanted const> wanted)
{
    std::vector<taken> answers;
    answers.reserve(wanted.size());
    for (auto const& entry : wanted) {
        auto const found = levels.find(entry.at);
        if (found == levels.end() || found->second.available() < entry.quantity) {
            answers.push_back({});
            continue;
        }
        found->second.reserved += entry.quantity;
        ++found->second.version;
        answers.push_back({true, found->second});
    }
    return answers;
}

std::vector<level_sum> sums_of(std::span<units_wanted const> wanted, std::span<taken const> answers)
{
    std::map<level_key, level_sum> sums;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!answers[i].fits)
            continue;
        auto& sum = sums.try_emplace(wanted[i].at, level_sum{wanted[i].at}).first->second;
        sum.quantity += wanted[i].quantity;
        ++sum.entries;
    }
    std::vector<level_sum> all;
    for (auto& [at, sum] : sums)
        all.push_back(std::move(sum));
    return all;
}

} // namespace holdfast

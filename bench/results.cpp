// SPDX-License-Identifier: Apache-2.0
#include "bench/results.hpp"

#include <algorithm>

namespace holdfast::bench {

std::string load_figures::key_of(figure const& one) const
{
    auto key = name.prefix + '.' + one.name;
    return name.suffix.empty() ? key : key + '.' + name.suffix;
}

std::optional<double> load_figures::at(std::string_view wanted) const
{
    auto const found = std::ranges::find(figures, wanted, &figure::name);
    if (found == figures.end())
        return std::nullopt;
    return found->value;
}

std::optional<double> results::at(std::string_view key) const
{
    for (auto const& load : loads)
        for (auto const& one : load.figures)
            if (load.key_of(one) == key)
                return one.value;
    return std::nullopt;
}

void results::add_ratio(quotient const& of)
{
    if (of.upper && of.lower && *of.lower > 0)
        ratios.push_back({"ratio." + of.key, of.sentence, *of.upper / *of.lower});
}

} // namespace holdfast::bench

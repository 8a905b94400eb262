// SPDX-License-Identifier: Apache-2.0
#include "strategies/registry.hpp"

#include <stdexcept>

namespace holdfast {

// strategy_list.inc has one line HOLDFAST_STRATEGY(NAME) for each NAME.sql of this folder.
#define HOLDFAST_STRATEGY(name) std::unique_ptr<strategy> make_##name(conflict_listener const&);
#include "strategy_list.inc"
#undef HOLDFAST_STRATEGY

strategy_registry::strategy_registry(conflict_listener listener)
{
    if (!listener)
        listener = [](std::string_view, std::size_t) {};
#define HOLDFAST_STRATEGY(name) strategies_.emplace(#name, make_##name(listener));
#include "strategy_list.inc"
#undef HOLDFAST_STRATEGY
}

strategy const& strategy_registry::named(std::string_view name) const
{
    auto const found = strategies_.find(name);
    if (found == strategies_.end())
        throw std::logic_error("no strategy named " + std::string(name));
    return *found->second;
}

bool strategy_registry::has(std::string_view name) const
{
    return strategies_.contains(name);
}

std::vector<std::string> strategy_registry::names() const
{
    std::vector<std::string> all;
    for (auto const& [name, mode] : strategies_)
        all.push_back(name);
    return all;
}

} // namespace holdfast

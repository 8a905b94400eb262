// SPDX-License-Identifier: Apache-2.0
#include "service/explanation.hpp"

#include "db/items.hpp"
#include "db/levels.hpp"
#include "db/reservations.hpp"
#include "db/transact.hpp"

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::size_t levels_max = 50;
constexpr std::size_t holds_listed_max = 100;
constexpr std::size_t holds_counted_max = 100'000;

// Reading as many takes about a tenth of a second. Of a level that has moved more often, what was
// on hand before is brought forward, as in any account book.
constexpr std::size_t movements_max = 100'000;

std::vector<level_explanation> levels_of(db::transaction& tx, sku const& of,
                                         std::optional<location> const& only)
{
    std::vector<level_explanation> levels;
    for (auto& found : db::levels::of_items(tx, {of.str()}))
        if ((!only || found.at.location == *only) && levels.size() < levels_max)
            levels.push_back({.level = {std::move(found.at.location), found.level}});
    return levels;
}

level_explanation* find(std::vector<level_explanation>& levels, location const& where)
{
    auto const found = std::ranges::find_if(
        levels, [&](level_explanation const& l) { return l.level.location == where; });
    return found == levels.end() ? nullptr : &*found;
}

void add_sums(db::transaction& tx, sku const& of, std::vector<level_explanation>& levels)
{
    std::vector<std::string> locations;
    for (auto const& each : levels)
        locations.push_back(each.level.location.str());
    auto const per_level = movements_max / std::max<std::size_t>(1, levels.size());
    auto found = db::movements::sums_of(tx, of, locations, per_level);
    for (auto& sum : found.all)
        if (auto* const level = find(levels, sum.location))
            level->sums.push_back(std::move(sum));
    for (auto& earlier : found.brought_forward)
        if (auto* const level = find(levels, earlier.location))
            level->brought_forward = std::move(earlier);
}

void add_holds(db::transaction& tx, level_key const& at, std::size_t counted_max,
               level_explanation& level)
{
    auto const open = db::reservations::sum_open(tx, at, counted_max);
    level.more_holds = open.holds;
    level.more_held = open.quantity;
    for (auto& h : db::reservations::next_to_end(tx, at, holds_listed_max)) {
        --level.more_holds;
        level.more_held -= h.quantity;
        level.holds.push_back({h.reservation_id, h.quantity, h.expires_at, std::move(h.customer),
                               std::move(h.reference)});
    }
}

} // namespace

result<explanation> explain(db::link& link, sku const& of, std::optional<location> const& only)
{
    return db::read(link, db::scope::snapshot, [&](db::transaction& tx) -> result<explanation> {
        if (db::items::by_skus(tx, {of.str()}).empty())
            return refusal{.code = errc::unknown_sku,
                           .detail = "There is no item " + of.str() + "."};
        explanation all{of, levels_of(tx, of, only)};
        add_sums(tx, of, all.levels);
        auto const counted_max = holds_counted_max / std::max<std::size_t>(1, all.levels.size());
        for (auto& level : all.levels)
            add_holds(tx, {of, level.level.location}, counted_max, level);
        return all;
    });
}

} // namespace holdfast

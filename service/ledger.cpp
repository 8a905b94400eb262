// SPDX-License-Identifier: Apache-2.0
#include "service/ledger.hpp"

#include "stock/result.hpp"

#include <algorithm>
#include <cstdlib>

namespace holdfast {

namespace {

movement to_movement(level_key const& at, stock_level const& after, change const& c)
{
    return {.at = at,
            .kind = c.kind,
            .on_hand_delta = c.on_hand_delta,
            .reserved_delta = c.reserved_delta,
            .after = after,
            .reservation_id = c.reservation_id,
            .by = c.by};
}

} // namespace

void ledger::lock(std::span<level_key const> keys)
{
    for (auto& found : db::levels::lock(tx_, keys))
        levels_[std::move(found.at)] = {.level = found.level};
}

void ledger::move(level_key const& at, change const& c)
{
    auto& moved = levels_.at(at);
    auto& level = moved.level;
    level.on_hand += c.on_hand_delta;
    level.reserved += c.reserved_delta;
    ++level.version;
    HOLDFAST_INVARIANT(level.on_hand >= 0 && level.on_hand <= level_max);
    HOLDFAST_INVARIANT(level.reserved >= 0);
    moved.is_changed = true;
    moved.shortage = std::max(moved.shortage, c.shortage);
    movements_.push_back(to_movement(at, level, c));
}

void ledger::note_taken(level_key const& at, stock_level const& after, change const& c)
{
    HOLDFAST_INVARIANT(after.reserved <= after.on_hand);
    levels_[at] = {.level = after};
    movements_.push_back(to_movement(at, after, c));
}

void ledger::write()
{
    std::vector<db::levels::change> changes;
    for (auto const& [at, each] : levels_)
        if (each.is_changed)
            changes.push_back({at, each.level, each.shortage});
    if (!changes.empty())
        db::levels::write(tx_, changes);
    if (!movements_.empty())
        db::movements::append(tx_, movements_);
}

void count(metrics& m, std::span<movement const> movements)
{
    for (auto const& each : movements)
        m.moved(each.kind, std::abs(each.on_hand_delta) > 0 ? std::abs(each.on_hand_delta)
                                                            : std::abs(each.reserved_delta));
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "service/availability.hpp"

#include "db/levels.hpp"
#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "service/expiry.hpp"

#include <algorithm>
#include <map>

namespace holdfast {

namespace {

std::vector<level_key> keys_of(std::span<line_request const> lines)
{
    std::vector<level_key> keys;
    keys.reserve(lines.size());
    for (auto const& line : lines)
        keys.push_back(line.at);
    return keys;
}

struct prospects {
    std::vector<shortfall> short_lines;
    std::vector<level_key> levels_with_due_holds; // of lines that do not fit at once
};

// Units that the hold `id` would put back, by level.
std::map<level_key, units> units_freed_by(db::transaction& tx, std::optional<uuid> id)
{
    std::map<level_key, units> freed;
    auto const hold = id ? db::reservations::by_id(tx, *id) : std::nullopt;
    if (hold && hold->reservation.state == reservation_state::held && !hold->is_due)
        for (auto const& line : hold->reservation.lines)
            freed[line.at] += line.quantity;
    return freed;
}

prospects look(db::transaction& tx, std::span<line_request const> lines,
               std::optional<uuid> freed_id)
{
    auto freed = units_freed_by(tx, freed_id);
    auto const free = db::levels::free(tx, keys_of(lines));
    prospects p;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        auto const at_once = free[i].available + freed[lines[i].at];
        auto const in_all = at_once + free[i].due;
        if (at_once < lines[i].quantity && free[i].due > 0)
            p.levels_with_due_holds.push_back(lines[i].at);
        if (in_all < lines[i].quantity)
            p.short_lines.push_back(
                {lines[i].at, lines[i].quantity, std::max<units>(0, in_all - freed[lines[i].at])});
    }
    return p;
}

} // namespace

std::vector<shortfall> availability_of(db::transaction& tx, std::span<line_request const> lines)
{
    auto const free = db::levels::free(tx, keys_of(lines));
    std::vector<shortfall> all;
    for (std::size_t i = 0; i < lines.size(); ++i)
        all.push_back(
            {lines[i].at, lines[i].quantity, std::max<units>(0, free[i].available + free[i].due)});
    return all;
}

std::vector<shortfall> make_room(db::link& link, std::span<line_request const> lines,
                                 std::optional<uuid> freed, metrics& m)
{
    auto const found = db::read(link, db::scope::snapshot,
                                [&](db::transaction& tx) { return look(tx, lines, freed); });
    if (found.short_lines.empty() && !found.levels_with_due_holds.empty())
        expire_due(link, found.levels_with_due_holds, m);
    return found.short_lines;
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "service/availability.hpp"

#include "db/levels.hpp"
#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "service/expiry.hpp"

#include <algorithm>
#include <map>
#include <set>

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

using free_map = std::map<level_key, db::levels::free_units>;

// What is free of each level that is wished for.
free_map free_of(db::transaction& tx, std::span<wish const> wishes)
{
    std::vector<level_key> keys;
    for (auto const& w : wishes)
        for (auto const& line : w.lines)
            keys.push_back(line.at);
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    free_map found;
    for (auto& f : db::levels::free(tx, keys)) {
        auto at = f.at;
        found.emplace(std::move(at), std::move(f));
    }
    return found;
}

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

// The lines of a wish that nothing helps. When there are none, adds the levels whose due holds have
// to be expired for it.
std::vector<shortfall> judge(wish const& w, free_map const& free, std::map<level_key, units> freed,
                             std::set<level_key>& levels_to_reclaim)
{
    std::vector<shortfall> short_lines;
    std::vector<level_key> with_due_holds;
    for (auto const& line : w.lines) {
        auto const& level = free.at(line.at);
        auto const at_once = level.available + freed[line.at];
        auto const in_all = at_once + level.due;
        if (at_once < line.quantity && level.due > 0)
            with_due_holds.push_back(line.at);
        if (in_all < line.quantity)
            short_lines.push_back(
                {line.at, line.quantity, std::max<units>(0, in_all - freed[line.at])});
    }
    if (short_lines.empty())
        levels_to_reclaim.insert(with_due_holds.begin(), with_due_holds.end());
    return short_lines;
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

std::vector<std::vector<shortfall>> make_room(db::link& link, std::span<wish const> wishes,
                                              metrics& m)
{
    std::set<level_key> levels_to_reclaim;
    bool const has_freed = std::ranges::any_of(wishes, [](wish const& w) { return !!w.freed; });
    auto const how = has_freed ? db::scope::snapshot : db::scope::single;
    auto answers = db::read(link, how, [&](db::transaction& tx) {
        std::vector<std::vector<shortfall>> found;
        levels_to_reclaim.clear();
        auto const free = free_of(tx, wishes);
        for (auto const& w : wishes)
            found.push_back(judge(w, free, units_freed_by(tx, w.freed), levels_to_reclaim));
        return found;
    });
    if (!levels_to_reclaim.empty())
        expire_due(link, std::vector(levels_to_reclaim.begin(), levels_to_reclaim.end()), m);
    return answers;
}

} // namespace holdfast

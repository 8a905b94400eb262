// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::fast_path {

namespace {

// Longer than it takes to tell Redis of a commit, and than any request is worked on.
constexpr auto untold = std::chrono::seconds(1);
constexpr auto abandoned = std::chrono::seconds(30);

units available_in(sight const& bucket, std::string const& location)
{
    auto const found = bucket.levels.find(location);
    return found == bucket.levels.end() ? 0 : found->second.available;
}

// Whether buckets are so unlike that a request may have to try several.
bool is_uneven(std::vector<sight> const& buckets, std::string const& location, units total)
{
    auto const share = total / static_cast<units>(buckets.size());
    return share > 0 && std::ranges::any_of(buckets, [&](sight const& each) {
               return available_in(each, location) <= share / 4;
           });
}

// Whether nobody will carry it out any more. What is queued somebody will.
bool is_abandoned(pending_request const& request, sight const& in, std::set<uuid> const& made)
{
    bool const is_in_queue = request.is_queued && in.queue_length > 0;
    return !is_in_queue && !made.contains(request.id) && in.now - request.since > abandoned;
}

} // namespace

stock_level level_of(db::fast_path::fact const& known)
{
    return {known.on_hand, known.reserved, known.version};
}

std::map<std::string, facts> by_sku(std::vector<db::fast_path::fact> const& all)
{
    std::map<std::string, facts> grouped;
    for (auto const& each : all)
        grouped[each.sku].emplace(each.location, each);
    return grouped;
}

std::map<std::string, units> handed_to_redis(std::vector<sight> const& buckets,
                                             std::set<uuid> const& made)
{
    std::map<std::string, units> sums;
    for (auto const& bucket : buckets) {
        for (auto const& [location, level] : bucket.levels)
            sums[location] += level.available;
        for (auto const& request : bucket.pending) {
            bool const is_made = made.contains(request.id);
            if (request.is_taken == is_made)
                continue; // both know, or neither does
            for (auto const& [location, quantity] : request.lines)
                sums[location] += request.is_taken ? quantity : -quantity;
        }
    }
    return sums;
}

std::vector<difference> differences(facts const& before, facts const& after,
                                    std::map<std::string, units> const& found)
{
    std::set<std::string> locations;
    for (auto const& [location, unused] : after)
        locations.insert(location);
    for (auto const& [location, unused] : found)
        locations.insert(location);
    std::vector<difference> wrong;
    for (auto const& location : locations) {
        auto const now = after.find(location);
        auto const was = before.find(location);
        auto const expected = now == after.end() ? 0 : now->second.available;
        auto const known = found.find(location);
        auto const there = known == found.end() ? 0 : known->second;
        bool const is_still =
            now != after.end() && was != before.end() && now->second.version == was->second.version;
        if (there < expected || (there > expected && is_still))
            wrong.push_back({location, expected, there});
    }
    return wrong;
}

agreement agree(agreement const& earlier, facts const& now)
{
    agreement made;
    for (auto const& [location, known] : now) {
        auto const was = earlier.find(location);
        bool const is_still = was != earlier.end() && was->second.version == known.version &&
                              was->second.available == known.available;
        made[location] = {known.version, known.available, is_still ? was->second.since : known.now};
    }
    return made;
}

std::vector<difference> drifted(agreement const& earlier, facts const& now,
                                std::vector<difference> const& wrong,
                                std::chrono::milliseconds news_max)
{
    std::vector<difference> unexplained;
    for (auto const& each : wrong) {
        auto const was = earlier.find(each.location);
        auto const known = now.find(each.location);
        if (was != earlier.end() && known != now.end() &&
            was->second.version == known->second.version &&
            was->second.available == known->second.available &&
            known->second.now - was->second.since >= news_max)
            unexplained.push_back(
                {each.location, each.expected, std::clamp(each.found, -level_max, level_max)});
    }
    return unexplained;
}

std::optional<ledger_fault> ledger_fault_of(db::fast_path::fact const& known)
{
    if (known.version != known.ledger_version)
        return ledger_fault{
            known.ledger_on_hand, known.on_hand,
            fmt::format("the level has version {}, its newest line in the ledger {}", known.version,
                        known.ledger_version)};
    if (known.on_hand != known.ledger_on_hand)
        return ledger_fault{known.ledger_on_hand, known.on_hand,
                            "on_hand was changed past the ledger"};
    if (known.reserved != known.ledger_reserved)
        return ledger_fault{known.ledger_reserved, known.reserved,
                            "reserved was changed past the ledger"};
    return std::nullopt;
}

std::vector<std::map<std::string, units>> spread(std::vector<sight> const& buckets,
                                                 std::vector<difference> const& wrong)
{
    std::map<std::string, units> changes;
    for (auto const& bucket : buckets)
        for (auto const& [location, unused] : bucket.levels)
            changes[location] += 0;
    for (auto const& each : wrong)
        changes[each.location] += each.expected - each.found;
    std::vector<std::map<std::string, units>> given(buckets.size());
    for (auto const& [location, change] : changes) {
        auto total = change;
        for (auto const& bucket : buckets)
            total += available_in(bucket, location);
        if (change == 0 && !is_uneven(buckets, location, total))
            continue;
        auto const count = static_cast<units>(buckets.size());
        auto const rest = ((total % count) + count) % count; // also of fewer than none
        for (std::size_t i = 0; i < buckets.size(); ++i) {
            auto const share = (total - rest) / count + (static_cast<units>(i) < rest ? 1 : 0);
            if (auto const by = share - available_in(buckets[i], location); by != 0)
                given[i][location] = by;
        }
    }
    return given;
}

std::vector<leftover> leftovers(std::vector<sight> const& buckets, std::set<uuid> const& made)
{
    std::vector<leftover> all;
    for (std::size_t i = 0; i < buckets.size(); ++i)
        for (auto const& request : buckets[i].pending) {
            bool const is_made = made.contains(request.id);
            bool const is_over = is_made ? buckets[i].now - request.since > untold
                                         : is_abandoned(request, buckets[i], made);
            if (is_over)
                all.push_back({request.id, static_cast<int>(i), is_made ? fate::kept : fate::back});
        }
    return all;
}

std::map<std::string, units> given_back(std::vector<sight> const& buckets,
                                        std::set<uuid> const& made)
{
    std::map<std::string, units> sums;
    for (auto const& bucket : buckets)
        for (auto const& request : bucket.pending)
            if (request.is_taken && is_abandoned(request, bucket, made))
                for (auto const& [location, quantity] : request.lines)
                    sums[location] += quantity;
    return sums;
}

} // namespace holdfast::fast_path

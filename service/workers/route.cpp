// SPDX-License-Identifier: Apache-2.0
#include "service/workers/route.hpp"

#include <algorithm>

namespace holdfast::workers {

void route::add(std::vector<db::webhooks::pending_delivery> all, clock::time_point now)
{
    for (auto& what : all) {
        auto const id = what.id;
        auto const key = what.sku.value_or(what.event_id);
        if (!keys_.emplace(id, key).second)
            continue;
        auto& mine = queues_[key];
        bool const is_busy = !mine.empty() && under_way_.contains(mine.front().what.id);
        auto const after = std::find_if(mine.begin() + (is_busy ? 1 : 0), mine.end(),
                                        [&](waiting const& other) { return other.what.id > id; });
        if (!mine.empty() && !is_busy)
            schedule_.erase({mine.front().due, key});
        auto const due = now + std::chrono::milliseconds(what.delay_ms);
        mine.insert(after, {std::move(what), due});
        if (!is_busy)
            schedule(key);
    }
}

route::waiting const* route::next(clock::time_point now)
{
    if (schedule_.empty() || schedule_.begin()->first > now)
        return nullptr;
    auto const key = schedule_.begin()->second;
    schedule_.erase(schedule_.begin());
    auto const& first = queues_.at(key).front();
    under_way_.insert(first.what.id);
    return &first;
}

void route::done(std::int64_t id)
{
    auto* const mine = queue_of(id);
    if (mine == nullptr)
        return;
    auto const key = keys_.at(id);
    under_way_.erase(id);
    keys_.erase(id);
    mine->pop_front();
    if (mine->empty())
        queues_.erase(key);
    else
        schedule(key);
}

void route::again(std::int64_t id, std::int64_t attempts, clock::time_point due)
{
    auto* const mine = queue_of(id);
    if (mine == nullptr)
        return;
    under_way_.erase(id);
    mine->front().what.attempts = attempts;
    mine->front().due = due;
    schedule(keys_.at(id));
}

std::vector<std::int64_t> route::waiting_for_time(clock::time_point now) const
{
    std::vector<std::int64_t> all;
    for (auto at = schedule_.upper_bound({now, {}}); at != schedule_.end(); ++at)
        all.push_back(queues_.at(at->second).front().what.id);
    return all;
}

void route::hurry(std::int64_t id, clock::time_point now)
{
    auto const known = keys_.find(id);
    if (known == keys_.end() || under_way_.contains(id))
        return;
    auto& first = queues_.at(known->second).front();
    if (first.what.id != id)
        return;
    schedule_.erase({first.due, known->second});
    first.due = now;
    schedule(known->second);
}

std::size_t route::size_of(std::string const& sku) const
{
    auto const found = queues_.find(sku);
    return found == queues_.end() ? 0 : found->second.size();
}

std::vector<std::int64_t> route::ids() const
{
    std::vector<std::int64_t> all;
    for (auto const& [id, key] : keys_)
        all.push_back(id);
    return all;
}

void route::schedule(std::string const& key)
{
    schedule_.insert({queues_.at(key).front().due, key});
}

// The queue whose first one is under way and has this id.
route::queue* route::queue_of(std::int64_t id)
{
    if (!under_way_.contains(id))
        return nullptr;
    return &queues_.at(keys_.at(id));
}

} // namespace holdfast::workers

// SPDX-License-Identifier: Apache-2.0
#include "service/rate_limiter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace holdfast {

namespace {

using std::chrono::ceil;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// Full buckets forgotten whenever a new key comes: two for one keeps the memory at what is in use.
constexpr int dropped_per_new_key = 2;

nanoseconds interval_of(rate r)
{
    if (r.per_second < 0 || r.burst < 0 || r.per_second > 1'000'000'000)
        throw std::invalid_argument("a rate is 0 to 1000000000 requests a second");
    return r.per_second == 0 ? nanoseconds(0) : nanoseconds(r.second) / r.per_second;
}

} // namespace

rate_limiter::rate_limiter(rate r, std::size_t keys_max)
    : limit_(r.burst == 0 ? r.per_second : r.burst), interval_(interval_of(r)),
      capacity_(interval_ * limit_), keys_max_(std::max<std::size_t>(keys_max, 1))
{}

rate_limiter::decision rate_limiter::take(std::string_view key, time_point now)
{
    if (!is_on())
        return {};

    std::scoped_lock const lock(mutex_);
    auto const bucket = find_or_add(key, now);
    auto const full_at_before = std::max(bucket->second, now);
    auto const full_at_after = full_at_before + interval_;
    auto const is_allowed = full_at_after - now <= capacity_;
    auto const full_at = is_allowed ? full_at_after : full_at_before;

    if (is_allowed) {
        auto place = by_full_at_.extract({bucket->second, &bucket->first});
        place.value().first = full_at;
        by_full_at_.insert(std::move(place));
        bucket->second = full_at;
    }
    return {
        .is_allowed = is_allowed,
        .limit = limit_,
        .window = ceil<seconds>(capacity_),
        .remaining =
            static_cast<int>(std::max(nanoseconds(0), capacity_ - (full_at - now)) / interval_),
        .reset = ceil<seconds>(full_at - now),
        .retry_after = is_allowed ? seconds(0) : ceil<seconds>(full_at_after - now - capacity_),
    };
}

std::size_t rate_limiter::keys_remembered() const
{
    std::scoped_lock const lock(mutex_);
    return full_at_.size();
}

rate_limiter::bucket_map::iterator rate_limiter::find_or_add(std::string_view key, time_point now)
{
    if (auto const known = full_at_.find(key); known != full_at_.end())
        return known;

    // A full bucket is the same as none: forgetting it loses nothing.
    for (int i = 0; i < dropped_per_new_key && !by_full_at_.empty(); ++i) {
        if (by_full_at_.begin()->first > now)
            break;
        drop_fullest();
    }
    if (full_at_.size() >= keys_max_)
        drop_fullest();

    auto const added = full_at_.emplace(key, now).first;
    by_full_at_.emplace(now, &added->first);
    return added;
}

// The one that is full the soonest has the least to forget.
void rate_limiter::drop_fullest()
{
    auto const fullest = by_full_at_.begin();
    auto const* const key = fullest->second;
    by_full_at_.erase(fullest);
    full_at_.erase(full_at_.find(*key));
}

std::string to_ratelimit_policy(std::span<met_limit const> limits)
{
    std::string field;
    for (auto const& [policy, seen] : limits)
        fmt::format_to(std::back_inserter(field), "{}\"{}\";q={};w={}", field.empty() ? "" : ", ",
                       policy, seen.limit, seen.window.count());
    return field;
}

// `t` ends no later than Retry-After, as the draft wants it (section 6).
std::string to_ratelimit(std::span<met_limit const> limits)
{
    std::string field;
    for (auto const& [policy, seen] : limits)
        fmt::format_to(std::back_inserter(field), "{}\"{}\";r={};t={}", field.empty() ? "" : ", ",
                       policy, seen.remaining,
                       (seen.is_allowed ? seen.reset : seen.retry_after).count());
    return field;
}

} // namespace holdfast

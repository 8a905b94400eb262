// SPDX-License-Identifier: Apache-2.0
#include "service/staff_door.hpp"

#include "stock/text.hpp"

#include <string>

namespace holdfast {

namespace {

staff_sessions sessions_by(db::session_options const& session)
{
    db::link link(session);
    return staff_sessions(link);
}

std::optional<std::chrono::seconds> wait_by(rate_limiter& limit, std::string_view key,
                                            rate_limiter::time_point now)
{
    auto const seen = limit.take(key, now);
    return seen.is_allowed ? std::nullopt : std::optional(seen.retry_after);
}

} // namespace

staff_door::staff_door(db::session_options const& session, worker_pool& workers)
    : sessions(sessions_by(session)), passwords(workers, {})
{}

std::optional<std::chrono::seconds> staff_door::wait_before(password_attempt const& made)
{
    auto const now = std::chrono::steady_clock::now();
    if (made.browser && sessions.is_browser_of(made.name, *made.browser))
        return wait_by(by_place_, *made.browser, now);
    // The network first: what it may not do does not count against the name.
    if (auto const wait = wait_by(by_network_, made.network, now))
        return wait;
    auto const folded = case_folded(made.name).value_or(std::string());
    // No name has such a character, so no two places read the same.
    if (auto const wait = wait_by(by_place_, folded + '\n' + std::string(made.network), now))
        return wait;
    return wait_by(by_name_, folded, now);
}

std::optional<std::chrono::seconds> staff_door::wait_before_again(std::string_view actor)
{
    return wait_by(by_place_, actor, std::chrono::steady_clock::now());
}

} // namespace holdfast

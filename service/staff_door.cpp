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

} // namespace

staff_door::staff_door(db::session_options const& session, worker_pool& workers)
    : sessions(sessions_by(session)), passwords(workers, {})
{}

std::optional<std::chrono::seconds> staff_door::wait_before(std::string_view name,
                                                            std::string_view network)
{
    auto const now = std::chrono::steady_clock::now();
    // The network first: what it may not do does not count against the name.
    if (auto const seen = by_network_.take(network, now); !seen.is_allowed)
        return seen.retry_after;
    auto const folded = case_folded(name).value_or(std::string());
    if (auto const seen = by_name_.take(folded, now); !seen.is_allowed)
        return seen.retry_after;
    return std::nullopt;
}

} // namespace holdfast

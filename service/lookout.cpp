// SPDX-License-Identifier: Apache-2.0
#include "service/lookout.hpp"

#include "service/log.hpp"
#include "service/readiness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>

namespace holdfast {

namespace {

constexpr auto pause = std::chrono::milliseconds(500);

// A look takes a few milliseconds. One that does not come back is as good as a bad one.
constexpr auto statement_timeout_max = std::chrono::milliseconds(2000);
constexpr auto age_max = std::chrono::seconds(5);

constexpr auto does_not_answer = "the database does not answer";

db::session_options hasty(db::session_options options)
{
    options.statement_timeout = std::min(options.statement_timeout, statement_timeout_max);
    options.lock_timeout = std::min(options.lock_timeout, options.statement_timeout);
    return options;
}

} // namespace

lookout::lookout(db::session_options options, authenticator& keys, blocked_customers& blocked)
    : link_(hasty(std::move(options))), keys_(keys), blocked_(blocked)
{
    look();
    thread_ = std::jthread([this](std::stop_token const& stop) { keep_looking(stop); });
}

std::vector<std::string> lookout::reasons() const
{
    std::scoped_lock const lock(mutex_);
    if (clock::now() - looked_at_ > age_max)
        return {does_not_answer};
    return reasons_;
}

void lookout::look()
{
    std::vector<std::string> found;
    try {
        found = database_is_ready(link_);
        if (found.empty())
            keys_.refresh(link_);
    } catch (db::error const&) {
        found = {does_not_answer};
    }
    if (found.empty())
        look_at_blocked();
    std::scoped_lock const lock(mutex_);
    if (found != reasons_ && found.empty())
        log::info("database.ready");
    else if (found != reasons_)
        log::warning("database.not_ready",
                     {{"reasons", fmt::format("{}", fmt::join(found, "; "))}});
    reasons_ = std::move(found);
    looked_at_ = clock::now();
}

// A long list may take longer than a look: that is no reason not to serve.
void lookout::look_at_blocked()
{
    try {
        blocked_.refresh(link_);
    } catch (db::error const& fault) {
        log::warning("blocked_customers.not_read", {{"fault", fault.what()}});
    }
}

void lookout::keep_looking(std::stop_token const& stop)
{
    std::mutex sleeping;
    std::condition_variable_any wake;
    while (!stop.stop_requested()) {
        {
            std::unique_lock lock(sleeping);
            wake.wait_for(lock, stop, pause, [] { return false; });
        }
        if (!stop.stop_requested())
            look();
    }
}

} // namespace holdfast

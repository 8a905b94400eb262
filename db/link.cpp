// SPDX-License-Identifier: Apache-2.0
#include "db/link.hpp"

#include <thread>

namespace holdfast::db {

namespace {

// Each attempt costs a server that is just recovering a process.
constexpr auto pause_after_failure = std::chrono::milliseconds(250);

} // namespace

session& link::session()
{
    if (session_ && !session_->is_usable())
        session_.reset();
    if (session_)
        return *session_;
    std::this_thread::sleep_until(next_attempt_);
    try {
        session_ = std::make_unique<db::session>(options_);
        ++sessions_made_;
    } catch (error const&) {
        next_attempt_ = std::chrono::steady_clock::now() + pause_after_failure;
        throw;
    }
    return *session_;
}

} // namespace holdfast::db

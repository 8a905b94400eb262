// SPDX-License-Identifier: Apache-2.0
// A session that is made when it is needed and made anew after a fault. Owned by one thread.
#pragma once

#include "db/session.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast::db {

class link {
public:
    explicit link(session_options options) : options_(std::move(options)) {}

    // Connects when there is no usable session; after a failure not at once again, so that a server
    // that comes back is not kept from it by those who wait. Throws db::error (unavailable).
    [[nodiscard]] db::session& session();

    // Forgets the session; the next use makes a new one.
    void drop() noexcept { session_.reset(); }

    // How many sessions there were: another number means that what belonged to one, such as its
    // locks, is gone.
    [[nodiscard]] std::uint64_t sessions_made() const noexcept { return sessions_made_; }

    [[nodiscard]] bool is_connected() const noexcept { return session_ != nullptr; }
    [[nodiscard]] session_options const& options() const noexcept { return options_; }

private:
    session_options options_;
    std::unique_ptr<db::session> session_;
    std::uint64_t sessions_made_ = 0;
    std::chrono::steady_clock::time_point next_attempt_;
};

} // namespace holdfast::db

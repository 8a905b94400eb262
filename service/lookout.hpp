// SPDX-License-Identifier: Apache-2.0
// Looks at the database twice a second on a session of its own, so that an answer is there before
// anybody asks, however long the queue is.
#pragma once

#include "db/link.hpp"
#include "service/api_keys.hpp"
#include "service/blocked_customers.hpp"

#include <chrono>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {

class lookout {
public:
    // Has had its first look when it is made. Keeps `keys` and `blocked` up to date, too.
    lookout(db::session_options, authenticator& keys, blocked_customers& blocked);

    // Why the database cannot serve requests, in sentences without any text of its own; empty when
    // it can. A look that is too long ago says that it does not answer.
    [[nodiscard]] std::vector<std::string> reasons() const;

private:
    using clock = std::chrono::steady_clock;

    void look();
    void look_at_blocked();
    void keep_looking(std::stop_token const&);

    db::link link_;
    authenticator& keys_;
    blocked_customers& blocked_;
    std::mutex mutable mutex_; // guards the two below
    std::vector<std::string> reasons_;
    clock::time_point looked_at_;
    std::jthread thread_; // last: it ends before what it uses does
};

} // namespace holdfast

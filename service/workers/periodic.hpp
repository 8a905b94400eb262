// SPDX-License-Identifier: Apache-2.0
// The shape of a worker: a thread with a database session of its own that takes one step after the
// other, without an end and whatever happens.
#pragma once

#include "db/link.hpp"
#include "service/metrics.hpp"

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>

namespace holdfast::workers {

enum class progress { more_to_do, done_for_now };

struct periodic_options {
    std::string name; // in logs and metrics
    db::session_options session;
    std::chrono::milliseconds pause{1000}; // once there is nothing to do; a fifth more or less
    std::function<void(db::link&)> at_end = {};
    std::chrono::milliseconds pause_after_fault{500}; // at least
};

class periodic {
public:
    using step = std::function<progress(db::link&)>;

    // `step` is one bounded piece of work in transactions of its own. It may throw: the fault is
    // logged when it is a new one, counted, and the step taken again a moment later.
    periodic(periodic_options, step, metrics&);

    // Ends after the step that is under way, and `at_end` if there is one.
    ~periodic();
    periodic(periodic const&) = delete;
    periodic& operator=(periodic const&) = delete;

private:
    void run(std::stop_token const&);
    std::chrono::milliseconds take_step(db::link&);
    void end(db::link&);

    periodic_options options_;
    step step_;
    metrics& metrics_;
    std::string last_fault_; // of the step before
    std::jthread thread_;    // last: it ends before what it uses does
};

} // namespace holdfast::workers

// SPDX-License-Identifier: Apache-2.0
#include "service/workers/periodic.hpp"

#include "service/log.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <random>
#include <utility>

namespace holdfast::workers {

namespace {

// A fifth more or less, so that processes started together do not stay in step.
std::chrono::milliseconds jittered(std::chrono::milliseconds pause)
{
    thread_local std::minstd_rand random{std::random_device()()};
    std::uniform_real_distribution<double> factor(0.8, 1.2);
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(static_cast<double>(pause.count()) * factor(random)));
}

} // namespace

periodic::periodic(periodic_options options, step s, metrics& m)
    : options_(std::move(options)), step_(std::move(s)), metrics_(m),
      thread_([this](std::stop_token const& stop) { run(stop); })
{}

periodic::~periodic() = default;

void periodic::run(std::stop_token const& stop)
{
    db::link link(options_.session);
    std::mutex sleeping;
    std::condition_variable_any wake;
    while (!stop.stop_requested()) {
        auto const pause = take_step(link);
        std::unique_lock lock(sleeping);
        if (pause.count() > 0)
            wake.wait_for(lock, stop, jittered(pause), [] { return false; });
    }
    if (options_.at_end)
        end(link);
}

void periodic::end(db::link& link)
{
    try {
        options_.at_end(link);
    } catch (std::exception const& e) {
        log::warning("worker.fault", {{"worker", options_.name}, {"fault", e.what()}});
    }
}

// Returns how long to rest.
std::chrono::milliseconds periodic::take_step(db::link& link)
{
    try {
        auto const made = step_(link);
        if (!std::exchange(last_fault_, {}).empty())
            log::info("worker.recovered", {{"worker", options_.name}});
        return made == progress::more_to_do ? std::chrono::milliseconds(0) : options_.pause;
    } catch (std::exception const& e) {
        metrics_.worker_failed(options_.name);
        if (last_fault_ != e.what())
            log::warning("worker.fault", {{"worker", options_.name}, {"fault", e.what()}});
        last_fault_ = e.what();
        return std::max(options_.pause, options_.pause_after_fault);
    }
}

} // namespace holdfast::workers

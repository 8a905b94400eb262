// SPDX-License-Identifier: Apache-2.0
#include "db/watchdog.hpp"

#include <sys/socket.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>

namespace holdfast::db {

namespace {

using clock = std::chrono::steady_clock;

// How often overdue waits are looked for; it adds at most this much to a deadline of seconds.
constexpr auto look_every = std::chrono::milliseconds(250);

constexpr clock::rep idle = 0;

} // namespace

struct watch::entry {
    int socket;
    std::atomic<clock::rep> deadline{idle};
};

namespace {

class watchdog {
public:
    void add(std::shared_ptr<watch::entry> e)
    {
        std::scoped_lock const lock(mutex_);
        entries_.insert(std::move(e));
    }

    void remove(std::shared_ptr<watch::entry> const& e)
    {
        std::scoped_lock const lock(mutex_);
        entries_.erase(e);
    }

private:
    void cut_overdue()
    {
        auto const now = clock::now().time_since_epoch().count();
        for (auto const& e : entries_) {
            auto const deadline = e->deadline.load(std::memory_order_relaxed);
            if (deadline != idle && deadline < now)
                ::shutdown(e->socket, SHUT_RDWR);
        }
    }

    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::set<std::shared_ptr<watch::entry>> entries_;
    std::jthread thread_{[this](std::stop_token const& stop) {
        std::unique_lock lock(mutex_);
        while (!stop.stop_requested()) {
            wake_.wait_for(lock, stop, look_every, [] { return false; });
            cut_overdue();
        }
    }};
};

watchdog& the_watchdog()
{
    static watchdog instance;
    return instance;
}

} // namespace

watch::watch(int socket) : entry_(std::make_shared<entry>())
{
    entry_->socket = socket;
    the_watchdog().add(entry_);
}

watch::~watch()
{
    the_watchdog().remove(entry_);
}

void watch::begin(std::chrono::milliseconds longest) noexcept
{
    entry_->deadline.store((clock::now() + longest).time_since_epoch().count(),
                           std::memory_order_relaxed);
}

void watch::end() noexcept
{
    entry_->deadline.store(idle, std::memory_order_relaxed);
}

} // namespace holdfast::db

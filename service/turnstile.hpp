// SPDX-License-Identifier: Apache-2.0
// Lets only so much of one kind of work be on the workers at once, and a bounded number wait for
// it, for a bounded time. Who waits here takes no worker away from anybody.
#pragma once

#include "service/worker_pool.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <type_traits>
#include <utility>

namespace holdfast {

class turnstile {
public:
    struct limits {
        std::size_t at_once = 2;
        std::size_t waiting_max = 32;
        std::chrono::milliseconds wait_max{5000};
    };

    turnstile(worker_pool& workers, limits most) : workers_(workers), most_(most) {}
    turnstile(turnstile const&) = delete;
    turnstile& operator=(turnstile const&) = delete;

    // As worker_pool::run, once there is room. Throws overloaded when too many wait already, when
    // the time was over before it was this one's turn, or after stop(); then nothing has happened.
    template <class Work>
    boost::asio::awaitable<std::invoke_result_t<Work&, db::link&>> run(Work work)
    {
        co_await enter();
        visit const inside(*this);
        co_return co_await workers_.run(std::move(work));
    }

    // Turns away whoever waits, and whoever comes from now on. Who is inside goes on.
    void stop();

private:
    using clock = std::chrono::steady_clock;

    struct waiting {
        std::function<void(bool is_let_in)> go_on;
        clock::time_point until;
    };

    // Somebody inside, who leaves whatever happens there.
    class visit {
    public:
        explicit visit(turnstile& to) : to_(to) {}
        ~visit() { to_.leave(); }
        visit(visit const&) = delete;
        visit& operator=(visit const&) = delete;

    private:
        turnstile& to_;
    };

    boost::asio::awaitable<void> enter();
    void admit(std::function<void(bool is_let_in)> go_on);
    void leave();

    worker_pool& workers_;
    limits most_;
    std::mutex mutex_; // guards what is below
    bool is_stopping_ = false;
    std::size_t inside_ = 0;
    std::deque<waiting> line_;
};

} // namespace holdfast

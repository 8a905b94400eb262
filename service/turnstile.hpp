// SPDX-License-Identifier: Apache-2.0
// Lets only so much of one kind of work be on the workers at once, and a bounded number wait for
// it. Who waits here takes no worker away from anybody.
#pragma once

#include "service/worker_pool.hpp"

#include <boost/asio/awaitable.hpp>

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
    };

    turnstile(worker_pool& workers, limits most) : workers_(workers), most_(most) {}
    turnstile(turnstile const&) = delete;
    turnstile& operator=(turnstile const&) = delete;

    // As worker_pool::run, once there is room. Throws overloaded when too many wait already.
    template <class Work>
    boost::asio::awaitable<std::invoke_result_t<Work&, db::link&>> run(Work work)
    {
        co_await enter();
        visit const inside(*this);
        co_return co_await workers_.run(std::move(work));
    }

private:
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
    [[nodiscard]] bool admit(std::function<void()> go_on);
    void leave();

    worker_pool& workers_;
    limits most_;
    std::mutex mutex_; // guards the two below
    std::size_t inside_ = 0;
    std::deque<std::function<void()>> line_;
};

} // namespace holdfast

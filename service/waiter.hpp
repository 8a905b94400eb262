// SPDX-License-Identifier: Apache-2.0
// Coroutines that wait for what other threads do for them, and how those threads let them go on.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace holdfast {

struct waiter {
    boost::asio::any_io_executor executor = {};
    std::function<void()> resume = {}; // to be called there
};

// Waits until it is resumed. `push` hands the waiter to whoever will do that; when it returns false
// nobody will, and false is returned.
template <class Push>
boost::asio::awaitable<bool> wait_in_queue(waiter& who, Push push)
{
    namespace asio = boost::asio;
    who.executor = co_await asio::this_coro::executor;
    bool is_queued = true;
    auto initiate = [&](auto handler) {
        auto const resume = std::make_shared<decltype(handler)>(std::move(handler));
        who.resume = [resume] { std::move (*resume)(); };
        if (push())
            return; // `who` may be gone by now
        is_queued = false;
        asio::post(who.executor, std::move(who.resume));
    };
    co_await asio::async_initiate<asio::use_awaitable_t<> const, void()>(initiate,
                                                                         asio::use_awaitable);
    co_return is_queued;
}

// Lets them go on, with one hand-over for each thread that waits. They are gone once they do.
void resume_all(std::vector<waiter*>);

// Waits for a while.
boost::asio::awaitable<void> rest(std::chrono::milliseconds);

} // namespace holdfast

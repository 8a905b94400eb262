// SPDX-License-Identifier: Apache-2.0
#include "service/turnstile.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>

namespace holdfast {

boost::asio::awaitable<void> turnstile::enter()
{
    namespace asio = boost::asio;
    bool was_let_in = false;
    auto const executor = co_await asio::this_coro::executor;
    auto initiate = [&](auto handler) {
        auto const resume = std::make_shared<decltype(handler)>(std::move(handler));
        admit([&was_let_in, executor, resume](bool is_let_in) {
            was_let_in = is_let_in;
            asio::post(executor, [resume] { std::move (*resume)(); });
        });
    };
    co_await asio::async_initiate<asio::use_awaitable_t<> const, void()>(initiate,
                                                                         asio::use_awaitable);
    if (!was_let_in)
        throw overloaded();
}

// Calls `go_on` once, now or later, with whether there is room inside.
void turnstile::admit(std::function<void(bool)> go_on)
{
    bool is_let_in = false;
    {
        std::scoped_lock const lock(mutex_);
        is_let_in = !is_stopping_ && inside_ < most_.at_once;
        if (is_let_in) {
            ++inside_;
        } else if (!is_stopping_ && line_.size() < most_.waiting_max) {
            line_.push_back({std::move(go_on), clock::now() + most_.wait_max});
            return;
        }
    }
    go_on(is_let_in);
}

// Nobody watches the clock for those who wait: somebody leaves again and again, as the workers'
// queue and the database's timeouts see to it, and sends away who is too late.
void turnstile::leave()
{
    std::deque<waiting> too_late;
    std::function<void(bool)> next;
    {
        std::scoped_lock const lock(mutex_);
        auto const now = clock::now();
        while (!line_.empty() && line_.front().until <= now) {
            too_late.push_back(std::move(line_.front()));
            line_.pop_front();
        }
        if (line_.empty()) {
            --inside_;
        } else {
            next = std::move(line_.front().go_on);
            line_.pop_front();
        }
    }
    for (auto const& one : too_late)
        one.go_on(false);
    if (next)
        next(true);
}

void turnstile::stop()
{
    std::deque<waiting> all;
    {
        std::scoped_lock const lock(mutex_);
        is_stopping_ = true;
        all.swap(line_);
    }
    for (auto const& one : all)
        one.go_on(false);
}

} // namespace holdfast

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
    bool is_full = false;
    auto const executor = co_await asio::this_coro::executor;
    auto initiate = [&](auto handler) {
        auto const resume = std::make_shared<decltype(handler)>(std::move(handler));
        std::function<void()> const go_on = [executor, resume] {
            asio::post(executor, [resume] { std::move (*resume)(); });
        };
        if (!admit(go_on)) {
            is_full = true;
            go_on();
        }
    };
    co_await asio::async_initiate<asio::use_awaitable_t<> const, void()>(initiate,
                                                                         asio::use_awaitable);
    if (is_full)
        throw overloaded();
}

// Calls `go_on` now or when somebody leaves; never when there is no room to wait.
bool turnstile::admit(std::function<void()> go_on)
{
    {
        std::scoped_lock const lock(mutex_);
        if (inside_ == most_.at_once) {
            if (line_.size() == most_.waiting_max)
                return false;
            line_.push_back(std::move(go_on));
            return true;
        }
        ++inside_;
    }
    go_on();
    return true;
}

void turnstile::leave()
{
    std::function<void()> next;
    {
        std::scoped_lock const lock(mutex_);
        if (line_.empty()) {
            --inside_;
            return;
        }
        next = std::move(line_.front());
        line_.pop_front();
    }
    next();
}

} // namespace holdfast

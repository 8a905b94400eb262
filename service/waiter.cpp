// SPDX-License-Identifier: Apache-2.0
#include "service/waiter.hpp"

#include <algorithm>
#include <span>

namespace holdfast {

void resume_all(std::vector<waiter*> all)
{
    std::span<waiter*> left(all);
    while (!left.empty()) {
        auto const executor = left.front()->executor;
        auto const others = std::stable_partition(
            left.begin(), left.end(), [&](waiter const* c) { return c->executor == executor; });
        auto const count = static_cast<std::size_t>(others - left.begin());
        std::vector<std::function<void()>> waiters;
        waiters.reserve(count);
        for (auto* c : left.first(count))
            waiters.push_back(std::move(c->resume));
        left = left.subspan(count);
        boost::asio::post(executor, [waiters = std::move(waiters)] {
            for (auto const& resume : waiters)
                resume();
        });
    }
}

boost::asio::awaitable<void> rest(std::chrono::milliseconds time)
{
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, time);
    co_await timer.async_wait(boost::asio::use_awaitable);
}

} // namespace holdfast

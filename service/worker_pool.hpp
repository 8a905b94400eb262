// SPDX-License-Identifier: Apache-2.0
// Threads that own a database session each and do the work that blocks. The queue before them is
// bounded in length and in time: what cannot be done soon is refused at once.
#pragma once

#include "db/link.hpp"
#include "service/metrics.hpp"
#include "service/overload.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

// A worker's session, counted in the metrics. It is opened at once if the database is there, so
// that the first request does not wait for a connection.
class session_gauge {
public:
    session_gauge(db::session_options, metrics&);
    ~session_gauge();
    session_gauge(session_gauge const&) = delete;
    session_gauge& operator=(session_gauge const&) = delete;

    template <class Work>
    void use(Work&& work)
    {
        metrics_.database_session_busy(1);
        work(link_);
        metrics_.database_session_busy(-1);
        recount();
    }

private:
    void recount();

    db::link link_;
    metrics& metrics_;
    bool was_connected_ = false;
};

struct worker_pool_options {
    db::session_options session;
    std::size_t threads = 8;
    std::size_t queue_length_max = 4096;
    std::chrono::milliseconds queue_wait_max{2000};
};

class worker_pool {
public:
    worker_pool(worker_pool_options, metrics&);
    ~worker_pool();
    worker_pool(worker_pool const&) = delete;
    worker_pool& operator=(worker_pool const&) = delete;

    // Runs `work(db::link&)` on a worker and resumes the caller on its own thread with what it
    // returns or throws. Throws overloaded when the queue is full or the work waited there too
    // long; then nothing has happened. What `work` refers to must outlive the call.
    template <class Work>
    boost::asio::awaitable<std::invoke_result_t<Work&, db::link&>> run(Work work);

    // Runs `work` on a worker, or calls `too_late` there when it waited in the queue too long.
    // False, and neither is called, when the queue is full.
    [[nodiscard]] bool post(std::function<void(db::link&)> work, std::function<void()> too_late);

    // Does what is queued, then ends the threads. Call it once nobody calls run() any more.
    void stop();

private:
    struct job {
        std::function<void(db::link&)> work;
        std::function<void()> too_late;
        std::chrono::steady_clock::time_point queued_at;
    };

    void work_through();

    worker_pool_options options_;
    metrics& metrics_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<job> queue_;
    bool is_stopping_ = false;
    std::vector<std::jthread> threads_;
};

template <class Work>
boost::asio::awaitable<std::invoke_result_t<Work&, db::link&>> worker_pool::run(Work work)
{
    namespace asio = boost::asio;
    std::optional<std::invoke_result_t<Work&, db::link&>> value;
    std::exception_ptr fault;
    auto const executor = co_await asio::this_coro::executor;
    auto initiate = [&](auto handler) {
        auto const resume = std::make_shared<decltype(handler)>(std::move(handler));
        auto const go_on = [executor, resume] {
            asio::post(executor, [resume] { std::move (*resume)(); });
        };
        auto const fail = [&fault, go_on] {
            fault = std::make_exception_ptr(overloaded());
            go_on();
        };
        auto const run_it = [&value, &fault, &work, go_on](db::link& link) {
            try {
                value.emplace(work(link));
            } catch (...) {
                fault = std::current_exception(); // thrown again where the caller waits
            }
            go_on();
        };
        if (!post(run_it, fail))
            fail();
    };
    co_await asio::async_initiate<asio::use_awaitable_t<> const, void()>(initiate,
                                                                         asio::use_awaitable);
    if (fault)
        std::rethrow_exception(fault);
    co_return std::move(*value);
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "service/worker_pool.hpp"

namespace holdfast {

session_gauge::session_gauge(db::session_options options, metrics& m)
    : link_(std::move(options)), metrics_(m)
{
    try {
        (void)link_.session();
    } catch (db::error const&) {
        link_.drop(); // the first command tries again, and says what is wrong
    }
    recount();
}

session_gauge::~session_gauge()
{
    link_.drop();
    recount();
}

void session_gauge::recount()
{
    if (link_.is_connected() == was_connected_)
        return;
    was_connected_ = link_.is_connected();
    metrics_.database_session_open(was_connected_ ? 1 : -1);
}

worker_pool::worker_pool(worker_pool_options options, metrics& m)
    : options_(std::move(options)), metrics_(m)
{
    for (std::size_t i = 0; i < options_.threads; ++i)
        threads_.emplace_back([this] { work_through(); });
}

worker_pool::~worker_pool()
{
    stop();
}

void worker_pool::stop()
{
    {
        std::scoped_lock const lock(mutex_);
        is_stopping_ = true;
    }
    wake_.notify_all();
    threads_.clear();
}

bool worker_pool::post(std::function<void(db::link&)> work, std::function<void()> too_late)
{
    {
        std::scoped_lock const lock(mutex_);
        if (is_stopping_ || queue_.size() >= options_.queue_length_max) {
            metrics_.queue_rejected();
            return false;
        }
        queue_.push_back({std::move(work), std::move(too_late), std::chrono::steady_clock::now()});
    }
    metrics_.queued(1);
    wake_.notify_one();
    return true;
}

void worker_pool::work_through()
{
    session_gauge link(options_.session, metrics_);
    for (;;) {
        job next;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return is_stopping_ || !queue_.empty(); });
            if (queue_.empty())
                return;
            next = std::move(queue_.front());
            queue_.pop_front();
        }
        metrics_.queued(-1);
        auto const waited = std::chrono::steady_clock::now() - next.queued_at;
        metrics_.queue_waited(waited);
        if (waited > options_.queue_wait_max) {
            metrics_.queue_rejected();
            next.too_late();
            continue;
        }
        link.use(next.work);
    }
}

} // namespace holdfast

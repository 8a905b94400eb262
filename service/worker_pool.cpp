// SPDX-License-Identifier: Apache-2.0
#include "service/worker_pool.hpp"

namespace holdfast {

worker_pool::worker_pool(worker_pool_options options, metrics& m)
    : options_(std::move(options)), metrics_(m)
{
    for (std::size_t i = 0; i < options_.threads; ++i)
        threads_.emplace_back([this] { work_through(db::link(options_.session)); });
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

bool worker_pool::push(job j)
{
    {
        std::scoped_lock const lock(mutex_);
        if (is_stopping_ || queue_.size() >= options_.queue_length_max) {
            metrics_.queue_rejected();
            return false;
        }
        queue_.push_back(std::move(j));
        metrics_.queue_length(queue_.size());
    }
    wake_.notify_one();
    return true;
}

void worker_pool::work_through(db::link link)
{
    bool was_connected = false;
    for (;;) {
        job next;
        {
            std::unique_lock lock(mutex_);
            wake_.wait(lock, [&] { return is_stopping_ || !queue_.empty(); });
            if (queue_.empty())
                return;
            next = std::move(queue_.front());
            queue_.pop_front();
            metrics_.queue_length(queue_.size());
        }
        auto const waited = std::chrono::steady_clock::now() - next.queued_at;
        metrics_.queue_waited(waited);
        if (waited > options_.queue_wait_max) {
            metrics_.queue_rejected();
            next.too_late();
            continue;
        }
        metrics_.database_sessions_busy(++busy_);
        next.work(link);
        metrics_.database_sessions_busy(--busy_);
        if (link.is_connected() != was_connected) {
            was_connected = link.is_connected();
            metrics_.database_sessions_open(was_connected ? ++open_ : --open_);
        }
    }
}

} // namespace holdfast

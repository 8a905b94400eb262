// SPDX-License-Identifier: Apache-2.0
// Commands about one SKU go through one lane: a bounded queue before a worker with a database
// session of its own. The worker takes whatever has queued while its last transaction was in
// flight, up to a cap, and does it in one transaction. So one command alone waits for nobody, and
// in a rush hundreds share one row lock and one flush of the WAL.
#pragma once

#include "service/reservations.hpp"
#include "service/waiter.hpp"
#include "service/worker_pool.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <variant>
#include <vector>

namespace holdfast {

struct lane_options {
    db::session_options session;
    std::size_t lanes = 2;
    std::size_t batch_max = 256;         // commands in one transaction
    std::size_t queue_length_max = 4096; // of each lane
    std::chrono::milliseconds queue_wait_max{2000};
};

class lanes {
public:
    // Commands that have to be done alone go to `aside`, which must outlive the lanes.
    lanes(lane_options, reservations const&, worker_pool& aside, metrics&);
    ~lanes();
    lanes(lanes const&) = delete;
    lanes& operator=(lanes const&) = delete;

    // Does the command on its lane and resumes the caller on its own thread. What it refers to must
    // outlive the call. Refusals: those of reservations::reserve. Throws overloaded when the queue
    // is full or the command waited there too long; then nothing has happened.
    boost::asio::awaitable<result<outcome<reservation>>> run(reserve_command const&);

    // Refusals: those of confirm, release, extend.
    boost::asio::awaitable<result<reservation>> run(settle_command const&);

    // Does what is queued, then ends the threads. Call it once nobody calls run() any more.
    void stop();

private:
    // A command, and where its answer goes.
    struct waiting {
        std::variant<reserve_command const*, settle_command const*> command;
        reserve_answer reserved = {};
        settle_answer settled = {};
        std::exception_ptr fault = {};
        std::chrono::steady_clock::time_point queued_at = {};
        waiter who = {};
    };

    struct lane {
        std::mutex mutex;
        std::condition_variable wake;
        std::deque<waiting*> queue;
        bool is_stopping = false;
    };

    boost::asio::awaitable<void> wait(waiting&, std::uint16_t hint);
    [[nodiscard]] bool push(lane&, waiting&);
    [[nodiscard]] std::size_t share_of(std::size_t queued, std::size_t answered) const noexcept;
    void work_through(lane&);
    void do_batch(db::link&, std::span<waiting*> batch);
    void settle(db::link&, std::span<waiting*>);
    void reserve(db::link&, std::span<waiting*>);
    void finish(std::span<waiting*>);
    [[nodiscard]] bool set_aside(waiting&);
    static void answer(std::span<waiting*>);

    lane_options options_;
    reservations const& reservations_;
    worker_pool& aside_;
    metrics& metrics_;
    std::vector<std::unique_ptr<lane>> lanes_;
    std::vector<std::jthread> threads_;
};

} // namespace holdfast

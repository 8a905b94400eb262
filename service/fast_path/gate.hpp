// SPDX-License-Identifier: Apache-2.0
// The way to Redis: a bounded queue before some threads, each with a connection of its own. A
// thread takes whatever has queued while Redis answered it last, up to a cap, and asks all of it in
// one go, those about one bucket in one call: natural batching, as lanes do.
#pragma once

#include "redis/client.hpp"
#include "service/fast_path/admission.hpp"
#include "service/metrics.hpp"
#include "service/waiter.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace holdfast::fast_path {

struct gate_options {
    redis::target where;
    redis::timeouts limits{.connect = std::chrono::milliseconds(200),
                           .answer = std::chrono::milliseconds(200)};
    std::string prefix = "holdfast";
    std::size_t connections = 1;
    std::size_t batch_max = 256; // requests asked in one go
    std::size_t queue_length_max = 4096;
    std::chrono::milliseconds queue_wait_max{2000};
};

class gate {
public:
    gate(gate_options, metrics&);
    ~gate();
    gate(gate const&) = delete;
    gate& operator=(gate const&) = delete;

    // Asks Redis, and resumes the caller on its own thread. What it refers to must outlive the
    // call. Throws overloaded when the queue is full or the request waited there too long; then
    // nothing was asked.
    boost::asio::awaitable<void> ask(admission&);

    // The answers to these, LOST ones included. Throws overloaded.
    boost::asio::awaitable<std::vector<redis::reply>> run(std::vector<redis::request> const&);

    // Tells Redis within milliseconds, along with whoever asks it. What finds no room is left to
    // the reconciler.
    void tell(std::vector<telling>);

    // The same, and resumes the caller when it is done or given up.
    boost::asio::awaitable<void> tell_now(std::vector<telling> const&);

    [[nodiscard]] std::string const& prefix() const noexcept { return options_.prefix; }

    // Asks Redis some time soon, and nobody hears the answers. What finds no room is given up.
    void send(std::vector<redis::request>);

    // Does what is queued, then ends the threads.
    void stop();

private:
    struct waiting {
        std::variant<admission*, std::vector<telling>, std::vector<redis::request> const*,
                     std::vector<redis::request>>
            what;
        std::vector<redis::reply> replies = {};
        std::exception_ptr fault = {};
        std::chrono::steady_clock::time_point queued_at = {};
        waiter who = {};
        std::shared_ptr<waiting> kept = {}; // by itself, when nobody waits
    };

    struct work {
        std::vector<waiting*> asked;
        std::vector<telling> told;
    };

    boost::asio::awaitable<void> wait(waiting&);
    [[nodiscard]] bool push(waiting*);
    [[nodiscard]] work take();
    void work_through();
    void do_batch(redis::client&, work&);
    static void run_raw(redis::client&, std::span<waiting* const>);
    static void run_together(redis::client&, std::span<waiting* const>);
    [[nodiscard]] static std::vector<redis::request> const& requests_of(waiting const&);
    void count(std::vector<admission*> const&);
    static void answer(std::vector<waiting*> const&);

    gate_options options_;
    metrics& metrics_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<waiting*> queue_;
    std::deque<telling> told_;
    std::chrono::steady_clock::time_point told_by_; // where there are some
    bool is_stopping_ = false;
    std::vector<std::jthread> threads_;
};

} // namespace holdfast::fast_path

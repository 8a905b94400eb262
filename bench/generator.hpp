// SPDX-License-Identifier: Apache-2.0
// The load: many keep-alive connections on one thread, by epoll and plain sockets, because it
// shares the processors with what it measures. Each connection has one request under way at a time.
#pragma once

#include "bench/request_text.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace holdfast::bench {

struct item_range {
    std::uint32_t first = 1;
    std::uint32_t count = 1;
};

struct stream_plan {
    request_text request;
    item_range items; // each request names one of them at random
    std::size_t connections = 64;

    // Closed loop without it: each connection sends its next request after the answer. With it
    // request i is due i / rate seconds after the start, whether or not a connection is free then,
    // and its latency counts from there: a service that stalls cannot hide what had to wait.
    std::optional<double> rate;
};

struct load_timing {
    std::chrono::milliseconds warm_up{500}; // sent and checked, but not measured
    std::chrono::milliseconds measured{2000};
};

// Called from within the load; each should be quick.
struct load_watch {
    std::function<void()> begin = [] {}; // the measured time begins
    std::function<void()> tick = [] {};  // about once a second
    std::function<void()> end = [] {};   // the measured time is over
};

// Answers of one kind.
struct answers {
    std::uint64_t count = 0; // within the measured time

    // In the closed loop of the answers within the measured time, in the open loop of the requests
    // due within it, whenever they were answered.
    std::vector<std::uint32_t> latencies_us;
};

// What came of the requests of one stream.
struct tally {
    static constexpr std::size_t status_max = 599;

    std::array<std::uint64_t, status_max + 1> statuses{}; // how often each, of the whole load
    answers accepted;                                     // 2xx
    answers refused;                                      // 4xx
    answers unavailable;                                  // everything else
    double seconds = 0;                                   // measured

    [[nodiscard]] answers& of(int status);
    [[nodiscard]] double per_second(answers const& some) const
    {
        return static_cast<double>(some.count) / seconds;
    }
};

// Plays all streams at once against a service on this machine and returns when every request is
// answered. Throws std::runtime_error when a connection breaks or an answer does not come, and
// interrupted.
[[nodiscard]] std::vector<tally> run_load(std::uint16_t port, std::vector<stream_plan> streams,
                                          load_timing const& timing, load_watch const& watch = {});

} // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
// Fires many requests over many keep-alive connections from one thread, each until it is answered
// or its tries are used up. It knows HTTP and time; what the requests mean is its caller's
// business.

#pragma once

#include "service/cli/client.hpp"
#include "service/cli/retry.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

// What one request came to. The texts are gone once the callback returns.
struct settled_request {
    std::uint64_t index = 0;
    int status = 0; // 0 when no answer came.
    std::string_view body;
    std::string_view location;
    std::string_view trouble;     // Why no answer came.
    std::uint32_t latency_us = 0; // From the moment it was due, further tries included.
};

enum class next_step { go_on, stop };

struct rush_plan {
    base_url where;
    std::uint64_t requests = 0;
    std::uint32_t clients = 1; // Connections, and so the most requests in flight at once.

    // Closed loop without it: every client sends its next request after the answer. With it request
    // i is due i / rate seconds after the start, whether or not earlier ones are answered, and its
    // latency counts from there: a service that stalls cannot hide the requests that had to wait.
    std::optional<double> rate;

    retry_limits retry;
    std::chrono::seconds request_deadline{60};
    // With requests waiting and none of them answered for so long, the rush is given up: each of
    // thousands using up its own tries would take hours to say the same.
    std::chrono::seconds silence_max{60};
    std::chrono::milliseconds pulse{250};

    // Appends the bytes of request i. They stay the same over its tries.
    std::function<void(std::uint64_t, std::string&)> write_request;
    std::function<next_step(settled_request const&)> on_settled;
    std::function<void()> on_pulse;
};

struct rush_outcome {
    std::uint64_t settled = 0;
    std::uint64_t retried = 0; // Tries beyond the first, over all requests.
    std::chrono::nanoseconds took{0};
    bool was_given_up = false;    // After silence_max.
    bool was_interrupted = false; // By SIGINT or SIGTERM: what was in flight was still waited for.
};

// Throws command_error when the connections cannot even be had.
[[nodiscard]] rush_outcome run_rush(rush_plan const& plan);

} // namespace holdfast::cli

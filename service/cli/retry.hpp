// SPDX-License-Identifier: Apache-2.0
// When a request is worth another try, and how long to wait before it. Pure; the waiting is done by
// the callers.

#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace holdfast::cli {

struct retry_limits {
    int tries_max = 10;
    std::chrono::milliseconds time_max{30'000};
    std::chrono::milliseconds pause_first{50};
    std::chrono::milliseconds pause_max{5'000};
    // A server may ask for hours; a command at a terminal does not wait that long.
    std::chrono::milliseconds retry_after_max{5'000};
};

struct tries_so_far {
    int tries = 0; // The first one included.
    std::chrono::milliseconds spent{0};
    std::optional<std::chrono::seconds> retry_after = {};
};

// True for answers that say "not now": 429, 502, 503, 504 and a key whose first request still runs.
// Sending the same key again is safe for all of them.
[[nodiscard]] bool may_be_retried(int status, std::string_view body);

// Doubles from pause_first to pause_max; `jitter` (0 to 1) spreads it over its upper half, on top
// of what the server asked for. Nothing when the tries or the time are used up.
[[nodiscard]] std::optional<std::chrono::milliseconds>
pause_before_retry(retry_limits const& limits, tries_so_far const& so_far, double jitter);

// The delay of a Retry-After header given in seconds. Its date form is not used by Holdfast and
// reads as absent.
[[nodiscard]] std::optional<std::chrono::seconds> parse_retry_after(std::string_view value);

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0

#include "service/cli/retry.hpp"

#include "service/cli/answer.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace holdfast::cli {

using std::chrono::milliseconds;

bool may_be_retried(int status, std::string_view body)
{
    switch (status) {
    case 429:
    case 502:
    case 503:
    case 504: return true;
    case 409: return problem_code(body) == "idempotency-key-in-progress";
    default: return false;
    }
}

std::optional<milliseconds> pause_before_retry(retry_limits const& limits,
                                               tries_so_far const& so_far, double jitter)
{
    if (so_far.tries >= limits.tries_max)
        return std::nullopt;

    auto backoff = limits.pause_first;
    for (int doubled = 1; doubled < so_far.tries && backoff < limits.pause_max; ++doubled)
        backoff *= 2;
    backoff = std::min(backoff, limits.pause_max);

    auto const spread = static_cast<double>(backoff.count()) * (0.5 + 0.5 * jitter);
    auto pause = milliseconds{static_cast<milliseconds::rep>(spread)};
    if (so_far.retry_after)
        pause +=
            std::clamp<milliseconds>(*so_far.retry_after, milliseconds{0}, limits.retry_after_max);

    if (so_far.spent + pause > limits.time_max)
        return std::nullopt;
    return pause;
}

std::optional<std::chrono::seconds> parse_retry_after(std::string_view value)
{
    std::uint32_t seconds = 0;
    auto const* const end = value.data() + value.size();
    auto const read = std::from_chars(value.data(), end, seconds);
    if (read.ec != std::errc{} || read.ptr != end)
        return std::nullopt;
    return std::chrono::seconds{seconds};
}

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0
// How often a caller may ask: a token bucket for each key, and the header fields that tell of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace holdfast {

struct rate {
    int per_second = 0; // requests; 0 = no limit
    int burst = 0;      // requests a rested caller may make at once; 0 = as many as per_second
    std::chrono::seconds second{1}; // a longer one makes a slower rate: one request in ten seconds
};

// Thread-safe. Time comes from the caller, so that a test needs no waiting.
class rate_limiter {
public:
    using time_point = std::chrono::steady_clock::time_point;

    // Keys remembered at once; a bucket takes about 200 bytes.
    static constexpr std::size_t keys_max_default = 100'000;

    struct decision {
        bool is_allowed = true;
        int limit = 0;                       // requests a full bucket holds
        std::chrono::seconds window{0};      // in which an empty bucket fills
        int remaining = 0;                   // requests left right now
        std::chrono::seconds reset{0};       // until the bucket is full again
        std::chrono::seconds retry_after{0}; // until the next request fits; 0 when allowed
    };

    explicit rate_limiter(rate, std::size_t keys_max = keys_max_default);

    // Whether there is a limit at all. Without one, `take` allows everything and remembers nothing.
    [[nodiscard]] bool is_on() const noexcept { return capacity_.count() > 0; }

    // Counts one request of this key, unless it is too soon. A refused request costs nothing.
    [[nodiscard]] decision take(std::string_view key, time_point now);

    [[nodiscard]] std::size_t keys_remembered() const;

private:
    struct hash_of_key {
        using is_transparent = void;
        std::size_t operator()(std::string_view key) const noexcept
        {
            return std::hash<std::string_view>{}(key);
        }
    };

    using bucket_map = std::unordered_map<std::string, time_point, hash_of_key, std::equal_to<>>;

    bucket_map::iterator find_or_add(std::string_view key, time_point now);
    void drop_fullest();

    int limit_;
    std::chrono::nanoseconds interval_; // in which one request is earned
    std::chrono::nanoseconds capacity_; // in which an empty bucket fills; 0 = no limit
    std::size_t keys_max_;
    std::mutex mutable mutex_;
    bucket_map full_at_; // a bucket's whole state: when it will be full
    std::set<std::pair<time_point, std::string const*>> by_full_at_;
};

// A limit that a request met, under the name of its policy: lower-case letters and hyphens.
struct met_limit {
    std::string_view policy;
    rate_limiter::decision seen;
};

// Values of the fields `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers,
// such as "key";q=100;w=1 and "key";r=50;t=1. One list item for each limit.
[[nodiscard]] std::string to_ratelimit_policy(std::span<met_limit const>);
[[nodiscard]] std::string to_ratelimit(std::span<met_limit const>);

} // namespace holdfast

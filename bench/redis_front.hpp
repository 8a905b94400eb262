// SPDX-License-Identifier: Apache-2.0
// Redis before an item of a trial: what the service is told of it, how it is switched on, and what
// the service says about it.
#pragma once

#include "tests/support/redis_server.hpp"
#include "tests/support/service_process.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

// Whether a success is committed before it is answered (201), or answered when it stands in a queue
// of Redis (202) and committed from there.
enum class fast_mode { durable, async };

struct redis_front {
    test::redis_server const* server = nullptr;
    fast_mode mode = fast_mode::durable;
    std::optional<int> connections = {}; // absent: as many as the product has by default
};

// How many requests Redis said what about.
struct verdict_counts {
    double refused = 0;
    double taken = 0; // units are there
    double asked = 0; // PostgreSQL has to say
    double lost = 0;  // no answer came
};

// "7.0.15"
[[nodiscard]] std::string version_of(test::redis_server const&);

// Forgets everything, so that no trial inherits the keys of the one before.
void empty(test::redis_server const&);

// What the service is told of it, as flags: only there an empty value counts as one. Events are not
// told to Redis: a load without Redis does not tell them either, and the two are to differ in one
// thing.
[[nodiscard]] std::vector<std::string> arguments_of(redis_front const&);

// Returns when Redis answers for the item. Throws std::runtime_error when it does not come to that.
void switch_on(test::service_process const&, std::string const& sku, fast_mode);

// Waits until everything that was answered 202 is committed, and says how long that took. Throws
// std::runtime_error when it does not end, and interrupted.
[[nodiscard]] double seconds_until_drained(test::service_process const&, std::string const& sku);

// Of two readings of /metrics.
[[nodiscard]] verdict_counts verdicts_between(std::string_view before, std::string_view after);

} // namespace holdfast::bench

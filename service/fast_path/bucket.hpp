// SPDX-License-Identifier: Apache-2.0
// Where Redis keeps what it knows of an item: in one bucket, or in several that lie on different
// nodes of a cluster when one is asked too much.
#pragma once

#include "service/idempotency.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::fast_path {

// The keys of one bucket. They share a hash tag, so one script may use them all.
struct bucket {
    std::string state;
    std::string pending;
    std::string noted;
    std::string customers;
    std::string queue;  // of requests accepted here, a stream
    std::string queued; // which they are

    [[nodiscard]] std::array<std::string, 6> all() const
    {
        return {state, pending, noted, customers, queue, queued};
    }
};

// `prefix` parts shops that share a Redis.
[[nodiscard]] bucket bucket_of(std::string_view prefix, std::string_view sku, int number);

// What a request is noted as: the same for every request with its key.
[[nodiscard]] std::string note_of(std::int64_t api_key_id, std::string_view key);

// The bucket a request turns to first, where it is noted whoever serves it: the same for every
// request with its customer, or with its key when it has none.
[[nodiscard]] int home_of(std::optional<std::string> const& customer, std::string_view note,
                          int buckets);

} // namespace holdfast::fast_path

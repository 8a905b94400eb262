// SPDX-License-Identifier: Apache-2.0
// Doing a request once, however often it is sent. A reservation's key lives in its own row; this is
// for the others (adjustments, returns, imports), and for the lock that makes a duplicate wait.
#pragma once

#include "db/transaction.hpp"
#include "stock/result.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

// What makes two requests the same one: the caller, its key, and a digest of what it asks for.
struct request_key {
    std::int64_t api_key_id = 0;
    std::string key;
    std::array<std::uint8_t, 16> fingerprint{};
};

// What a request led to: done now, or found done by an earlier request with the same key.
template <class T>
struct outcome {
    T value;
    bool is_replay = false;
};

namespace idempotency {

// The number under which PostgreSQL's advisory locks stand for a name. Two names share one by a
// chance of 2^-64, and then only wait for each other.
[[nodiscard]] std::int64_t lock_number(std::string_view kind, std::string_view name);
[[nodiscard]] std::int64_t lock_number(request_key const&);

// Waits for the key's lock, which the transaction then holds to its end. Throws db::error.
void wait_for(db::transaction&, request_key const&);

// Claims the key for this transaction. Returns the text an earlier request kept under it, or
// nothing when this one is the first. Refusals: idempotency_key_reused.
[[nodiscard]] result<std::optional<std::string>> begin(db::transaction&, request_key const&);

// The same without claiming anything, for a request that changes nothing.
[[nodiscard]] result<std::optional<std::string>> find(db::transaction&, request_key const&);

// Keeps what the request led to (the id of what it made, or its totals) under the claimed key.
void finish(db::transaction&, request_key const&, std::string const& kept);

// Forgets at most `keys_max` keys older than `keep`, the oldest first. Returns how many.
std::size_t forget(db::transaction&, std::chrono::seconds keep, std::size_t keys_max);

[[nodiscard]] refusal key_reused();
[[nodiscard]] refusal in_progress();
[[nodiscard]] bool is_wait_for_key(db::error const&) noexcept;

// Runs `work`; answers idempotency_key_in_progress when it waited for the key's lock too long.
template <class Work>
auto refuse_in_progress(Work&& work) -> decltype(work())
{
    try {
        return std::forward<Work>(work)();
    } catch (db::error const& fault) {
        if (is_wait_for_key(fault))
            return in_progress();
        throw;
    }
}

} // namespace idempotency

} // namespace holdfast

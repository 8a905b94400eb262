// SPDX-License-Identifier: Apache-2.0
// The secret that tokens are signed with, the tokens that are spent, and what an item says of them.
#pragma once

#include "db/transaction.hpp"
#include "stock/clock.hpp"
#include "stock/quantity.hpp"
#include "stock/sku.hpp"
#include "stock/uuid.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace holdfast::db::tokens {

using secret = std::array<std::uint8_t, 32>;

// Keeps this one unless there is one already. What is found after the commit is what all have.
void make_secret(transaction&, secret const&);
[[nodiscard]] std::optional<secret> find_secret(transaction&);

// What an item says of its tokens.
struct rules {
    bool is_asked_for = false;
    bool may_queue = false; // not paused, and its sale has not ended
    units pool = 0;
    units ttl_seconds = 0;
};

// Nothing when there is no such item.
[[nodiscard]] std::optional<rules> rules_of(transaction&, sku const&);

struct spending {
    uuid id;
    uuid reservation_id;
    timestamp expires_at; // of the token
};

// False when it is spent already. Waits for whoever is about to spend it.
[[nodiscard]] bool spend(transaction&, spending const&);

// Forgets at most `rows_max` that are over for longer than `keep`. Returns how many.
std::size_t forget(transaction&, std::chrono::seconds keep, std::size_t rows_max);

} // namespace holdfast::db::tokens

// SPDX-License-Identifier: Apache-2.0
// Requests that Redis had accepted and that did not become reservations.
#pragma once

#include "db/transaction.hpp"
#include "stock/clock.hpp"
#include "stock/uuid.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

namespace holdfast::db::unfulfilled {

struct row {
    std::string code; // a refusal's, or "parked"
    std::string detail;
    std::string request; // as it was queued
    timestamp refused_at;
};

struct draft {
    uuid id;
    std::string code;
    std::string detail;
    std::string request;
};

// Those that are there already stay as they are.
void add(transaction&, std::span<draft const>);

[[nodiscard]] std::optional<row> by_id(transaction&, uuid const&);

// At most `rows_max` of those older than `keep`. Returns how many.
std::size_t forget(transaction&, std::chrono::seconds keep, std::size_t rows_max);

} // namespace holdfast::db::unfulfilled

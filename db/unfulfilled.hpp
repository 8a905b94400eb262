// SPDX-License-Identifier: Apache-2.0
// Requests that Redis had accepted and that did not become reservations.
#pragma once

#include "db/transaction.hpp"
#include "stock/clock.hpp"
#include "stock/uuid.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::db::unfulfilled {

struct row {
    std::string code; // a refusal's, or "parked"
    std::string detail;
    std::string request; // as it was queued
    timestamp refused_at;
};

// Nothing happens when it is there already.
void add(transaction&, uuid const& id, std::string_view code, std::string_view detail,
         std::string_view request);

[[nodiscard]] std::optional<row> by_id(transaction&, uuid const&);

// At most `rows_max` of those older than `keep`. Returns how many.
std::size_t forget(transaction&, std::chrono::seconds keep, std::size_t rows_max);

} // namespace holdfast::db::unfulfilled

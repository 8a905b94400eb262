// SPDX-License-Identifier: Apache-2.0
// How many units one customer may have, and how many holds open. Counted from the reservations
// themselves under a lock of the customer, so there is no counter that could drift.
#pragma once

#include "db/reservations.hpp"
#include "db/transaction.hpp"
#include "stock/reservation.hpp"
#include "stock/result.hpp"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

// The limit of one SKU; nothing = none.
struct sku_limit {
    std::string sku;
    std::optional<units> max_per_customer;
};

struct limit_check {
    std::optional<std::string> customer;
    std::span<line_request const> lines; // sorted
    std::vector<sku_limit> limits;
    units open_holds_max = 0;            // 0 = no cap
    std::optional<uuid> apart_from = {}; // a reservation that does not count
};

// Whether there is a limit to keep for this customer.
[[nodiscard]] bool is_limited(limit_check const&);

// Locks the customers until the transaction ends, where there is a limit to keep. In the global
// order of locks customers come after reservations and before levels.
void lock_customers(db::transaction&, std::span<limit_check const>);

// Refusals: validation_failed (a limited SKU without a customer).
[[nodiscard]] result<void> require_customer(limit_check const&);

struct limit_verdict {
    result<void> kept; // customer_limit when not
    // Units or holds that count against the customer are due: expire them and ask once more.
    bool may_change = false;
};

// Locks the customers, unless that was done, then counts. A verdict for each check; no customer may
// stand in two of them.
[[nodiscard]] std::vector<limit_verdict> keep_limits(db::transaction&,
                                                     std::span<limit_check const>);

} // namespace holdfast

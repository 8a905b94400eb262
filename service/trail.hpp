// SPDX-License-Identifier: Apache-2.0
// The audit trail: what staff does that the ledger does not say by itself.
#pragma once

#include "db/link.hpp"
#include "db/transaction.hpp"
#include "stock/clock.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// Who does something, and in which request.
struct staff {
    std::string actor = "holdfast"; // the API key's name, or the program itself
    std::optional<std::string> request_id = {};
};

struct trail_entry {
    std::int64_t id = 0;
    timestamp at;
    std::string actor;
    std::string action;  // "item.changed"
    std::string subject; // "item:TEE-M"
    std::string detail;  // a JSON object
    std::optional<std::string> request_id;
};

struct trail_filter {
    std::optional<std::string> actor;
    std::optional<std::string> subject;
    std::optional<std::int64_t> before; // continue after this id: newest first
    std::size_t limit = 50;
};

namespace trail {

// What was done to what.
struct deed {
    std::string_view action;
    std::string subject;
    std::string detail = "{}"; // a JSON object
};

// Notes it in the transaction that does it.
void note(db::transaction&, staff const& by, deed const& what);

// Newest first.
[[nodiscard]] std::vector<trail_entry> list(db::link&, trail_filter const&);

} // namespace trail

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Corrections by people: damaged, found, counted. Each locks the row, looks, then writes.
#pragma once

#include "db/link.hpp"
#include "service/catalogue.hpp"
#include "service/idempotency.hpp"
#include "service/metrics.hpp"
#include "stock/movement.hpp"
#include "stock/result.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

inline constexpr std::array<std::string_view, 9> adjustment_reasons{
    "received", "damaged", "lost", "found", "correction", "count", "returned", "sample", "other"};

struct adjust_command {
    request_key key;
    std::string actor;
    level_key at;
    std::optional<units> delta; // exactly one of delta and set_to
    std::optional<units> set_to;
    std::optional<units> expect_on_hand; // with set_to; absent = whatever it is
    bool allow_short = false;
    std::string reason; // one of adjustment_reasons
    std::optional<std::string> note;
    std::optional<std::string> reference;
};

// A hold on a level that has fewer units than were promised.
struct concerned_hold {
    uuid reservation_id;
    units quantity = 0;
    timestamp expires_at;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
};

struct adjustment {
    ledger_entry entry;
    level_at level;                    // as it stands now
    std::vector<concerned_hold> holds; // when the level is short: oldest first, at most 100
};

class adjustments {
public:
    explicit adjustments(metrics& m) : metrics_(m) {}

    // Refusals: idempotency_key_*, unknown_sku, precondition_failed (with the present on_hand),
    // would_go_negative, would_be_short, quantity_overflow.
    [[nodiscard]] result<outcome<adjustment>> adjust(db::link&, adjust_command const&) const;

private:
    metrics& metrics_;
};

} // namespace holdfast

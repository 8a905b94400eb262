// SPDX-License-Identifier: Apache-2.0
// Corrections by people: damaged, found, counted; one, or many at once. They lock the rows, look,
// then write.
#pragma once

#include "db/link.hpp"
#include "db/transaction.hpp"
#include "service/catalogue.hpp"
#include "service/idempotency.hpp"
#include "service/metrics.hpp"
#include "stock/movement.hpp"
#include "stock/result.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <span>
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

// Of each level, in their order: oldest first, of the 5000 that end first.
[[nodiscard]] std::vector<std::vector<concerned_hold>>
concerned_holds(db::transaction&, std::span<level_key const> levels, std::size_t per_level_max);

struct adjustment {
    ledger_entry entry;
    level_at level;                    // as it stands now
    std::vector<concerned_hold> holds; // when the level is short: oldest first, at most 100
};

// Many at once: all of them or none.
struct bulk_adjust_command {
    request_key key;
    std::vector<adjust_command> rows; // 1-1000, each level once; they have no keys of their own
};

// By row. Holds of short levels are not listed.
using bulk_adjustment = std::vector<adjustment>;

// Units that go from one location to another.
struct transfer_command {
    request_key key;
    std::string actor;
    holdfast::sku sku;
    location from;
    location to; // another one
    units quantity = 0;
    bool allow_short = false;
    std::optional<std::string> note;
    std::optional<std::string> reference; // of both movements; one of its own when absent
};

struct transfer {
    adjustment from;
    adjustment to;
};

class adjustments {
public:
    explicit adjustments(metrics& m) : metrics_(m) {}

    // Refusals: idempotency_key_*, unknown_sku, precondition_failed (with the present on_hand),
    // would_go_negative, would_be_short, quantity_overflow.
    [[nodiscard]] result<outcome<adjustment>> adjust(db::link&, adjust_command const&) const;

    // The same refusals. `errors` tells each row's, the code of the whole is the one of them that
    // takes precedence.
    [[nodiscard]] result<outcome<bulk_adjustment>> adjust_all(db::link&,
                                                              bulk_adjust_command const&) const;

    // Refusals: idempotency_key_*, unknown_sku, would_go_negative, would_be_short,
    // quantity_overflow.
    [[nodiscard]] result<outcome<holdfast::transfer>> transfer(db::link&,
                                                               transfer_command const&) const;

private:
    metrics& metrics_;
};

} // namespace holdfast

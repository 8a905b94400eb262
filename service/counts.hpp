// SPDX-License-Identifier: Apache-2.0
// Counting a shelf while units are sold. What was counted is kept with what the level said at that
// moment; applied is the difference, so sales, returns and corrections in between stay.
#pragma once

#include "db/link.hpp"
#include "service/adjustments.hpp"
#include "service/idempotency.hpp"
#include "service/metrics.hpp"
#include "service/trail.hpp"
#include "stock/clock.hpp"
#include "stock/result.hpp"
#include "stock/uuid.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// SKUs of one count, so that it is applied in one transaction.
inline constexpr std::size_t count_entries_max = 1000;

struct open_count_command {
    request_key key;
    staff by;
    std::string name;
    location where;
    std::optional<std::string> sku_prefix; // with neither of these, all of the location
    std::optional<std::vector<sku>> skus;  // 1-1000, each once
    std::optional<std::string> note;
};

struct stock_count {
    uuid id;
    std::string name;
    location where;
    std::optional<std::string> sku_prefix;
    std::optional<std::string> note;
    std::string state; // open, applied or cancelled
    std::string opened_by;
    timestamp opened_at;
    std::optional<std::string> closed_by;
    std::optional<timestamp> closed_at;
    std::int64_t entries = 0;
    std::int64_t differing = 0; // of these, other than the level said
};

// What was found of one SKU.
struct counted_units {
    holdfast::sku sku;
    std::optional<units> quantity;       // nothing: what was entered is taken back
    std::optional<timestamp> counted_at; // nothing: now
};

struct enter_counted_command {
    request_key key;
    uuid id;
    std::string actor;
    std::vector<counted_units> entries; // 1-1000, each SKU once
};

struct count_entry {
    holdfast::sku sku;
    units counted = 0;
    units on_hand = 0; // of the level when it was counted
    timestamp counted_at;
    std::string actor;
    bool is_outdated = false;            // the level was counted again since; it is not applied
    std::optional<std::int64_t> version; // that the level got when it was applied

    // What applying makes of the level as it stands or, once applied, the level as it stands.
    units on_hand_after = 0;
    units reserved = 0;                // without the holds whose time has passed
    std::vector<concerned_hold> holds; // when that is short: oldest first, at most 20 of a level,
                                       // of the first 100 such levels

    [[nodiscard]] units difference() const noexcept { return counted - on_hand; }
    [[nodiscard]] units short_by() const noexcept
    {
        return std::max<units>(0, reserved - std::max<units>(0, on_hand_after));
    }
};

struct shown_count {
    stock_count count;
    std::optional<std::vector<sku>> skus; // what is to be counted, where it is a list
    std::vector<count_entry> entries;     // by SKU
    std::vector<sku> uncounted;           // while open: what is left, the first 100
};

struct count_filter {
    bool only_open = false;
    std::optional<uuid> before; // continue after this one: newest first
    std::size_t limit = 50;
};

// Refusals of all that name a count: not_found.
class counts {
public:
    explicit counts(metrics& m) : metrics_(m) {}

    // Refusals: idempotency_key_*, unknown_sku.
    [[nodiscard]] result<outcome<shown_count>> open(db::link&, open_count_command const&) const;

    // Entering a SKU again replaces what was entered. Selling goes on: no level is locked. Returned
    // are the entries named. Refusals: idempotency_key_*, count_closed, unknown_sku,
    // validation_failed (not to be counted here, not counted while it was open, too many).
    [[nodiscard]] result<outcome<std::vector<count_entry>>>
    enter(db::link&, enter_counted_command const&) const;

    [[nodiscard]] result<shown_count> show(db::link&, uuid const&) const;
    [[nodiscard]] std::vector<stock_count> list(db::link&, count_filter const&) const;

    // Moves every level by the difference that was found, all of them or none, once. Refusals:
    // count_closed (cancelled); of single rows precondition_failed (counted again since),
    // would_go_negative, quantity_overflow.
    [[nodiscard]] result<outcome<shown_count>> apply(db::link&, uuid const&, staff const& by) const;

    // Refusals: count_closed (applied).
    [[nodiscard]] result<outcome<shown_count>> cancel(db::link&, uuid const&,
                                                      staff const& by) const;

private:
    metrics& metrics_;
};

} // namespace holdfast

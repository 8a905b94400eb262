// SPDX-License-Identifier: Apache-2.0
// Items: what is sold, under which rules, and how many there are. Admin flows lock the rows they
// change.
#pragma once

#include "db/link.hpp"
#include "db/movements.hpp"
#include "stock/clock.hpp"
#include "stock/movement.hpp"
#include "stock/result.hpp"
#include "stock/stock_level.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace holdfast {

// Settings of an item that change rarely.
struct item_settings {
    std::optional<std::string> name;
    bool on_sale = true;
    std::optional<timestamp> sale_starts_at;
    std::optional<timestamp> sale_ends_at;
    std::optional<units> max_per_customer;
    std::optional<units> low_stock_at;
    std::optional<std::string> strategy;
    std::optional<std::string> admission = {}; // "token": only sold to whoever shows one
    units admission_pool = 100;                // tokens that may be out at once
    units admission_ttl_seconds = 300;         // how long one is good

    bool operator==(item_settings const&) const = default;
};

struct level_at {
    holdfast::location location;
    stock_level level; // reserved without the holds whose time has passed

    bool operator==(level_at const&) const = default;
};

struct item {
    holdfast::sku sku;
    item_settings settings;
    std::vector<level_at> levels; // by location
};

// Which members a change names; the others stay as they are.
struct put_item_command {
    holdfast::sku sku;
    std::string actor;
    std::optional<std::optional<std::string>> name;
    std::optional<bool> on_sale;
    std::optional<std::optional<timestamp>> sale_starts_at;
    std::optional<std::optional<timestamp>> sale_ends_at;
    std::optional<std::optional<units>> max_per_customer;
    std::optional<std::optional<units>> low_stock_at;
    std::optional<std::optional<std::string>> strategy;
    std::optional<units> on_hand; // only when it creates the item
    std::optional<holdfast::location> location;
    std::optional<std::optional<std::string>> admission = {};
    std::optional<units> admission_pool = {};
    std::optional<units> admission_ttl_seconds = {};
    std::optional<std::string> request_id = {};
    std::optional<std::vector<std::string>> if_match =
        {}; // settings_tag or "*", one of which holds
    bool must_be_new = false;
};

struct put_item_answer {
    holdfast::item item;
    bool is_new = false;
    bool is_match = true; // else nothing was changed, and the item is told as it stands
};

// Names settings: others have another tag. The numbers of an item are not in it.
[[nodiscard]] std::string settings_tag(item_settings const&);

struct item_filter {
    std::optional<std::string> q; // part of the SKU or the name, any case
    bool only_low = false;
    std::optional<holdfast::sku> after; // continue after this SKU, in the order of the list
    std::size_t limit = 50;
};

// A line of the ledger as it was written.
using ledger_entry = db::movements::entry;

struct movement_filter {
    holdfast::sku sku;
    std::optional<std::int64_t> before; // continue after this movement id: newest first
    std::size_t limit = 50;
};

class catalogue {
public:
    catalogue(std::string default_strategy, std::vector<std::string> strategy_names);

    // Creates the item or changes the settings named. Refusals: validation_failed (unknown
    // strategy, on_hand of an item that exists, a window that ends before it starts),
    // precondition_failed (if_match, and there is no such item).
    [[nodiscard]] result<put_item_answer> put(db::link&, put_item_command const&) const;

    // Refusals: unknown_sku.
    [[nodiscard]] result<item> show(db::link&, sku const&) const;

    // By SKU in byte order; those first whose SKU begins with a part of three characters or more.
    [[nodiscard]] std::vector<item> list(db::link&, item_filter const&) const;

    // Newest first. Refusals: unknown_sku.
    [[nodiscard]] result<std::vector<ledger_entry>> movements(db::link&,
                                                              movement_filter const&) const;

    [[nodiscard]] std::string const& default_strategy() const noexcept { return default_strategy_; }

private:
    std::string default_strategy_;
    std::vector<std::string> strategy_names_;
};

} // namespace holdfast

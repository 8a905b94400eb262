// SPDX-License-Identifier: Apache-2.0
// Reads, locks and writes reservations and their lines.
#pragma once

#include "db/transaction.hpp"
#include "stock/reservation.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::db::reservations {

// An idempotency key and the digest of the request it belongs to.
struct key {
    std::int64_t api_key_id = 0;
    std::string text;
    std::array<std::uint8_t, 16> fingerprint{};
};

// A reservation made before under the same key.
struct earlier {
    uuid id;
    std::array<std::uint8_t, 16> fingerprint{};
};

// What is known of one wanted level before anything is taken.
struct prospect {
    level_key at;
    bool is_known = false; // there is such an item
    bool is_on_sale = false;
    std::optional<units> max_per_customer;
    std::optional<std::string> strategy;
    units available = 0; // without reclaiming anything
};

struct view {
    bool has_key_lock = false;           // nobody else is working on this key
    bool is_key_of_another_kind = false; // the key belongs to an adjustment, return or import
    std::optional<reservations::earlier> earlier;
    std::vector<prospect> prospects; // one for each wanted level, in its order
};

// Tries the key's lock and looks at the items wanted, in one round trip.
[[nodiscard]] view look(transaction&, key const&, std::int64_t lock_number,
                        std::span<line_request const>);

[[nodiscard]] std::optional<earlier> find_key(transaction&, key const&);

struct times {
    timestamp created_at;
    timestamp expires_at;
};

// Inserts a held reservation. Nothing when its key is taken already.
[[nodiscard]] std::optional<times> insert(transaction&, reservation const&, key const&,
                                          std::chrono::seconds ttl);

// A reservation, and whether its time has passed by the database's clock.
struct found {
    holdfast::reservation reservation;
    bool is_due = false;
};

[[nodiscard]] std::optional<found> by_id(transaction&, uuid const&);

// The same, locked until the transaction ends.
[[nodiscard]] std::optional<found> lock(transaction&, uuid const&);

// Locks the due holds on these levels, the longest due first, and reads them. Waits for locked
// rows.
[[nodiscard]] std::vector<holdfast::reservation> lock_due(transaction&, std::span<level_key const>,
                                                          std::size_t holds_max);

// Settles as confirmed with the `confirmed` numbers of the lines. Returns when.
timestamp confirm(transaction&, holdfast::reservation const&);

// Settles as released or expired. Returns when.
timestamp close(transaction&, std::span<uuid const>, reservation_state,
                std::optional<uuid> superseded_by = std::nullopt);

// Holds on for `ttl` from now. Returns until when.
timestamp extend(transaction&, uuid const&, std::chrono::seconds ttl);

enum class restocking { to_the_shelf, none };

void give_back(transaction&, uuid const&, std::span<line_request const>, restocking);

// Makes later calls for this customer wait until the transaction ends, in every process.
void lock_customer(transaction&, std::int64_t lock_number);

[[nodiscard]] std::int64_t open_holds(transaction&, std::string const& customer);

struct sku_units {
    std::string sku;
    units count = 0;
};

// Units the customer holds or has confirmed and not brought back, by SKU; due holds count until
// they are expired. One reservation may be left out.
[[nodiscard]] std::vector<sku_units> units_of_customer(transaction&, std::string const& customer,
                                                       std::vector<std::string> const& skus,
                                                       std::optional<uuid> const& apart_from);

// Locks the customer's due holds and reads them. Waits for locked rows.
[[nodiscard]] std::vector<holdfast::reservation>
lock_due_of_customer(transaction&, std::string const& customer, std::size_t holds_max);

struct hold_on_level {
    uuid reservation_id;
    units quantity = 0;
    timestamp expires_at;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
};

// Oldest first.
[[nodiscard]] std::vector<hold_on_level> holds_on(transaction&, level_key const&,
                                                  std::size_t limit);

struct filter {
    std::optional<reservation_state> state;
    std::optional<std::string> sku;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
    std::optional<uuid> before;
    std::size_t limit = 50;
};

// Newest first.
[[nodiscard]] std::vector<found> list(transaction&, filter const&);

} // namespace holdfast::db::reservations

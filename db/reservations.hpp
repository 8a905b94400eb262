// SPDX-License-Identifier: Apache-2.0
// Reads, locks and writes reservations and their lines.
#pragma once

#include "db/transaction.hpp"
#include "stock/reservation.hpp"
#include "stock/stock_level.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
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
    bool needs_token = false;
    std::int64_t fast_epoch = 0; // not 0: the request must have been noted in Redis under it; -1:
                                 // it was closed a moment ago, and others may not know
    stock_level seen;            // holds that are due still count as reserved
    bool is_short_with_due = false; // less is available than is wanted, and due holds may help
};

// One request to reserve, as look() asks about it. What it refers to outlives the call.
struct question {
    reservations::key const& key;
    std::int64_t lock_number = 0; // of the key
    std::optional<std::string> const& customer;
    std::span<line_request const> lines;
};

struct view {
    bool has_key_lock = false;           // nobody else is working on this key
    bool is_key_of_another_kind = false; // the key belongs to an adjustment, return or import
    bool is_customer_blocked = false;
    timestamp now; // of the transaction
    std::optional<reservations::earlier> earlier;
    std::vector<prospect> prospects; // one for each wanted level, in its order
};

// Tries the lock of each key and looks at the items wanted, in one round trip. A view for each
// question.
[[nodiscard]] std::vector<view> look(transaction&, std::span<question const>);

// What each of these keys has made, or nothing.
[[nodiscard]] std::vector<std::optional<earlier>> find_keys(transaction&, std::span<key const>);

// A reservation to insert: held, or confirmed in all its lines when its state says so. What it
// refers to outlives the call.
struct draft {
    holdfast::reservation const& reservation;
    reservations::key const& key;
    std::chrono::seconds ttl{0}; // from the transaction's time on
};

// Inserts them, at the latest when the transaction commits. A key that is taken already is a
// conflict: run the work again and look it up.
void insert(transaction&, std::span<draft const>);

// A reservation, and whether its time has passed by the database's clock.
struct found {
    holdfast::reservation reservation;
    bool is_due = false;
};

[[nodiscard]] std::optional<found> by_id(transaction&, uuid const&);

// Reservations locked in the order of their ids until the transaction ends, and its time. Unknown
// ids are left out.
struct locked {
    std::map<uuid, found> by_id;
    timestamp now;
};

[[nodiscard]] locked lock(transaction&, std::vector<uuid> const& ids);

// Locks the due holds on these levels, the longest due first, and reads them. Waits for locked
// rows.
[[nodiscard]] std::vector<holdfast::reservation> lock_due(transaction&, std::span<level_key const>,
                                                          std::size_t holds_max);

// The holds of the longest due lines on any level, without those that somebody else has locked.
[[nodiscard]] std::vector<holdfast::reservation> lock_any_due(transaction&, std::size_t lines_max);

// Writes the final states of locked reservations and the `confirmed` numbers of their lines.
void settle(transaction&, std::span<holdfast::reservation const* const>);

// Settles as released or expired. Returns when.
timestamp close(transaction&, std::span<uuid const>, reservation_state);

// Notes which reservation takes the place of a locked one. The first to do so stays noted.
void supersede(transaction&, uuid const& old, uuid const& by);

struct extension {
    uuid id;
    std::chrono::seconds ttl{0}; // from the transaction's time on
};

// Extends locked holds.
void extend(transaction&, std::span<extension const>);

enum class restocking { to_the_shelf, none };

void give_back(transaction&, uuid const&, std::span<line_request const>, restocking);

// Makes later calls for these customers wait until the transaction ends, in every process.
void lock_customers(transaction&, std::vector<std::int64_t> const& lock_numbers);

// A count towards a limit. Due holds are in it until they are expired.
struct counted {
    units all = 0;
    units due = 0; // of these, in due holds
};

// How many holds each of them has open.
[[nodiscard]] std::vector<counted> open_holds(transaction&,
                                              std::vector<std::string> const& customers);

// One customer and one SKU; one reservation may be left out of the count.
struct customer_item {
    std::string customer;
    std::string sku;
    std::optional<uuid> apart_from;
};

// Units each customer holds or has confirmed and not brought back of the SKU.
[[nodiscard]] std::vector<counted> units_of_customers(transaction&, std::span<customer_item const>);

// Locks the due holds of these customers and reads them. Waits for locked rows.
[[nodiscard]] std::vector<holdfast::reservation>
lock_due_of_customers(transaction&, std::vector<std::string> const& customers,
                      std::size_t holds_max);

struct hold_on_level {
    uuid reservation_id;
    units quantity = 0;
    timestamp expires_at;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
};

// Holds of one level that are looked at, those that end first before the others.
inline constexpr std::size_t holds_looked_max = 5000;

// Of each of these levels, in their order: oldest first, of the first holds_looked_max to end.
[[nodiscard]] std::vector<std::vector<hold_on_level>>
holds_on(transaction&, std::span<level_key const>, std::size_t per_level_max);

// Of one level, those that end first before the others.
[[nodiscard]] std::vector<hold_on_level> next_to_end(transaction&, level_key const&,
                                                     std::size_t limit);

struct open_on_level {
    std::int64_t holds = 0;
    units quantity = 0;
};

// All that are open on a level, counted no further than `count_max`.
[[nodiscard]] open_on_level sum_open(transaction&, level_key const&, std::size_t count_max);

struct filter {
    std::optional<reservation_state> state;
    std::optional<std::string> sku;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
    std::optional<uuid> before;
    std::size_t limit = 50;
};

struct page {
    std::vector<found> shown; // newest first, at most `limit`
    std::optional<uuid> next; // `before` of the next page; nothing when this is the last
};

// Looks at a bounded number of reservations: where few of many fit the filter, a page may be short,
// or empty, and not the last.
[[nodiscard]] page list(transaction&, filter const&);

} // namespace holdfast::db::reservations

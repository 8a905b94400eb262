// SPDX-License-Identifier: Apache-2.0
// Items that Redis stands before, and what it has to be told of them.
#pragma once

#include "db/transaction.hpp"
#include "stock/clock.hpp"
#include "stock/quantity.hpp"
#include "stock/sku.hpp"
#include "stock/uuid.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::db::fast_path {

struct row {
    std::string sku;
    bool is_on = true; // else it only may have something in its queues
    bool is_async = false;
    bool needs_token = false; // which is PostgreSQL's to judge
    std::int64_t buckets = 1;
    std::int64_t queues = 0;    // buckets that may have something in their queues
    std::int64_t epoch = 0;     // 0: PostgreSQL serves it alone
    bool may_be_opened = false; // the pause after a suspension is over
    bool is_stopped = false;    // it is not opened again until somebody asks
};

// By SKU, at most 10 000.
[[nodiscard]] std::vector<row> all(transaction&);

// `mode`: durable or async. False when there is no such item.
[[nodiscard]] bool switch_on(transaction&, sku const&, std::string_view mode, std::int64_t buckets);

// False when it was not on.
[[nodiscard]] bool switch_off(transaction&, sku const&);

// Its queues are empty. False when something may be put into them again, or somebody has the item's
// row locked: then nothing happens.
[[nodiscard]] bool retire_queues(transaction&, std::string const& sku);

// Higher than any before.
[[nodiscard]] std::int64_t next_epoch(transaction&);

// From the commit on, every reservation of the item must have been noted in Redis under this epoch.
// False when it may not be opened.
[[nodiscard]] bool open(transaction&, std::string const& sku, std::int64_t epoch);

// From the commit on, none need be. False, and nothing happens, when it is open under another
// epoch, or to `close` somebody has its row locked. Suspended, it is not opened again for a while.
[[nodiscard]] bool close(transaction&, std::string const& sku, std::int64_t epoch);
[[nodiscard]] bool suspend(transaction&, std::string const& sku, std::int64_t epoch);

// The same, until somebody asks for it to be opened again.
void stop(transaction&, std::string const& sku, std::int64_t epoch);
bool resume(transaction&, std::string const& sku); // whether it was stopped

// It has been open for long without trouble: the next pause is a short one. False when somebody has
// its row locked.
[[nodiscard]] bool calm(transaction&, std::string const& sku, std::int64_t epoch);

struct times {
    timestamp now;
    timestamp oldest_began; // of our transactions under way
};

[[nodiscard]] times read_times(transaction&);

// A level, the rules its item is sold under, and what the ledger says of it.
struct fact {
    std::string sku;
    bool on_sale = true;
    std::optional<timestamp> sale_starts_at;
    std::optional<timestamp> sale_ends_at;
    std::optional<units> max_per_customer;
    timestamp now;
    std::string location;
    std::int64_t version = 0;
    units available = 0; // holds that are due count as free
    units on_hand = 0;
    units reserved = 0;
    std::int64_t ledger_version = 0; // of the newest line, and the level after it; 0 without one
    units ledger_on_hand = 0;
    units ledger_reserved = 0;
};

[[nodiscard]] std::vector<fact> facts(transaction&, std::vector<std::string> const& skus);

// Which of these reservations there are.
[[nodiscard]] std::vector<uuid> made(transaction&, std::vector<uuid> const& ids);

struct relief {
    std::string sku;
    std::string customer;
};

// Customers whose units came back to these levels after the versions told.
[[nodiscard]] std::vector<relief> relieved(transaction&, std::span<fact const> since);

struct made_key {
    uuid reservation;
    std::int64_t api_key_id = 0;
    std::string key;
    std::optional<std::string> customer;
};

[[nodiscard]] std::vector<made_key> keys(transaction&, std::string const& sku, uuid const& after,
                                         std::size_t limit);

// Whether this session is the one that keeps Redis up to date, until it ends.
[[nodiscard]] bool try_own(transaction&);

} // namespace holdfast::db::fast_path

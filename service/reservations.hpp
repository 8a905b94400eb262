// SPDX-License-Identifier: Apache-2.0
// Reserve, confirm, release, extend, return, expire: the only place that knows the whole story of a
// reservation. Each call is one transaction that changes levels, reservation, ledger and outbox
// together.
#pragma once

#include "db/link.hpp"
#include "service/idempotency.hpp"
#include "service/metrics.hpp"
#include "service/tokens.hpp"
#include "service/trail.hpp"
#include "stock/reservation.hpp"
#include "stock/result.hpp"
#include "strategies/registry.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast {

// A request is noted in Redis before an item of its own, under this epoch of the item.
struct fast_path_note {
    holdfast::sku sku;
    std::int64_t epoch = 0;
};

// Thrown for a request that has to be noted in Redis first, and is not, or under another epoch.
// Nothing has happened.
class not_noted : public std::runtime_error {
public:
    explicit not_noted(holdfast::sku s, std::int64_t e)
        : std::runtime_error("a request on an item with a fast path is not noted there"),
          sku(std::move(s)), epoch(e)
    {}

    holdfast::sku sku;
    std::int64_t epoch; // the present one; -1: closed a moment ago
};

struct reserve_command {
    request_key key;
    std::string actor;
    std::vector<line_request> lines; // merged(): sorted, each level once; 1-100
    std::optional<std::string> customer;
    std::optional<std::string> reference;
    std::chrono::seconds ttl{900};
    bool confirm_at_once = false;
    std::optional<uuid> supersedes;
    std::string metadata = "{}";
    std::optional<uuid> id = {};            // of the reservation to be; a new one when absent
    std::vector<fast_path_note> notes = {}; // by what Redis was told of it
    bool is_accepted = false;               // by Redis, under these notes
    bool may_only_replay = false;           // else it is short of units
    std::optional<std::string> token = {};  // for the item that asks for one
};

enum class if_expired { refuse, reserve_again };

struct confirm_command {
    uuid id;
    std::string actor;
    std::optional<std::vector<line_request>> lines; // merged(); all of every line when absent
    holdfast::if_expired if_expired = holdfast::if_expired::refuse;
};

struct release_command {
    uuid id;
    std::string actor;
    std::optional<std::string> reason = {}; // stands in the ledger as the note
};

struct extend_command {
    uuid id;
    std::chrono::seconds ttl{900}; // from now
    staff by = {};
    std::optional<std::string> reason = {}; // stands in the audit trail: no unit moves
};

using settle_command = std::variant<confirm_command, release_command, extend_command>;

struct return_command {
    request_key key;
    uuid id;
    std::string actor;
    std::vector<line_request> lines; // merged()
    bool restock = true;
};

struct reservation_filter {
    std::optional<reservation_state> state;
    std::optional<holdfast::sku> sku;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
    std::optional<uuid> before; // continue after this id: newest first
    std::size_t limit = 50;
};

struct reservation_page {
    std::vector<reservation> shown; // newest first, at most `limit`
    std::optional<uuid> next;       // `before` of the next page; nothing when this is the last
};

struct reservation_settings {
    std::string default_strategy = "batched";
    units open_holds_per_customer = 0; // 0 = no cap
};

// Alone, a request waits for its key and tries everything. In company it must not keep the others
// waiting: what cannot be settled at once is set aside, to be done alone.
enum class company { alone, many };

// Nothing stands for a request that has to be done alone, because it waits for others or may have
// to be tried in more than one way.
using reserve_answer = std::optional<result<outcome<reservation>>>;
using settle_answer = std::optional<result<reservation>>;

// Each round of reclaiming either expires a batch of due holds or finds units that were freed
// meanwhile; a caller who loses that race so often waits in an overload.
inline constexpr int rounds_max = 50;

struct attempted; // service/attempt.hpp

class reservations {
public:
    reservations(strategy_registry const&, reservation_settings, metrics&);

    // Takes all lines or nothing. Refusals: idempotency_key_reused, idempotency_key_in_progress,
    // unknown_sku, customer_blocked, unknown_reservation (supersedes), already_confirmed
    // (supersedes), not_on_sale, token_required, token_invalid, token_expired, token_used,
    // validation_failed (a limited SKU without customer; a token that does not go with the lines),
    // customer_limit, insufficient_stock (with items). A refusal leaves the token unspent.
    [[nodiscard]] result<outcome<reservation>> reserve(db::link&, reserve_command const&) const;

    // The same for many in one transaction, with an answer for each: what they come to is what they
    // would have come to one after the other, in some order. Throws for all of them.
    [[nodiscard]] std::vector<reserve_answer>
    reserve(db::link&, std::span<reserve_command const* const>, company = company::many) const;

    // Deducts the held units for good; units not confirmed go back. Confirmed already: the same
    // answer. Refusals: unknown_reservation, already_released, reservation_expired (with items),
    // validation_failed (lines not held), insufficient_stock (a short level).
    [[nodiscard]] result<reservation> confirm(db::link&, confirm_command const&) const;

    // Gives the units back. Released already, or expired: the reservation as it stands.
    // Refusals: unknown_reservation, already_confirmed.
    [[nodiscard]] result<reservation> release(db::link&, release_command const&) const;

    // Holds on for `ttl` from now. Refusals: unknown_reservation, already_confirmed,
    // already_released, reservation_expired.
    [[nodiscard]] result<reservation> extend(db::link&, extend_command const&) const;

    // Any of these three.
    [[nodiscard]] result<reservation> settle(db::link&, settle_command const&) const;

    // Many of these in one transaction, as if done one after the other in the order given. Throws
    // for all of them.
    [[nodiscard]] std::vector<settle_answer> settle(db::link&,
                                                    std::span<settle_command const* const>) const;

    // Brings confirmed units back. Refusals: idempotency_key_*, unknown_reservation,
    // reservation_expired, already_released, validation_failed (more than confirmed),
    // quantity_overflow.
    [[nodiscard]] result<outcome<reservation>> give_back(db::link&, return_command const&) const;

    // A hold past its time reads as expired, swept or not. Refusals: unknown_reservation.
    [[nodiscard]] result<reservation> show(db::link&, uuid const&) const;

    // A page may be short, or empty, and not the last: one page looks at a bounded number.
    [[nodiscard]] reservation_page list(db::link&, reservation_filter const&) const;

    // What tokens are signed with.
    [[nodiscard]] token_secret& secret_of_tokens() const noexcept { return secret_of_tokens_; }

private:
    void go_rounds(db::link&, std::span<reserve_command const* const>, company,
                   std::span<reserve_answer>) const;
    [[nodiscard]] attempted try_reserve(db::link&, std::span<reserve_command const* const>,
                                        company) const;
    [[nodiscard]] std::vector<bool> reclaim_for(db::link&, std::span<reserve_command const* const>,
                                                attempted&) const;

    strategy_registry const& strategies_;
    reservation_settings settings_;
    metrics& metrics_;
    token_secret mutable secret_of_tokens_;
    mutable std::atomic<int> wary_{0}; // batches to come that count on nothing seen
};

} // namespace holdfast

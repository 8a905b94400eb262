// SPDX-License-Identifier: Apache-2.0
// The levels one transaction has locked, what it does to them, and the line it writes for each
// change. Every change of a level outside the strategies goes through here.
#pragma once

#include "db/levels.hpp"
#include "db/movements.hpp"
#include "db/transaction.hpp"
#include "service/metrics.hpp"
#include "stock/movement.hpp"
#include "stock/stock_level.hpp"

#include <map>
#include <optional>
#include <span>
#include <vector>

namespace holdfast {

// What a movement changes and why.
struct change {
    movement_kind kind = movement_kind::adjusted;
    units on_hand_delta = 0;
    units reserved_delta = 0;
    std::optional<uuid> reservation_id = {};
    attribution by = {};
    db::levels::shortage shortage = db::levels::shortage::forbidden;
};

class ledger {
public:
    explicit ledger(db::transaction& tx) : tx_(tx) {}

    // Locks these levels in the global order. Call it once, before anything moves.
    void lock(std::span<level_key const>);

    [[nodiscard]] bool has(level_key const& at) const { return levels_.contains(at); }

    // The level as this transaction leaves it. Precondition: has(at).
    [[nodiscard]] stock_level const& level(level_key const& at) const
    {
        return levels_.at(at).level;
    }

    // Changes a locked level and notes the movement. The caller has checked the rules; a level that
    // would break an invariant is a bug and throws.
    void move(level_key const& at, change const&);

    // Notes a movement of a level that a strategy has changed and written itself.
    void note_taken(level_key const& at, stock_level const& after, change const&);

    // Writes the changed levels, the movements and their events.
    void write();

    // Every movement so far, in order; what is to be counted once the transaction is committed.
    [[nodiscard]] std::vector<movement> const& movements() const noexcept { return movements_; }

private:
    struct entry {
        stock_level level;
        bool is_changed = false;
        db::levels::shortage shortage = db::levels::shortage::forbidden;
    };

    db::transaction& tx_;
    std::map<level_key, entry> levels_;
    std::vector<movement> movements_;
};

// Counts committed movements.
void count(metrics&, std::span<movement const>);

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// One attempt to reserve, in one transaction: look, keep the rules, take, write; for one request or
// for many. Locks in the global order: the keys, the hold that is superseded, the token, the
// customers, the levels.
#pragma once

#include "db/transaction.hpp"
#include "service/reservations.hpp"
#include "stock/movement.hpp"

#include <span>
#include <string>
#include <vector>

namespace holdfast {

using reserve_commands = std::span<reserve_command const* const>;

// Whether a level may be counted on to be as the look saw it, or is locked first.
enum class trust { in_the_look, in_locks };

// What an attempt led to.
struct attempted {
    // Each request has its own; one that is refused leaves nothing behind. Nothing for a request
    // that was set aside.
    std::vector<reserve_answer> answers;

    // Of those refused for their limits, the customers whom expiring their due holds may help.
    std::vector<std::string> customers_with_due_holds;

    std::vector<movement> movements;
    bool has_written = false; // else there is nothing to commit, and it must be rolled back
};

// Throws db::error.
[[nodiscard]] attempted attempt(db::transaction&, reserve_commands, company, trust,
                                strategy_registry const&, reservation_settings const&,
                                token_secret&);

// The refusal for lines that fall short.
[[nodiscard]] refusal insufficient(std::vector<shortfall> items);

} // namespace holdfast

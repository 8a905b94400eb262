// SPDX-License-Identifier: Apache-2.0
// Returning the units of holds whose time has passed. Anybody who is short of units may do it;
// nobody has to wait for a sweeper.
#pragma once

#include "db/link.hpp"
#include "service/ledger.hpp"
#include "service/metrics.hpp"
#include "stock/reservation.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace holdfast {

// Holds expired in one transaction at most: it keeps the locks short, and whoever needs more units
// goes on with the next batch.
inline constexpr std::size_t expiry_batch_max = 500;

// Expires due holds on these levels, the longest due first, in one transaction of its own. Returns
// how many; 0 when there are none left, so that a look at the levels before was right.
std::size_t expire_due(db::link&, std::span<level_key const>, metrics&);

// The same for the due holds of these customers, whatever they hold.
std::size_t expire_due_of(db::link&, std::vector<std::string> const& customers, metrics&);

// The same for the longest due lines on any level, at most `lines_wanted`, and the rest of their
// holds; leaves out those that somebody else is settling. Several may do it at once, and no hold is
// expired twice. Returns how many lines.
std::size_t expire_any_due(db::link&, std::size_t lines_wanted, metrics&);

// Notes in the ledger that a locked reservation's held units go back.
void put_back(ledger&, reservation const&, movement_kind, attribution const& by);

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// A deduction mode: how units move from available to reserved without two callers getting the same
// one. A strategy changes stock_level rows and nothing else: it commits nothing, logs nothing, and
// writes neither ledger nor outbox, so that all modes promise the same and can be compared fairly.
#pragma once

#include "db/transaction.hpp"
#include "stock/stock_level.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace holdfast {

struct units_wanted {
    level_key at;
    units quantity = 0; // at least 1
};

// What became of one entry: the level right after it when it fits, otherwise nothing was changed.
struct taken {
    bool fits = false;
    stock_level after = {};

    bool operator==(taken const&) const = default;
};

class strategy {
public:
    virtual ~strategy() = default;

    // Moves units from available to reserved for each entry, in the order given, and raises the
    // level's version by one for each that fits. Entries must be sorted by level, so that all
    // callers lock in the same order; a level may come more than once. A level that does not exist
    // fits nothing. Throws db::error.
    [[nodiscard]] virtual std::vector<taken> take(db::transaction&,
                                                  std::span<units_wanted const>) const = 0;

    // The same for entries of one level that all fit into it as it was `seen`, without a round trip
    // of its own: it goes with the transaction's next statement. When the level is another by then,
    // that statement throws db::error of kind conflict. Nothing for a strategy that cannot.
    [[nodiscard]] virtual std::optional<std::vector<taken>>
    take_as_seen(db::transaction&, std::span<units_wanted const>, stock_level const& /*seen*/) const
    {
        return std::nullopt;
    }
};

// Called when an attempt met somebody else's change and has to look again.
using conflict_listener = std::function<void(std::string_view strategy, std::size_t conflicts)>;

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Reads, locks and writes stock levels.
#pragma once

#include "db/transaction.hpp"
#include "stock/stock_level.hpp"

#include <span>
#include <string>
#include <vector>

namespace holdfast::db::levels {

struct locked {
    level_key at;
    stock_level level;
};

// Locks the rows there are, in the global order, until the transaction ends. Levels that do not
// exist are left out.
[[nodiscard]] std::vector<locked> lock(transaction&, std::span<level_key const>);

enum class shortage { forbidden, allowed };

struct change {
    level_key at;
    stock_level level;
    levels::shortage shortage = levels::shortage::forbidden;
};

// Writes rows this transaction has locked.
void write(transaction&, std::span<change const>);

// Makes empty levels where there are none; their items must exist.
void create(transaction&, std::span<level_key const>);

// A level that somebody said a number for, by what they saw.
struct stated {
    level_key at;
    std::int64_t version = 0;
};

// Notes that these levels are what somebody said they are: undoing an import that came before
// leaves them alone. `by` is the import that said so, for as long as it is not undone.
void state(transaction&, std::span<stated const>, std::optional<uuid> const& by = {});

// What is free at a level: at once, and after the holds whose time has passed are reclaimed.
struct free_units {
    level_key at;
    units available = 0;
    units due = 0;
};

// One entry for each key, in its order. A level that does not exist has nothing free.
[[nodiscard]] std::vector<free_units> free(transaction&, std::span<level_key const>);

// Levels of these items by (sku, location), without the holds whose time has passed.
[[nodiscard]] std::vector<locked> of_items(transaction&, std::vector<std::string> const& skus);

// The two columns of an array of keys.
struct key_columns {
    explicit key_columns(std::span<level_key const>);

    std::vector<std::string> skus;
    std::vector<std::string> locations;
};

} // namespace holdfast::db::levels

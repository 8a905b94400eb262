// SPDX-License-Identifier: Apache-2.0
// What PostgreSQL counts about a trial. Its sessions report when they end, so these are read after
// whoever used the database has left it.
#pragma once

#include "bench/stage.hpp"

#include <cstdint>

namespace holdfast::bench {

struct wal_figures {
    std::int64_t flushes = 0;
    std::int64_t bytes = 0;
};

// Of the table stock_level.
struct level_table_figures {
    std::int64_t updates = 0;
    std::int64_t hot_updates = 0; // that touched no index
    std::int64_t bytes = 0;
};

// Of one load.
struct database_figures {
    wal_figures wal;
    level_table_figures level_table;
    std::int64_t rows_read = 0;    // from tables and from indexes
    std::int64_t transactions = 0; // of whoever used the database, read-only ones as well
};

// Each reservation of the bench has one line of one unit.
struct taken_figures {
    std::int64_t units = 0;
    std::int64_t reservations = 0;
    std::int64_t movements = 0;
    std::int64_t told = 0; // movements that the outbox speaks of
};

[[nodiscard]] wal_figures read_wal(stage&);

// Once everybody has left the database. `before` is of the time before the load. Throws
// std::runtime_error when somebody stays.
[[nodiscard]] database_figures figures_since(stage&, wal_figures const& before,
                                             trial_database const&);

[[nodiscard]] taken_figures read_taken(trial_database const&);

} // namespace holdfast::bench

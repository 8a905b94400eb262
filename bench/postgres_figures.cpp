// SPDX-License-Identifier: Apache-2.0
#include "bench/postgres_figures.hpp"

#include "db/transaction.hpp"
#include "sql/postgres_figures.hpp"
#include "tests/support/run_together.hpp"

#include <chrono>
#include <stdexcept>

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;

constexpr auto count_limit = 120s; // counting millions of rows
constexpr auto leave_limit = 20s;

template <class Row, class Statement>
Row read_in(trial_database const& base, Statement const& statement)
{
    db::session session({.connection = base.connection(), .statement_timeout = count_limit});
    db::transaction tx(session, db::scope::single);
    return tx.one<Row>(statement);
}

void wait_until_left(stage& on, trial_database const& base)
{
    auto const is_alone = [&] {
        db::transaction tx(on.administration(), db::scope::single);
        return tx.one<std::int64_t>(sql::postgres_figures::visitors, base.name()) == 0;
    };
    if (!test::eventually(leave_limit, is_alone))
        throw std::runtime_error("sessions stay in " + base.name() + " after its trial");
}

std::int64_t read_transactions(stage& on, trial_database const& base)
{
    db::transaction tx(on.administration(), db::scope::single);
    return tx.one<std::int64_t>(sql::postgres_figures::transactions, base.name());
}

} // namespace

wal_figures read_wal(stage& on)
{
    db::transaction tx(on.administration(), db::scope::single);
    return tx.one<wal_figures>(sql::postgres_figures::wal);
}

taken_figures read_taken(trial_database const& base)
{
    return read_in<taken_figures>(base, sql::postgres_figures::taken);
}

database_figures figures_since(stage& on, wal_figures const& before, trial_database const& base)
{
    wait_until_left(on, base);
    auto const now = read_wal(on);
    auto const transactions = read_transactions(on, base); // before our own are among them
    return {.wal = {.flushes = now.flushes - before.flushes, .bytes = now.bytes - before.bytes},
            .level_table = read_in<level_table_figures>(base, sql::postgres_figures::level_table),
            .rows_read = read_in<std::int64_t>(base, sql::postgres_figures::rows_read),
            .transactions = transactions};
}

} // namespace holdfast::bench

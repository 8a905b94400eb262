// SPDX-License-Identifier: Apache-2.0
#include "db/transaction.hpp"

namespace holdfast::db {

transaction::transaction(session& s, scope how) : session_(s), is_open_(how != scope::single)
{
    if (how == scope::read_committed)
        session_.later("BEGIN", "begin");
    else if (how == scope::snapshot)
        session_.later("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "begin");
}

transaction::~transaction()
{
    restore_timeout();
    try {
        rollback();
    } catch (error const&) {
        // The session is broken; whoever uses it next finds out and drops it. The server rolls
        // back.
        is_open_ = false;
    }
}

void transaction::allow(std::chrono::milliseconds longest)
{
    auto const ms = std::to_string(longest.count());
    session_.execute("SET LOCAL statement_timeout = " + ms +
                         "; SET LOCAL idle_in_transaction_session_timeout = " + ms,
                     "allow");
    session_.allow(longest);
    has_more_time_ = true;
}

void transaction::read_whole_tables()
{
    session_.execute("SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on;"
                     "SET LOCAL enable_mergejoin = on; SET LOCAL enable_material = on",
                     "read_whole_tables");
}

void transaction::restore_timeout() noexcept
{
    if (has_more_time_)
        session_.allow(session_.statement_timeout());
}

void transaction::commit_lazily()
{
    session_.later("SET LOCAL synchronous_commit = off", "commit_lazily");
}

void transaction::commit()
{
    if (!is_open_)
        return;
    session_.commit(); // what is unsent may fail and leave the transaction to be rolled back
    is_open_ = false;
}

void transaction::rollback()
{
    session_.forget_unsent();
    bool const is_needed = is_open_ && session_.is_in_transaction();
    is_open_ = false;
    if (is_needed)
        session_.execute("ROLLBACK", "rollback");
}

} // namespace holdfast::db

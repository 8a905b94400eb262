// SPDX-License-Identifier: Apache-2.0
#include "db/error.hpp"

#include <utility>

namespace holdfast::db {

fault fault_of(std::string_view sqlstate) noexcept
{
    if (sqlstate == "40001" || sqlstate == "40P01")
        return fault::conflict;
    if (sqlstate == "55P03")
        return fault::lock_timeout;
    if (sqlstate == "57014")
        return fault::statement_timeout;
    // 25006: the server became a read-only standby. 0A000: a prepared plan no longer fits the
    // schema. Like a lost connection, a new session mends both.
    if (sqlstate.starts_with("08") || sqlstate.starts_with("57P") || sqlstate == "25P03" ||
        sqlstate == "25006" || sqlstate == "0A000")
        return fault::connection_lost;
    if (sqlstate.starts_with("23"))
        return fault::constraint;
    if (sqlstate.starts_with("53")) // out of connections, memory or disk: may pass
        return fault::unavailable;
    return fault::other;
}

namespace {

std::string describe(fault kind, std::string const& sqlstate, std::string const& statement)
{
    static constexpr std::string_view names[]{"unavailable",  "connection lost",   "conflict",
                                              "lock timeout", "statement timeout", "constraint",
                                              "fault"};
    std::string text = "database: ";
    text += names[static_cast<std::size_t>(kind)];
    if (!sqlstate.empty())
        text += ", SQLSTATE " + sqlstate;
    if (!statement.empty())
        text += ", in " + statement;
    return text;
}

} // namespace

error::error(fault kind, std::string sqlstate, std::string statement)
    : std::runtime_error(describe(kind, sqlstate, statement)), kind_(kind),
      sqlstate_(std::move(sqlstate)), statement_(std::move(statement))
{}

} // namespace holdfast::db

// SPDX-License-Identifier: Apache-2.0
// Faults of the database. Thrown, never returned; their text is for the log, never for a client.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast::db {

enum class fault {
    unavailable,     // no connection could be made
    connection_lost, // the session is dead; drop it
    conflict,        // serialisation failure or deadlock: the same work may succeed when run again
    lock_timeout,
    statement_timeout,
    constraint, // a constraint refused the change: one of our invariants held where code did not
    other,
};

// The kind of fault behind an SQLSTATE (PostgreSQL documentation, appendix A).
[[nodiscard]] fault fault_of(std::string_view sqlstate) noexcept;

class error : public std::runtime_error {
public:
    // `statement` is the name of the statement that failed, empty when there was none.
    error(fault kind, std::string sqlstate, std::string statement);

    [[nodiscard]] fault kind() const noexcept { return kind_; }
    [[nodiscard]] std::string const& sqlstate() const noexcept { return sqlstate_; }
    [[nodiscard]] std::string const& statement() const noexcept { return statement_; }

private:
    fault kind_;
    std::string sqlstate_;
    std::string statement_;
};

// A commit was sent and its answer never came, and looking it up failed too: it may have happened.
class outcome_unknown : public std::runtime_error {
public:
    outcome_unknown() : std::runtime_error("the outcome of a commit is unknown") {}
};

} // namespace holdfast::db

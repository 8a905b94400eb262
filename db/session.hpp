// SPDX-License-Identifier: Apache-2.0
// One connection to PostgreSQL and the statements prepared on it. Owned by one thread at a time.
// Every wait on it has an end: the server's timeouts first, then a watchdog that cuts a connection
// gone silent.
#pragma once

#include "db/error.hpp"
#include "db/statement.hpp"
#include "db/value.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::db {

struct session_options {
    std::string connection; // postgresql://… or libpq's keyword = value form
    std::chrono::milliseconds statement_timeout{5000};
    std::chrono::milliseconds lock_timeout{2000};
};

// The rows of the last statement. Valid until the session runs the next one.
class rows {
public:
    rows(void const* result, std::int64_t affected) noexcept : result_(result), affected_(affected)
    {}

    [[nodiscard]] std::size_t size() const noexcept;
    [[nodiscard]] std::size_t columns() const noexcept;
    [[nodiscard]] std::int64_t affected() const noexcept { return affected_; }

    // Nothing stands for NULL.
    [[nodiscard]] std::optional<std::string_view> cell(std::size_t row, std::size_t column) const;

private:
    void const* result_;
    std::int64_t affected_;
};

class session {
public:
    // Connects. Throws db::error (unavailable).
    explicit session(session_options const&);
    ~session();
    session(session const&) = delete;
    session& operator=(session const&) = delete;

    // Prepares the statement when it is new here, and runs it after what is unsent, in the same
    // round trip. Throws db::error, of the first statement that failed; then the ones after it have
    // not been run.
    rows run(statement_ref const&, std::vector<parameter> arguments);

    // Keeps a statement whose rows nobody reads, to be sent with the next one: a round trip less.
    void later(statement_ref const&, std::vector<parameter> arguments);
    void later(std::string_view sql, std::string_view name);

    void forget_unsent() noexcept;

    // Commits after what is unsent. Throws db::error; when the connection died on the way, the
    // commit may have happened.
    void commit();

    // Runs plain SQL without parameters, one statement or several: a migration, a setting. Throws
    // db::error.
    void execute(std::string_view sql, std::string_view name);

    // How long one statement of this session may take from now on, as the watchdog sees it.
    void allow(std::chrono::milliseconds) noexcept;

    [[nodiscard]] std::chrono::milliseconds statement_timeout() const noexcept;

    // Whether the server has begun a transaction that is not over.
    [[nodiscard]] bool is_in_transaction() const noexcept;

    // False once the connection is known to be dead.
    [[nodiscard]] bool is_usable() const noexcept;

    // Major version of the server, such as 15.
    [[nodiscard]] int server_major() const noexcept;

private:
    struct prepared;
    struct message;
    struct impl;
    prepared& prepare(statement_ref const&);
    rows send_all();

    std::unique_ptr<impl> impl_;
};

// Called with a statement's name when this process prepares it for the first time on a session: how
// the suite knows that every statement is run.
void on_first_use(std::function<void(std::string_view name)>);

} // namespace holdfast::db

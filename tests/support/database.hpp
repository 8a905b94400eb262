// SPDX-License-Identifier: Apache-2.0
// Databases for tests: one private PostgreSQL for the whole test binary, a new database in it for
// each test, and a bare session for what a test does behind the service's back.
#pragma once

#include <initializer_list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

struct pg_conn;

namespace holdfast::test {

// What PostgreSQL answered to a statement it would not carry out.
class sql_error : public std::runtime_error {
public:
    sql_error(std::string const& text, std::string state)
        : std::runtime_error(text), sqlstate_(std::move(state))
    {}

    [[nodiscard]] std::string const& sqlstate() const noexcept { return sqlstate_; }

private:
    std::string sqlstate_;
};

using sql_row = std::vector<std::optional<std::string>>;

// One plain connection to PostgreSQL. For one thread at a time.
class sql_session {
public:
    explicit sql_session(std::string const& connection_string);

    // Runs one statement with $1, $2 … and returns its rows. Throws sql_error.
    std::vector<sql_row> run(std::string_view sql, std::initializer_list<std::string> values = {});

    // The one value of a statement that gives one.
    std::string value(std::string_view sql, std::initializer_list<std::string> values = {});

    // The SQLSTATE with which the database refuses a statement, or "" when it takes it.
    std::string refusal(std::string_view sql, std::initializer_list<std::string> values = {});

    // Breaks the connection without a goodbye, as the kernel does for a process that is killed.
    void cut();

private:
    struct closer {
        void operator()(pg_conn* connection) const noexcept;
    };
    std::unique_ptr<pg_conn, closer> connection_;
};

// A new, empty database. Dropped at the end, unless KEEP_TEST_DB=1 is set.
class database {
public:
    database();
    database(database const&) = delete;
    database& operator=(database const&) = delete;
    ~database();

    // For HOLDFAST_DATABASE_URL and for sql_session.
    [[nodiscard]] std::string const& connection_string() const noexcept
    {
        return connection_string_;
    }

    [[nodiscard]] sql_session session() const { return sql_session(connection_string_); }

    // ALTER DATABASE … SET, which holds for the sessions that begin after it.
    void set(std::string_view setting, std::string_view value) const;

private:
    std::string name_;
    std::string connection_string_;
};

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// One transaction, and the typed way to run statements in it. Rows become plain structs, column by
// column.
#pragma once

#include "db/session.hpp"

#include <boost/pfr.hpp>

#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::db {

// single: no BEGIN; each statement is a transaction of its own, for reads that need only one.
enum class scope { read_committed, snapshot, single };

class transaction {
public:
    // Begins. Rolls back in the destructor unless committed.
    explicit transaction(session&, scope = scope::read_committed);
    ~transaction();
    transaction(transaction const&) = delete;
    transaction& operator=(transaction const&) = delete;

    // Gives the statements of this transaction more time than those of a request: imports, audits.
    void allow(std::chrono::milliseconds longest);

    // Lets the planner read tables from end to end, for statements that look at all of them. Others
    // go by indexes.
    void read_whole_tables();

    // Lets the commit return before it is on the disk: should the server crash within moments, all
    // of it is gone, as if it had never been. For what can be done again.
    void commit_lazily();

    // Throws db::error; when the connection died on the way, the commit may have happened.
    void commit();
    void rollback();

    // Runs a statement that gives no rows; returns how many it changed.
    template <std::size_t N, class... Arguments>
    std::int64_t exec(statement<cardinality::exec, N> const& s, Arguments const&... arguments)
    {
        return run(s, arguments...).affected();
    }

    // The same without the count, sent together with the next statement or the commit, which throws
    // what went wrong.
    template <std::size_t N, class... Arguments>
    void later(statement<cardinality::exec, N> const& s, Arguments const&... arguments)
    {
        session_.later(s, to_parameters(s, arguments...));
    }

    template <class Row, std::size_t N, class... Arguments>
    std::vector<Row> many(statement<cardinality::many, N> const& s, Arguments const&... arguments)
    {
        auto const found = run(s, arguments...);
        std::vector<Row> all;
        all.reserve(found.size());
        for (std::size_t i = 0; i < found.size(); ++i)
            all.push_back(read_row<Row>(found, i));
        return all;
    }

    template <class Row, std::size_t N, class... Arguments>
    std::optional<Row> maybe(statement<cardinality::maybe, N> const& s,
                             Arguments const&... arguments)
    {
        auto const found = run(s, arguments...);
        if (found.size() == 0)
            return std::nullopt;
        return read_row<Row>(found, 0);
    }

    template <class Row, std::size_t N, class... Arguments>
    Row one(statement<cardinality::one, N> const& s, Arguments const&... arguments)
    {
        auto const found = run(s, arguments...);
        if (found.size() != 1)
            throw std::logic_error("expected one row from " + std::string(s.name));
        return read_row<Row>(found, 0);
    }

private:
    template <cardinality C, std::size_t N, class... Arguments>
    rows run(statement<C, N> const& s, Arguments const&... arguments)
    {
        return session_.run(s, to_parameters(s, arguments...));
    }

    template <cardinality C, std::size_t N, class... Arguments>
    static std::vector<parameter> to_parameters(statement<C, N> const&,
                                                Arguments const&... arguments)
    {
        static_assert(sizeof...(Arguments) == N,
                      "one argument for each parameter of the statement");
        std::vector<parameter> values;
        values.reserve(N);
        (values.push_back(to_parameter(arguments)), ...);
        return values;
    }

    template <class Field>
    static void read_field(rows const& from, std::size_t row, std::size_t column, Field& field)
    {
        auto const cell = from.cell(row, column);
        if (!cell)
            throw std::logic_error("NULL where a value was expected");
        field = from_text<Field>::read(*cell);
    }

    template <class Field>
    static void read_field(rows const& from, std::size_t row, std::size_t column,
                           std::optional<Field>& field)
    {
        auto const cell = from.cell(row, column);
        if (cell)
            field = from_text<Field>::read(*cell);
        else
            field.reset();
    }

    template <class Row>
    static Row read_row(rows const& from, std::size_t row)
    {
        if constexpr (requires { from_text<Row>::read(std::string_view()); }) {
            Row value{};
            read_field(from, row, 0, value);
            return value;
        } else {
            if (boost::pfr::tuple_size_v<Row> != from.columns())
                throw std::logic_error("a row has another number of columns than its struct");
            Row value{};
            boost::pfr::for_each_field(
                value, [&](auto& field, std::size_t i) { read_field(from, row, i, field); });
            return value;
        }
    }

    void restore_timeout() noexcept;

    session& session_;
    bool is_open_;
    bool has_more_time_ = false;
};

} // namespace holdfast::db

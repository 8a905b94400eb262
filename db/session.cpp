// SPDX-License-Identifier: Apache-2.0
// SOCI holds the connection and the prepared statements; rows are read from libpq's result in
// place.
#include "db/session.hpp"

#include "db/watchdog.hpp"

#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

namespace holdfast::db {

namespace {

// Beyond the server's own timeout: what an answer may take to travel before the connection is cut.
constexpr auto travel_allowance = std::chrono::seconds(2);

std::mutex first_use_mutex;
std::set<std::string, std::less<>> first_used;
std::function<void(std::string_view)> first_use_listener;

void tell_first_use(std::string_view name)
{
    std::scoped_lock const lock(first_use_mutex);
    if (first_use_listener && first_used.emplace(name).second)
        first_use_listener(name);
}

void append_keyword(std::string& out, std::string_view keyword, std::string_view value)
{
    out += keyword;
    out += "='";
    for (auto const c : value) {
        if (c == '\'' || c == '\\')
            out += '\\';
        out += c;
    }
    out += "' ";
}

// The shop's connection string with our deadlines where it names none. Both of libpq's forms are
// read by libpq itself.
std::string with_deadlines(std::string const& connection)
{
    char* problem = nullptr;
    std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> const options(
        PQconninfoParse(connection.c_str(), &problem), &PQconninfoFree);
    std::unique_ptr<char, decltype(&PQfreemem)> const problem_owner(problem, &PQfreemem);
    if (!options)
        throw error(fault::unavailable, "", "connection string");

    std::unordered_map<std::string_view, std::string_view> const defaults{
        {"connect_timeout", "5"},  {"keepalives_idle", "30"},     {"keepalives_interval", "5"},
        {"keepalives_count", "3"}, {"tcp_user_timeout", "15000"}, {"application_name", "holdfast"}};
    std::string text;
    for (auto const* o = options.get(); o->keyword; ++o) {
        auto const found = defaults.find(o->keyword);
        if (o->val && *o->val)
            append_keyword(text, o->keyword, o->val);
        else if (found != defaults.end())
            append_keyword(text, found->first, found->second);
    }
    return text;
}

std::string setup_sql(session_options const& options)
{
    auto const ms = [](auto d) { return std::to_string(d.count()); };
    return "SET default_transaction_isolation = 'read committed';"
           "SET default_transaction_read_only = off;"
           "SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD'; SET client_encoding = 'UTF8';"
           "SET standard_conforming_strings = on; SET client_min_messages = warning;"
           "SET plan_cache_mode = force_generic_plan;"
           // A plan made while a table is small stays until it is analysed again, which may be many
           // sales later: every statement goes by an index from the first row on.
           "SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;"
           "SET statement_timeout = " +
           ms(options.statement_timeout) +
           ";"
           "SET lock_timeout = " +
           ms(options.lock_timeout) +
           ";"
           "SET idle_in_transaction_session_timeout = " +
           ms(2 * options.statement_timeout) +
           ";"
           // An acknowledged reservation survives a crash, whatever the server's default is.
           "DO $$ BEGIN IF current_setting('synchronous_commit') = 'off'"
           " THEN SET synchronous_commit = on; END IF; END $$";
}

} // namespace

void on_first_use(std::function<void(std::string_view)> listener)
{
    std::scoped_lock const lock(first_use_mutex);
    first_use_listener = std::move(listener);
}

std::size_t rows::size() const noexcept
{
    return result_ ? static_cast<std::size_t>(PQntuples(static_cast<PGresult const*>(result_))) : 0;
}

std::size_t rows::columns() const noexcept
{
    return result_ ? static_cast<std::size_t>(PQnfields(static_cast<PGresult const*>(result_))) : 0;
}

std::optional<std::string_view> rows::cell(std::size_t row, std::size_t column) const
{
    auto const* result = static_cast<PGresult const*>(result_);
    auto const r = static_cast<int>(row);
    auto const c = static_cast<int>(column);
    if (PQgetisnull(result, r, c))
        return std::nullopt;
    return std::string_view(PQgetvalue(result, r, c),
                            static_cast<std::size_t>(PQgetlength(result, r, c)));
}

// SOCI binds by reference, so the values live beside the statement and are overwritten for each
// run.
struct session::prepared {
    prepared(soci::session& s, statement_ref const& ref)
        : values(ref.parameters.size()), indicators(ref.parameters.size(), soci::i_ok), handle(s)
    {
        for (std::size_t i = 0; i < values.size(); ++i)
            handle.exchange(soci::use(values[i], indicators[i], std::string(ref.parameters[i])));
        handle.alloc();
        handle.prepare(std::string(ref.text), soci::details::st_repeatable_query);
        handle.define_and_bind();
    }

    PGresult* result()
    {
        return static_cast<soci::postgresql_statement_backend*>(handle.get_backend())
            ->result_.get_result();
    }

    std::vector<std::string> values;
    std::vector<soci::indicator> indicators;
    soci::statement handle;
};

struct session::impl {
    explicit impl(session_options const& o)
        : statement_timeout(o.statement_timeout), longest(o.statement_timeout)
    {}

    PGconn* connection()
    {
        return static_cast<soci::postgresql_session_backend*>(soci.get_backend())->conn_;
    }

    // Runs one step under the watchdog and turns what SOCI throws into our error.
    template <class Step>
    auto guarded(std::string_view name, Step&& step)
    {
        struct ending {
            watch& w;
            ~ending() { w.end(); }
        };
        watcher->begin(longest + travel_allowance);
        ending const e{*watcher};
        try {
            return step();
        } catch (soci::postgresql_soci_error const& fault) {
            throw to_error(fault.sqlstate(), name);
        } catch (soci::soci_error const&) {
            throw to_error("", name);
        }
    }

    error to_error(std::string sqlstate, std::string_view name)
    {
        // Some faults arrive without a state; a dead connection is one whatever the state says.
        std::erase(sqlstate, ' ');
        bool const is_dead = PQstatus(connection()) != CONNECTION_OK;
        auto const kind = is_dead ? fault::connection_lost : fault_of(sqlstate);
        return error(kind, std::move(sqlstate), std::string(name));
    }

    std::chrono::milliseconds statement_timeout;
    std::chrono::milliseconds longest; // one statement may take
    soci::session soci;
    std::optional<watch> watcher;
    std::unordered_map<char const*, std::unique_ptr<prepared>> statements; // by address of the name
};

session::session(session_options const& options) : impl_(std::make_unique<impl>(options))
{
    try {
        impl_->soci.open(soci::postgresql, with_deadlines(options.connection));
    } catch (soci::soci_error const&) {
        throw error(fault::unavailable, "", "connect");
    }
    impl_->watcher.emplace(PQsocket(impl_->connection()));
    execute(setup_sql(options), "session setup");
}

session::~session() = default;

session::prepared& session::prepare(statement_ref const& ref)
{
    auto& slot = impl_->statements[ref.name.data()];
    if (!slot) {
        try {
            slot = impl_->guarded(ref.name,
                                  [&] { return std::make_unique<prepared>(impl_->soci, ref); });
        } catch (...) {
            impl_->statements.erase(ref.name.data());
            throw;
        }
        tell_first_use(ref.name);
    }
    return *slot;
}

rows session::run(statement_ref const& ref, std::span<parameter const> arguments)
{
    auto& statement = prepare(ref);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        statement.values[i] = arguments[i].value_or("");
        statement.indicators[i] = arguments[i] ? soci::i_ok : soci::i_null;
    }
    impl_->guarded(ref.name, [&] { statement.handle.execute(true); });
    auto const affected = statement.handle.get_affected_rows();
    return rows(statement.result(), affected);
}

void session::execute(std::string_view sql, std::string_view name)
{
    auto* const connection = impl_->connection();
    impl_->watcher->begin(impl_->longest + travel_allowance);
    std::unique_ptr<PGresult, decltype(&PQclear)> const result(
        PQexec(connection, std::string(sql).c_str()), &PQclear);
    impl_->watcher->end();
    auto const status = PQresultStatus(result.get());
    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
        auto const* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
        throw impl_->to_error(state ? state : "", name);
    }
    // COMMIT of an aborted transaction answers ROLLBACK without an error: that is no success.
    if (sql == "COMMIT" && std::string_view(PQcmdStatus(result.get())) != "COMMIT")
        throw error(fault::other, "25P02", std::string(name));
}

void session::allow(std::chrono::milliseconds longest) noexcept
{
    impl_->longest = longest;
}

std::chrono::milliseconds session::statement_timeout() const noexcept
{
    return impl_->statement_timeout;
}

bool session::is_usable() const noexcept
{
    return PQstatus(impl_->connection()) == CONNECTION_OK;
}

int session::server_major() const noexcept
{
    return PQserverVersion(impl_->connection()) / 10000;
}

} // namespace holdfast::db

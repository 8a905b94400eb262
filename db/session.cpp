// SPDX-License-Identifier: Apache-2.0
// SOCI holds the connection and the prepared statements; rows are read from libpq's result in
// place.
#include "db/session.hpp"

#include "db/watchdog.hpp"

#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::db {

namespace {

// What finds two requests with one idempotency key. One that was queued has its id as well, so two
// who carry it out may meet there first, or at its lines, which are written in the same statement.
constexpr std::array<std::string_view, 3> keys_of_requests{"reservation_key", "reservation_pkey",
                                                           "reservation_line_pkey"};

// The column that is left empty, against its NOT NULL, where a level is not as it was seen.
constexpr std::string_view level_table = "stock_level";
constexpr std::string_view level_version = "version";

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

// What libpq says of a server it could not reach. Of a connection string it cannot read it says
// parts, which may be the password's: that is kept back.
std::string reason_in(std::string_view message)
{
    auto const begin = message.find("connection to server ");
    if (begin == std::string_view::npos)
        return {};
    message.remove_prefix(begin);
    return ": " + std::string(message.substr(0, message.find('\n')));
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
           "SET enable_material = off;"
           "SET jit = off;"
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

using result_ptr = std::unique_ptr<PGresult, decltype(&PQclear)>;

bool is_success(PGresult const* result)
{
    auto const status = PQresultStatus(result);
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
}

// A statement as SOCI has prepared it on the connection. SOCI numbers each place where a name
// stands.
struct session::prepared {
    prepared(soci::session& s, statement_ref const& ref) : handle(s)
    {
        handle.alloc();
        handle.prepare(std::string(ref.text), soci::details::st_repeatable_query);
        auto const& backend =
            *static_cast<soci::postgresql_statement_backend*>(handle.get_backend());
        name = backend.statementName_;
        for (auto const& each : backend.names_)
            places.push_back(static_cast<std::size_t>(std::ranges::find(ref.parameters, each) -
                                                      ref.parameters.begin()));
    }

    std::string name;
    std::vector<std::size_t> places; // of the argument for each $n
    soci::statement handle;
};

// Something to be sent: a prepared statement with its arguments, or plain SQL without any.
struct session::message {
    prepared const* statement = nullptr;
    std::string sql = {};
    std::string_view name = {};
    std::vector<parameter> arguments = {};

    [[nodiscard]] std::vector<char const*> values() const
    {
        std::vector<char const*> all;
        if (statement)
            for (auto const place : statement->places)
                all.push_back(arguments[place] ? arguments[place]->c_str() : nullptr);
        return all;
    }
};

struct session::impl {
    explicit impl(session_options const& o)
        : statement_timeout(o.statement_timeout), longest(o.statement_timeout)
    {}

    PGconn* connection()
    {
        return static_cast<soci::postgresql_session_backend*>(soci.get_backend())->conn_;
    }

    // Prepares under the watchdog and turns what SOCI throws into our error.
    std::unique_ptr<prepared> prepare(statement_ref const& ref)
    {
        watched const waiting(*this);
        try {
            return std::make_unique<prepared>(soci, ref);
        } catch (soci::postgresql_soci_error const& fault) {
            throw to_error(fault.sqlstate(), ref.name);
        } catch (soci::soci_error const&) {
            throw to_error("", ref.name);
        }
    }

    // One wait for the server.
    struct watched {
        explicit watched(impl& i) : over(*i.watcher) { over.begin(i.longest + travel_allowance); }
        ~watched() { over.end(); }
        watch& over;
    };

    // Sends one message and waits for its result.
    result_ptr exchange(message const& m)
    {
        watched const waiting(*this);
        auto const values = m.values();
        auto const count = static_cast<int>(values.size());
        result_ptr result(m.statement ? PQexecPrepared(connection(), m.statement->name.c_str(),
                                                       count, values.data(), nullptr, nullptr, 0)
                                      : PQexec(connection(), m.sql.c_str()),
                          &PQclear);
        if (!is_success(result.get()))
            throw to_error(result.get(), m.name);
        return result;
    }

    // Sends several messages in one go and waits for all results (libpq's pipeline mode). The first
    // that fails keeps those after it from happening. Returns the last result.
    result_ptr exchange(std::span<message const> messages)
    {
        watched const waiting(*this);
        auto* const c = connection();
        PQenterPipelineMode(c);
        for (auto const& m : messages)
            send(m);
        PQpipelineSync(c);
        result_ptr newest(nullptr, &PQclear);
        std::optional<error> fault;
        for (auto const& m : messages) {
            newest.reset(PQgetResult(c));
            if (!fault && !is_success(newest.get()))
                fault = to_error(newest.get(), m.name);
            read_to_end();
        }
        read_to_end(); // the answer to the sync
        if (!PQexitPipelineMode(c) && !fault)
            fault = to_error("", messages.back().name);
        if (fault)
            throw *std::move(fault);
        return newest;
    }

    void send(message const& m)
    {
        auto const values = m.values();
        if (m.statement)
            PQsendQueryPrepared(connection(), m.statement->name.c_str(),
                                static_cast<int>(values.size()), values.data(), nullptr, nullptr,
                                0);
        else
            PQsendQueryParams(connection(), m.sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr,
                              0);
    }

    // A connection that is gone gives errors for ever; they end here.
    void read_to_end()
    {
        while (result_ptr const rest{PQgetResult(connection()), &PQclear}) {
            if (PQresultStatus(rest.get()) == PGRES_PIPELINE_SYNC ||
                PQstatus(connection()) != CONNECTION_OK)
                return;
        }
    }

    error to_error(PGresult const* result, std::string_view name)
    {
        auto const field = [&](int code) {
            auto const* text = PQresultErrorField(result, code);
            return std::string(text ? text : "");
        };
        auto fault = to_error(field(PG_DIAG_SQLSTATE), name);
        if (fault.kind() != fault::constraint)
            return fault;
        bool const is_key_taken =
            std::ranges::find(keys_of_requests, field(PG_DIAG_CONSTRAINT_NAME)) !=
            keys_of_requests.end();
        bool const has_level_moved =
            field(PG_DIAG_TABLE_NAME) == level_table && field(PG_DIAG_COLUMN_NAME) == level_version;
        bool const is_conflict = is_key_taken || has_level_moved;
        return is_conflict ? error(fault::conflict, fault.sqlstate(), std::string(name)) : fault;
    }

    error to_error(std::string sqlstate, std::string_view name)
    {
        // A dead connection is one whatever the state says; and what the server says has one, so a
        // fault without any is that of a line whose end has not been noticed yet.
        std::erase(sqlstate, ' ');
        bool const is_dead = PQstatus(connection()) != CONNECTION_OK || sqlstate.empty();
        auto const kind = is_dead ? fault::connection_lost : fault_of(sqlstate);
        return error(kind, std::move(sqlstate), std::string(name));
    }

    std::chrono::milliseconds statement_timeout;
    std::chrono::milliseconds longest; // one statement may take
    soci::session soci;
    std::optional<watch> watcher;
    std::unordered_map<char const*, std::unique_ptr<prepared>> statements; // by address of the name
    std::vector<message> unsent;
    result_ptr last{nullptr, &PQclear}; // what the rows of the last statement are read from
};

session::session(session_options const& options) : impl_(std::make_unique<impl>(options))
{
    try {
        impl_->soci.open(soci::postgresql, with_deadlines(options.connection));
    } catch (soci::soci_error const& e) {
        throw error(fault::unavailable, "", "connect" + reason_in(e.what()));
    }
    impl_->watcher.emplace(PQsocket(impl_->connection()));
    execute(setup_sql(options), "session setup");
}

session::~session() = default;

session::prepared& session::prepare(statement_ref const& ref)
{
    auto const known = impl_->statements.find(ref.name.data());
    if (known != impl_->statements.end())
        return *known->second;
    auto made = impl_->prepare(ref);
    tell_first_use(ref.name);
    return *impl_->statements.emplace(ref.name.data(), std::move(made)).first->second;
}

rows session::run(statement_ref const& ref, std::vector<parameter> arguments)
{
    later(ref, std::move(arguments));
    return send_all();
}

void session::later(statement_ref const& ref, std::vector<parameter> arguments)
{
    auto const& statement = prepare(ref);
    impl_->unsent.push_back({&statement, {}, ref.name, std::move(arguments)});
}

void session::later(std::string_view sql, std::string_view name)
{
    impl_->unsent.push_back({.sql = std::string(sql), .name = name});
}

void session::forget_unsent() noexcept
{
    impl_->unsent.clear();
}

rows session::send_all()
{
    auto const messages = std::exchange(impl_->unsent, {});
    impl_->last =
        messages.size() == 1 ? impl_->exchange(messages.front()) : impl_->exchange(messages);
    auto const* const affected = PQcmdTuples(impl_->last.get());
    return rows(impl_->last.get(), std::strtoll(affected, nullptr, 10));
}

void session::commit()
{
    later("COMMIT", "commit");
    send_all();
    // COMMIT of an aborted transaction answers ROLLBACK without an error: that is no success.
    if (std::string_view(PQcmdStatus(impl_->last.get())) != "COMMIT")
        throw error(fault::other, "25P02", "commit");
}

void session::execute(std::string_view sql, std::string_view name)
{
    if (!impl_->unsent.empty())
        send_all();
    impl_->exchange(message{.sql = std::string(sql), .name = name});
}

void session::allow(std::chrono::milliseconds longest) noexcept
{
    impl_->longest = longest;
}

std::chrono::milliseconds session::statement_timeout() const noexcept
{
    return impl_->statement_timeout;
}

bool session::is_in_transaction() const noexcept
{
    auto const status = PQtransactionStatus(impl_->connection());
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR;
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

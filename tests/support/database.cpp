// SPDX-License-Identifier: Apache-2.0
#include "tests/support/database.hpp"

#include "db/embedded_cluster.hpp"
#include "tests/support/caretaker.hpp"

#include <libpq-fe.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

namespace holdfast::test {

namespace {

bool keeps_databases()
{
    auto const* wish = std::getenv("KEEP_TEST_DB");
    return wish != nullptr && std::string_view(wish) == "1";
}

// The cluster's directory, removed after the cluster has stopped.
class cluster_directory {
public:
    cluster_directory()
    {
        auto name = (std::filesystem::temp_directory_path() / "holdfast-tests-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr)
            throw std::system_error(errno, std::generic_category(), "mkdtemp");
        // The cluster may run as another user and has to get through here.
        std::filesystem::permissions(name, std::filesystem::perms{0711});
        path_ = name;
    }
    cluster_directory(cluster_directory const&) = delete;
    cluster_directory& operator=(cluster_directory const&) = delete;

    ~cluster_directory()
    {
        if (keeps_databases()) {
            std::printf("the test databases are kept in %s\n", path_.c_str());
            return;
        }
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

// The private PostgreSQL, started when the first test asks for a database. Commits do not wait for
// the disk: tests kill services, not the machine.
std::string const& cluster_connection_string()
{
    static cluster_directory const directory;
    static auto const cluster = [] {
        db::cluster_options options;
        options.directory = directory.path() / "cluster";
        options.settings = {
            {"fsync", "off"}, {"full_page_writes", "off"}, {"max_connections", "200"}};
        return db::embedded_cluster::start(std::move(options));
    }();
    std::vector<std::filesystem::path> leftovers;
    if (!keeps_databases())
        leftovers.push_back(directory.path());
    static caretaker const in_case_of_death(cluster.postmaster_pid(), leftovers);
    return cluster.connection_string();
}

std::string quoted(std::string_view value)
{
    std::string text = "'";
    for (auto const c : value) {
        if (c == '\'' || c == '\\')
            text += '\\';
        text += c;
    }
    return text + '\'';
}

// The private PostgreSQL as another user, or with another database.
std::string connection_string_for(std::string_view user, std::string_view name)
{
    auto const& cluster = cluster_connection_string();
    using options_ptr = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;
    options_ptr const options(PQconninfoParse(cluster.c_str(), nullptr), &PQconninfoFree);
    if (!options)
        throw std::invalid_argument("not a connection string: " + cluster);
    std::string text;
    for (auto const* option = options.get(); option->keyword != nullptr; ++option) {
        std::string const keyword = option->keyword;
        if (option->val != nullptr && keyword != "dbname" && keyword != "user")
            text += keyword + '=' + quoted(option->val) + ' ';
    }
    return text + "user=" + quoted(user) + " dbname=" + quoted(name);
}

// The service's user may not make databases, so this is done as the cluster's superuser.
void administer(std::string const& sql)
{
    sql_session(connection_string_for("postgres", "postgres")).run(sql);
}

} // namespace

void sql_session::closer::operator()(pg_conn* connection) const noexcept
{
    PQfinish(connection);
}

sql_session::sql_session(std::string const& connection_string)
    : connection_(PQconnectdb(connection_string.c_str()))
{
    if (PQstatus(connection_.get()) != CONNECTION_OK)
        throw std::runtime_error(PQerrorMessage(connection_.get()));
}

std::vector<sql_row> sql_session::run(std::string_view sql,
                                      std::initializer_list<std::string> values)
{
    std::vector<char const*> pointers;
    for (auto const& value : values)
        pointers.push_back(value.c_str());
    std::unique_ptr<PGresult, decltype(&PQclear)> const result(
        PQexecParams(connection_.get(), std::string(sql).c_str(), static_cast<int>(values.size()),
                     nullptr, pointers.data(), nullptr, nullptr, 0),
        &PQclear);
    auto const status = PQresultStatus(result.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
        auto const* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
        throw sql_error(PQerrorMessage(connection_.get()), state != nullptr ? state : "08006");
    }
    std::vector<sql_row> rows;
    for (int i = 0; i < PQntuples(result.get()); ++i) {
        auto& row = rows.emplace_back();
        for (int column = 0; column < PQnfields(result.get()); ++column) {
            auto& cell = row.emplace_back();
            if (PQgetisnull(result.get(), i, column) == 0)
                cell = PQgetvalue(result.get(), i, column);
        }
    }
    return rows;
}

std::string sql_session::value(std::string_view sql, std::initializer_list<std::string> values)
{
    auto const rows = run(sql, values);
    if (rows.size() != 1 || rows[0].size() != 1 || !rows[0][0])
        throw std::runtime_error("not one value: " + std::string(sql));
    return *rows[0][0];
}

std::string sql_session::refusal(std::string_view sql, std::initializer_list<std::string> values)
{
    try {
        run(sql, values);
        return {};
    } catch (sql_error const& error) {
        return error.sqlstate();
    }
}

void sql_session::cut()
{
    ::shutdown(PQsocket(connection_.get()), SHUT_RDWR);
}

database::database()
{
    static std::atomic<int> count{0};
    name_ = "t_" + std::to_string(++count);
    administer("CREATE DATABASE " + name_ + " OWNER holdfast");
    connection_string_ = connection_string_for("holdfast", name_);
    if (keeps_databases())
        std::printf("test database: %s\n", connection_string_.c_str());
}

database::~database()
{
    if (keeps_databases())
        return;
    try {
        administer("DROP DATABASE " + name_ + " WITH (FORCE)");
    } catch (std::exception const& error) {
        std::fprintf(stderr, "%s was not dropped: %s\n", name_.c_str(), error.what());
    }
}

void database::set(std::string_view setting, std::string_view value) const
{
    administer("ALTER DATABASE " + name_ + " SET " + std::string(setting) + " = " + quoted(value));
}

} // namespace holdfast::test

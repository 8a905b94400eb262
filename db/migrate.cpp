// SPDX-License-Identifier: Apache-2.0
#include "db/migrate.hpp"

#include "db/transaction.hpp"
#include "sql/migrate.hpp"

#include <sodium.h>

#include <charconv>
#include <chrono>
#include <thread>

namespace holdfast::db {

namespace {

constexpr int server_major_min = 13; // the oldest with every feature the statements use
constexpr auto lock_wait_max = std::chrono::seconds(60);
constexpr auto patience = std::chrono::hours(1); // with one migration: large tables are rewritten

struct applied_row {
    std::int64_t number = 0;
    std::string checksum;
};

std::int64_t number_of(migration const& m)
{
    std::int64_t number = 0;
    std::from_chars(m.first.data(), m.first.data() + 4, number);
    return number;
}

std::string checksum_of(migration const& m)
{
    unsigned char hash[32];
    crypto_generichash(hash, sizeof hash, reinterpret_cast<unsigned char const*>(m.second.data()),
                       m.second.size(), nullptr, 0);
    return to_text(std::span<std::uint8_t const>(hash)).substr(2);
}

std::vector<applied_row> applied(session& s)
{
    transaction tx(s, scope::single);
    if (!tx.one<bool>(sql::migrate::has_table))
        return {};
    return tx.many<applied_row>(sql::migrate::applied);
}

// What stands in the database must be a beginning of what this program has.
std::string fault_of(std::vector<applied_row> const& rows, std::span<migration const> migrations)
{
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i >= migrations.size())
            return "The database has schema " + std::to_string(rows[i].number) +
                   ", which is newer than this program knows (" +
                   std::to_string(migrations.size()) + "): run a newer holdfast.";
        if (rows[i].number != number_of(migrations[i]) ||
            rows[i].checksum != checksum_of(migrations[i]))
            return "Migration " + std::string(migrations[i].first) +
                   " was changed after it was applied to this database: put the file back as it was"
                   " and add a new migration instead.";
    }
    return {};
}

class schema_lock {
public:
    explicit schema_lock(session& s) : session_(s)
    {
        auto const deadline = std::chrono::steady_clock::now() + lock_wait_max;
        while (!transaction(session_, scope::single).one<bool>(sql::migrate::try_lock)) {
            if (std::chrono::steady_clock::now() > deadline)
                throw migration_error("Another process has been migrating this database for a"
                                      " minute: wait for it, or end it and start again.");
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
    }
    ~schema_lock()
    {
        try {
            transaction(session_, scope::single).one<bool>(sql::migrate::unlock);
        } catch (error const&) {
            is_lost_ = true; // the server frees the lock with the session
        }
    }
    schema_lock(schema_lock const&) = delete;
    schema_lock& operator=(schema_lock const&) = delete;

private:
    session& session_;
    bool is_lost_ = false;
};

void apply(session& s, migration const& m)
{
    transaction tx(s);
    tx.allow(patience);
    s.execute(m.second, m.first);
    tx.exec(sql::migrate::remember, number_of(m), m.first, checksum_of(m));
    tx.commit();
}

} // namespace

std::string schema_fault(session& s, std::span<migration const> migrations)
{
    auto const rows = applied(s);
    if (auto fault = fault_of(rows, migrations); !fault.empty())
        return fault;
    if (rows.size() < migrations.size())
        return "The database's schema is older than this program: run `holdfast migrate`.";
    return {};
}

std::vector<std::string> migrate(session& s, std::span<migration const> migrations)
{
    if (s.server_major() < server_major_min)
        throw migration_error("The server is PostgreSQL " + std::to_string(s.server_major()) +
                              "; 13 or newer is needed.");
    schema_lock const lock(s);
    s.execute("CREATE TABLE IF NOT EXISTS schema_migration (number bigint PRIMARY KEY,"
              " name text NOT NULL, checksum text NOT NULL,"
              " applied_at timestamptz NOT NULL DEFAULT now())",
              "schema_migration");
    auto const rows = applied(s);
    if (auto const fault = fault_of(rows, migrations); !fault.empty())
        throw migration_error(fault);

    std::vector<std::string> names;
    for (auto const& m : migrations.subspan(rows.size())) {
        apply(s, m);
        names.emplace_back(m.first);
    }
    return names;
}

} // namespace holdfast::db

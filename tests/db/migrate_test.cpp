// SPDX-License-Identifier: Apache-2.0
// Bringing a database's schema up to the program's: forward only, once, and never half.
#include "db/migrate.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

using names = std::vector<std::string>;

std::vector<db::migration> const two{
    {"0001_shelf.sql", "CREATE TABLE shelf (id bigint PRIMARY KEY);\n"
                       "-- a semicolon; in a comment\n"
                       "INSERT INTO shelf VALUES (1);"},
    {"0002_box.sql", "CREATE TABLE box (shelf bigint REFERENCES shelf);\n"
                     "CREATE FUNCTION one() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN\n"
                     "  RETURN 1; END $$;"}};

std::span<db::migration const> first(std::size_t count)
{
    return std::span(two).first(count);
}

db::session open(database const& place)
{
    return db::session({.connection = place.connection_string()});
}

// The sentence with which migrating is refused.
std::string refusal(db::session& session, std::span<db::migration const> migrations)
{
    try {
        db::migrate(session, migrations);
        return "nothing was refused";
    } catch (db::migration_error const& fault) {
        return fault.what();
    }
}

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

bool has_table(database const& place, std::string const& name)
{
    return place.session().value("SELECT to_regclass($1) IS NOT NULL", {name}) == "t";
}

names all_names()
{
    names all;
    for (auto const& each : all_migrations())
        all.emplace_back(each.first);
    return all;
}

} // namespace

TEST_CASE("a migration may take longer than any statement of a request")
{
    database const place;
    db::session session({.connection = place.connection_string(), .statement_timeout = 100ms});
    std::vector<db::migration> const slow{{"0001_slow.sql", "SELECT pg_sleep(2.5)"}};
    CHECK(db::migrate(session, slow) == names{"0001_slow.sql"});
    CHECK(session.is_usable());
}

TEST_CASE("an empty database gets the whole schema, and getting it again does nothing")
{
    database const place;
    auto session = open(place);
    CHECK(has(db::schema_fault(session, all_migrations()), "run `holdfast migrate`"));

    CHECK(db::migrate(session, all_migrations()) == all_names());
    CHECK(db::schema_fault(session, all_migrations()) == "");
    for (auto const* table : {"item", "stock_level", "reservation", "movement", "schema_migration"})
        CHECK(has_table(place, table));

    CHECK(db::migrate(session, all_migrations()).empty());
    auto later = open(place);
    CHECK(db::migrate(later, all_migrations()).empty());
    CHECK(place.session().value("SELECT count(*) FROM schema_migration") ==
          std::to_string(all_migrations().size()));
}

TEST_CASE("a database of an older program gets what is missing and keeps what it has")
{
    database const place;
    auto session = open(place);
    CHECK(db::migrate(session, first(1)) == names{"0001_shelf.sql"});
    place.session().run("INSERT INTO shelf VALUES (2)");

    CHECK(db::migrate(session, two) == names{"0002_box.sql"});
    CHECK(place.session().value("SELECT count(*) FROM shelf") == "2");
    CHECK(place.session().value("SELECT one()") == "1");
    CHECK(db::schema_fault(session, two) == "");
}

TEST_CASE("a database of a newer program is left alone")
{
    database const place;
    auto session = open(place);
    db::migrate(session, two);

    auto const said = refusal(session, first(1));
    CHECK(has(said, "has schema 2"));
    CHECK(has(said, "newer than this program knows (1)"));
    CHECK(db::schema_fault(session, first(1)) == said);
    CHECK(has_table(place, "box"));
}

TEST_CASE("a migration that was changed afterwards is named, and nothing is done")
{
    database const place;
    auto session = open(place);
    db::migrate(session, first(1));
    auto changed = two;
    changed[0].second = "CREATE TABLE shelf (id bigint PRIMARY KEY, name text);";

    auto const said = refusal(session, changed);
    CHECK(has(said, "0001_shelf.sql was changed after it was applied"));
    CHECK(db::schema_fault(session, changed) == said);
    CHECK_FALSE(has_table(place, "box"));

    // Even in white space: whoever looks at the file must see what the database has.
    changed[0].second = "CREATE TABLE shelf (id bigint PRIMARY KEY);\n"
                        "-- a semicolon; in a comment\n"
                        "INSERT INTO shelf VALUES (1);\n";
    CHECK(has(refusal(session, changed), "was changed"));
}

TEST_CASE("a migration that fails leaves nothing of itself and keeps those before it")
{
    database const place;
    auto session = open(place);
    std::vector<db::migration> broken{two[0],
                                      {"0002_box.sql", "CREATE TABLE box (shelf bigint);\n"
                                                       "INSERT INTO box VALUES ('none');"}};

    CHECK_THROWS_AS((void)db::migrate(session, broken), db::error);
    CHECK(has_table(place, "shelf"));
    CHECK_FALSE(has_table(place, "box"));

    // The lock is free again, and the mended file goes on where it stopped.
    auto other = open(place);
    CHECK(db::migrate(other, two) == names{"0002_box.sql"});
    CHECK(db::migrate(session, two).empty());
}

TEST_CASE("services that start at the same moment take turns")
{
    database const place;
    auto const applied = run_together(6, [&](std::size_t) {
        auto session = open(place);
        return db::migrate(session, all_migrations());
    });
    CHECK(std::ranges::count(applied, all_names()) == 1);
    CHECK(std::ranges::count(applied, names()) == 5);
}

TEST_CASE("whoever migrates waits for another program that is at it")
{
    database const place;
    auto other = place.session();
    other.run("SELECT pg_advisory_lock(7236828793)");
    auto applied = std::async(std::launch::async, [&] {
        auto session = open(place);
        return db::migrate(session, two);
    });
    CHECK(eventually(10s, [&] {
        return other.value("SELECT count(*) > 0 FROM pg_stat_activity"
                           " WHERE datname = current_database()"
                           " AND query LIKE '%pg_try_advisory_lock%'"
                           " AND pid <> pg_backend_pid()") == "t";
    }));
    CHECK_FALSE(has_table(place, "shelf"));
    other.run("SELECT pg_advisory_unlock(7236828793)");
    CHECK(applied.get().size() == 2);
}

TEST_CASE("the schema itself refuses numbers that would break the promise")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(5);
    (void)bench.hold(at, 3);
    constexpr auto check_violation = "23514";
    for (auto const* change :
         {"on_hand = -1", "on_hand = 2", "reserved = 6", "reserved = -1", "shortage = -1",
          "on_hand = 9000000000000001", "reserved = 9, shortage = 3", "location = 'Main'"}) {
        CAPTURE(change);
        CHECK(bench.sql.refusal("UPDATE stock_level SET " + std::string(change)) ==
              check_violation);
    }
    CHECK(bench.sql.refusal("DELETE FROM item") == "23503");
    CHECK(bench.row(at) == stock_level{5, 3, 2});
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("the ledger is written once: nobody changes, deletes or empties it")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(5);
    (void)bench.hold(at, 3);
    constexpr auto restrict_violation = "23001";
    for (auto const* change :
         {"UPDATE movement SET on_hand = 7", "UPDATE movement SET note = 'x' WHERE false",
          "DELETE FROM movement", "TRUNCATE movement"}) {
        CAPTURE(change);
        CHECK(bench.sql.refusal(change) == restrict_violation);
    }
    CHECK(bench.sql.value("SELECT count(*) FROM movement") == "2");
}

} // namespace holdfast::test

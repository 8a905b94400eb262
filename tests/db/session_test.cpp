// SPDX-License-Identifier: Apache-2.0
// One connection to PostgreSQL: what it carries unharmed, and what it says when something is wrong.
#include "db/link.hpp"
#include "db/session.hpp"
#include "db/transaction.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/tcp_gate.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using db::cardinality;
using db::fault;

constexpr db::statement<cardinality::one, 0> backend{
    "test.backend", "SELECT pg_backend_pid()::bigint", {}};
constexpr db::statement<cardinality::exec, 1> nap{
    "test.nap", "SELECT pg_sleep(:seconds::float8)", {"seconds"}};
constexpr db::statement<cardinality::one, 1> setting{
    "test.setting", "SELECT current_setting(:name)", {"name"}};
constexpr db::statement<cardinality::exec, 1> put{
    "test.put", "INSERT INTO shelf (id) VALUES (:id::bigint)", {"id"}};
constexpr db::statement<cardinality::exec, 0> touch{"test.touch", "UPDATE shelf SET id = id", {}};
constexpr db::statement<cardinality::one, 0> count{"test.count", "SELECT count(*) FROM shelf", {}};
constexpr db::statement<cardinality::exec, 0> broken{
    "test.broken", "SELECT nonsense FROM shelf", {}};
constexpr db::statement<cardinality::maybe, 1> find{
    "test.find", "SELECT id FROM shelf WHERE id = :id::bigint", {"id"}};

// A database with one table, for statements of the tests.
struct shelf {
    shelf() { place.session().run("CREATE TABLE shelf (id bigint PRIMARY KEY)"); }

    [[nodiscard]] db::session_options options() const
    {
        return {.connection = place.connection_string()};
    }

    database place;
};

template <class Work>
db::error fault_in(Work const& work)
{
    try {
        work();
    } catch (db::error const& fault) {
        return fault;
    }
    throw std::runtime_error("there was no fault");
}

std::int64_t pid_of(db::session& session)
{
    return db::transaction(session, db::scope::single).one<std::int64_t>(backend);
}

std::string setting_of(db::session& session, std::string_view name)
{
    return db::transaction(session, db::scope::single).one<std::string>(setting, name);
}

// Ends a backend as an administrator does, and waits until it is gone.
void kill(shelf const& s, std::int64_t pid)
{
    auto other = s.place.session();
    auto const number = std::to_string(pid);
    other.run("SELECT pg_terminate_backend($1::int)", {number});
    REQUIRE(eventually(10s, [&] {
        return other.value("SELECT count(*) FROM pg_stat_activity WHERE pid = $1::int", {number}) ==
               "0";
    }));
}

std::vector<std::optional<std::string>> const awkward_texts{
    "plain",
    "",
    " spaces at both ends ",
    "NULL",
    "null",
    std::nullopt,
    "{}",
    "{a,b}",
    "a,b;c",
    R"(she said "no")",
    R"(back\slash \\ twice \" mixed \')",
    "it's",
    "tab\tand\nnew line\r\n",
    "$1 $$ $tag$",
    ":name ::cast :'x'",
    "-- no comment /* none */",
    "é 手袋 👟 e\u0301",
    "\u0001\u001f\u007f",
    std::string(100'000, '"'),
};

struct text_row {
    std::int64_t place = 0;
    std::optional<std::string> value;

    bool operator==(text_row const&) const = default;
};

struct typed_row {
    std::int64_t number = 0;
    bool flag = false;
    uuid id;
    timestamp at;
    std::array<std::uint8_t, 16> bytes{};
    std::optional<std::string> nothing;
    std::optional<std::int64_t> some;

    bool operator==(typed_row const&) const = default;
};

} // namespace

TEST_CASE("an array carries any text unharmed")
{
    static constexpr db::statement<cardinality::many, 1> echo{
        "test.echo_array",
        "SELECT place, value FROM unnest(:texts::text[]) WITH ORDINALITY AS t(value, place)"
        " ORDER BY place",
        {"texts"}};
    shelf const s;
    db::session session(s.options());
    db::transaction tx(session, db::scope::single);

    auto const rows = tx.many<text_row>(echo, awkward_texts);

    REQUIRE(rows.size() == awkward_texts.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        CAPTURE(i);
        CHECK(rows[i].place == static_cast<std::int64_t>(i) + 1);
        CHECK((rows[i].value == awkward_texts[i]));
    }
    CHECK(tx.many<text_row>(echo, std::vector<std::string>()).empty());
}

TEST_CASE("a parameter carries any text unharmed")
{
    static constexpr db::statement<cardinality::one, 2> echo{
        "test.echo", "SELECT :place::bigint, :text::text", {"place", "text"}};
    shelf const s;
    db::session session(s.options());
    db::transaction tx(session, db::scope::single);
    for (auto const& text : awkward_texts)
        CHECK((tx.one<text_row>(echo, 1, text) == text_row{1, text}));
}

TEST_CASE("numbers, flags, ids, instants and bytes come back as they went")
{
    static constexpr db::statement<cardinality::one, 7> echo{
        "test.echo_types",
        "SELECT :number::bigint, :flag::boolean, :id::uuid, :at::timestamptz, :bytes::bytea,"
        " :nothing::text, :some::bigint",
        {"number", "flag", "id", "at", "bytes", "nothing", "some"}};
    database const place;
    place.set("timezone", "America/St_Johns");
    place.set("datestyle", "German");
    place.set("bytea_output", "hex");
    db::session session({.connection = place.connection_string()});
    db::transaction tx(session, db::scope::single);
    typed_row row{.id = uuid::make_v7(), .nothing = {}, .some = 0};
    for (unsigned i = 0; i < row.bytes.size(); ++i)
        row.bytes[i] = static_cast<std::uint8_t>(i * 17);
    for (auto const number : {std::int64_t{0}, std::numeric_limits<std::int64_t>::min(),
                              std::numeric_limits<std::int64_t>::max()}) {
        row.number = number;
        row.flag = !row.flag;
        row.at = timestamp(std::chrono::microseconds(number == 0 ? 0 : 1'709'210'096'789'012));
        CHECK((tx.one<typed_row>(echo, row.number, row.flag, row.id, row.at, row.bytes, row.nothing,
                                 row.some) == row));
    }
}

TEST_CASE("a row that does not fit what was expected of it is a bug, not a value")
{
    static constexpr db::statement<cardinality::one, 0> nothing{
        "test.nothing", "SELECT NULL::bigint", {}};
    static constexpr db::statement<cardinality::one, 0> word{
        "test.word", "SELECT 'word'::text", {}};
    shelf const s;
    db::session session(s.options());
    db::transaction tx(session, db::scope::single);
    CHECK_THROWS_AS((void)tx.one<std::int64_t>(nothing), std::logic_error);
    CHECK_THROWS_AS((void)tx.one<std::int64_t>(word), std::runtime_error);
    CHECK_THROWS_AS((void)tx.one<text_row>(word), std::logic_error);
    CHECK_FALSE(tx.maybe<std::int64_t>(find, 1));
    CHECK(tx.exec(put, 1) == 1);
    CHECK(tx.exec(put, 2) == 1);
    CHECK(tx.exec(touch) == 2);
    CHECK(tx.maybe<std::int64_t>(find, 2) == 2);
}

TEST_CASE("a session is set up the same way, whatever the server's habits are")
{
    database const place;
    place.set("default_transaction_isolation", "serializable");
    place.set("default_transaction_read_only", "on");
    place.set("timezone", "Pacific/Chatham");
    place.set("synchronous_commit", "off");
    place.set("statement_timeout", "0");
    db::session session({.connection = place.connection_string(),
                         .statement_timeout = 4321ms,
                         .lock_timeout = 1234ms});
    CHECK(setting_of(session, "default_transaction_isolation") == "read committed");
    CHECK(setting_of(session, "default_transaction_read_only") == "off");
    CHECK(setting_of(session, "timezone") == "UTC");
    CHECK(setting_of(session, "synchronous_commit") == "on");
    CHECK(setting_of(session, "statement_timeout") == "4321ms");
    CHECK(setting_of(session, "lock_timeout") == "1234ms");
    CHECK(setting_of(session, "application_name") == "holdfast");
    CHECK(session.server_major() >= 13);
}

TEST_CASE("a transaction keeps what is committed and forgets the rest")
{
    shelf const s;
    db::session session(s.options());
    {
        db::transaction tx(session);
        tx.exec(put, 1);
        tx.commit();
    }
    {
        db::transaction forgotten(session);
        forgotten.exec(put, 2);
    }
    {
        db::transaction tx(session);
        tx.exec(put, 3);
        tx.rollback();
        tx.commit(); // too late for this one
    }
    try {
        db::transaction tx(session);
        tx.exec(put, 4);
        throw std::runtime_error("something else went wrong");
    } catch (std::runtime_error const&) {
        CHECK(session.is_usable());
    }
    CHECK(s.place.session().value("SELECT string_agg(id::text, ' ') FROM shelf") == "1");
}

TEST_CASE("a snapshot sees one moment and changes nothing")
{
    shelf const s;
    db::session session(s.options());
    {
        db::transaction tx(session, db::scope::snapshot);
        CHECK(tx.one<std::int64_t>(count) == 0);
        s.place.session().run("INSERT INTO shelf VALUES (1)");
        CHECK(tx.one<std::int64_t>(count) == 0);
        CHECK(fault_in([&] { tx.exec(put, 2); }).sqlstate() == "25006");
    }
    CHECK(db::transaction(session, db::scope::single).one<std::int64_t>(count) == 1);
}

TEST_CASE("each kind of fault is told apart by its SQLSTATE")
{
    struct row {
        char const* sqlstate;
        fault kind;
    };
    for (auto const& each : std::vector<row>{{"40001", fault::conflict},
                                             {"40P01", fault::conflict},
                                             {"40002", fault::other},
                                             {"55P03", fault::lock_timeout},
                                             {"57014", fault::statement_timeout},
                                             {"57P01", fault::connection_lost},
                                             {"57P03", fault::connection_lost},
                                             {"08006", fault::connection_lost},
                                             {"25P03", fault::connection_lost},
                                             {"23505", fault::constraint},
                                             {"23514", fault::constraint},
                                             {"53300", fault::unavailable},
                                             {"53100", fault::unavailable},
                                             {"42601", fault::other},
                                             {"25P02", fault::other},
                                             {"", fault::other}}) {
        CAPTURE(each.sqlstate);
        CHECK(db::fault_of(each.sqlstate) == each.kind);
    }
}

TEST_CASE("a fault names the statement and its SQLSTATE, and nothing of what the database wrote")
{
    shelf const s;
    db::session session(s.options());
    auto const unknown_column =
        fault_in([&] { db::transaction(session, db::scope::single).exec(broken); });
    CHECK(unknown_column.kind() == fault::other);
    CHECK(unknown_column.sqlstate() == "42703");
    CHECK(unknown_column.statement() == "test.broken");
    std::string const text = unknown_column.what();
    CHECK(text.find("nonsense") == std::string::npos);
    CHECK(text.find("test.broken") != std::string::npos);

    db::transaction(session, db::scope::single).exec(put, 7);
    auto const twice = fault_in([&] { db::transaction(session, db::scope::single).exec(put, 7); });
    CHECK(twice.kind() == fault::constraint);
    CHECK(twice.sqlstate() == "23505");

    // The session is as good as before, that statement included.
    CHECK(fault_in([&] { db::transaction(session, db::scope::single).exec(broken); }).sqlstate() ==
          "42703");
    CHECK(db::transaction(session, db::scope::single).one<std::int64_t>(count) == 1);
}

TEST_CASE("a statement that takes too long is ended by the server, and the session lives on")
{
    shelf const s;
    auto options = s.options();
    options.statement_timeout = 100ms;
    db::session session(options);
    auto const began = std::chrono::steady_clock::now();
    auto const late =
        fault_in([&] { db::transaction(session, db::scope::single).exec(nap, "20"); });
    CHECK(late.kind() == fault::statement_timeout);
    CHECK(late.sqlstate() == "57014");
    CHECK(std::chrono::steady_clock::now() - began < 10s);
    CHECK(session.is_usable());
    CHECK(db::transaction(session, db::scope::single).one<std::int64_t>(count) == 0);
}

TEST_CASE("whoever waits too long for a lock is told so")
{
    shelf const s;
    s.place.session().run("INSERT INTO shelf VALUES (1)");
    auto holder = s.place.session();
    holder.run("BEGIN");
    holder.run("SELECT * FROM shelf FOR UPDATE");
    auto options = s.options();
    options.lock_timeout = 100ms;
    db::session session(options);
    {
        db::transaction tx(session);
        auto const late = fault_in([&] { tx.exec(touch); });
        CHECK(late.kind() == fault::lock_timeout);
        CHECK(late.sqlstate() == "55P03");
        CHECK(late.statement() == "test.touch");
    }
    holder.run("COMMIT");
    CHECK(db::transaction(session, db::scope::single).exec(touch) == 1);
}

TEST_CASE("a killed backend is a lost connection, and the link makes a new one")
{
    shelf const s;
    db::link link(s.options());
    auto const before = pid_of(link.session());
    db::session& session = link.session();
    kill(s, before);

    auto const lost = fault_in(
        [&] { (void)db::transaction(session, db::scope::single).one<std::int64_t>(count); });
    CHECK(lost.kind() == fault::connection_lost);
    CHECK_FALSE(session.is_usable());

    CHECK(pid_of(link.session()) != before);
    CHECK(db::transaction(link.session()).one<std::int64_t>(count) == 0);
}

TEST_CASE("a backend killed in mid-transaction takes its changes with it")
{
    shelf const s;
    db::link link(s.options());
    {
        db::transaction tx(link.session());
        tx.exec(put, 1);
        kill(s, tx.one<std::int64_t>(backend));
        CHECK(fault_in([&] { tx.commit(); }).kind() == fault::connection_lost);
    }
    CHECK(db::transaction(link.session()).one<std::int64_t>(count) == 0);
}

TEST_CASE("the commit of a transaction that has failed is no success")
{
    shelf const s;
    db::session session(s.options());
    db::transaction tx(session);
    tx.exec(put, 1);
    CHECK(fault_in([&] { tx.exec(put, 1); }).kind() == fault::constraint);
    auto const refused = fault_in([&] { tx.commit(); });
    CHECK(refused.kind() == fault::other);
    CHECK(refused.sqlstate() == "25P02");
    CHECK(s.place.session().value("SELECT count(*) FROM shelf") == "0");
}

TEST_CASE("a server that has fallen silent does not keep anybody for ever")
{
    shelf const s;
    tcp_gate gate(s.place.connection_string());
    db::link link({.connection = gate.connection_string(), .statement_timeout = 200ms});
    CHECK(db::transaction(link.session(), db::scope::single).one<std::int64_t>(count) == 0);

    gate.swallow_answers();
    auto const began = std::chrono::steady_clock::now();
    auto const silent = fault_in(
        [&] { (void)db::transaction(link.session(), db::scope::single).one<std::int64_t>(count); });
    CHECK(silent.kind() == fault::connection_lost);
    CHECK(std::chrono::steady_clock::now() - began < 10s);

    gate.open();
    CHECK(db::transaction(link.session(), db::scope::single).one<std::int64_t>(count) == 0);
}

TEST_CASE("a connection cut in the middle of an answer is lost, not misread")
{
    static constexpr db::statement<cardinality::many, 0> much{
        "test.much", "SELECT n, repeat('x', 1000) FROM generate_series(1, 500) AS n", {}};
    shelf const s;
    tcp_gate gate(s.place.connection_string());
    db::link link({.connection = gate.connection_string()});
    for (std::uint64_t const bytes : {0U, 1U, 3U, 100U, 5000U, 100'000U}) {
        CAPTURE(bytes);
        (void)link.session();
        gate.cut_after_bytes(bytes);
        auto const lost = fault_in(
            [&] { (void)db::transaction(link.session(), db::scope::single).many<text_row>(much); });
        CHECK(lost.kind() == fault::connection_lost);
        gate.open();
        CHECK(db::transaction(link.session(), db::scope::single).many<text_row>(much).size() ==
              500);
    }
    CHECK(gate.cuts() == 6);
}

TEST_CASE("where there is no database, that is said at once")
{
    shelf const s;
    tcp_gate gate(s.place.connection_string());
    gate.shut();
    for (auto const& connection :
         {gate.connection_string(), std::string("host=/nowhere dbname=x"), std::string("no=sense"),
          s.place.connection_string() + " dbname=no_such_database"}) {
        CAPTURE(connection);
        db::link link({.connection = connection});
        CHECK(fault_in([&] { (void)link.session(); }).kind() == fault::unavailable);
        CHECK_FALSE(link.is_connected());
    }
}

TEST_CASE("the first use of a statement is told once")
{
    static constexpr db::statement<cardinality::one, 0> novelty{
        "test.novelty", "SELECT 1::bigint", {}};
    shelf const s;
    std::vector<std::string> told;
    db::on_first_use([&](std::string_view name) { told.emplace_back(name); });
    for (int i = 0; i < 3; ++i) {
        db::session session(s.options());
        db::transaction tx(session, db::scope::single);
        CHECK(tx.one<std::int64_t>(novelty) == 1);
        CHECK(tx.one<std::int64_t>(novelty) == 1);
    }
    db::on_first_use({});
    CHECK(told == std::vector<std::string>{"test.novelty"});
}

} // namespace holdfast::test

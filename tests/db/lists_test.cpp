// SPDX-License-Identifier: Apache-2.0
// Lists of reservations in a shop that has many of them: whatever is asked for, one page looks at a
// bounded number, and page by page everything is found once.
#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "tests/support/database.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

constexpr std::size_t looked_at_max = 5000;

// Years of business of one customer in one item: `count` reservations of one state, the first of
// which is number `from`. Each has two lines, at two locations.
void make_past(sql_session& sql, std::size_t from, std::size_t count, std::string const& state)
{
    sql.run("WITH made AS ("
            "  INSERT INTO reservation (id, state, api_key_id, idempotency_key, fingerprint,"
            "                           customer, reference, expires_at, settled_at)"
            "  SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,"
            "         $3::reservation_state, 7, n::text, ''::bytea, 'market', 'walk-in',"
            "         now() + interval '1 day', CASE WHEN $3 <> 'held' THEN now() END"
            "    FROM generate_series($1::bigint, $1::bigint + $2::bigint - 1) AS n"
            "  RETURNING id, state, expires_at)"
            " INSERT INTO reservation_line (reservation_id, sku, location, quantity, held_until)"
            " SELECT made.id, 'MUG', place, 1, CASE WHEN made.state = 'held' THEN made.expires_at"
            "                                  END"
            "   FROM made, unnest(ARRAY['main', 'cellar']) AS place",
            {std::to_string(from), std::to_string(count), state});
}

// What a list shows, page by page.
struct walk {
    std::vector<std::size_t> pages; // how many each page shows
    std::size_t total = 0;
    bool is_newest_first = true;
};

walk walk_through(workbench& bench, reservation_filter filter)
{
    walk w;
    std::optional<uuid> last;
    for (int page = 0; page < 100; ++page) {
        auto const found = bench.reservations.list(bench.link, filter);
        w.pages.push_back(found.shown.size());
        w.total += found.shown.size();
        for (auto const& each : found.shown) {
            w.is_newest_first = w.is_newest_first && (!last || each.id < *last);
            last = each.id;
        }
        if (!found.next)
            return w;
        filter.before = found.next;
    }
    FAIL("a list that never ends");
    return w;
}

// Every way to narrow a list down to that business.
std::vector<reservation_filter> filters_of(reservation_state state)
{
    reservation_filter const all{
        .state = state, .sku = {}, .customer = {}, .reference = {}, .before = {}, .limit = 50};
    std::vector<reservation_filter> filters(5, all);
    filters[1].sku = sku("MUG");
    filters[2].customer = "market";
    filters[3].reference = "walk-in";
    filters[4].sku = sku("MUG");
    filters[4].customer = "market";
    return filters;
}

} // namespace

TEST_CASE("what is rare among many is found, a bounded look at a time")
{
    migrated_database const place;
    workbench bench(place);
    make_past(bench.sql, 1, 1, "released");
    make_past(bench.sql, 2, looked_at_max + 200, "confirmed");

    for (auto const& filter : filters_of(reservation_state::released)) {
        CAPTURE(filter.customer.value_or("anybody"));
        auto const found = walk_through(bench, filter);
        CHECK(found.pages == std::vector<std::size_t>{0, 1});
    }
    // Where there are only few, the first page is the last.
    make_past(bench.sql, 9000, 1, "expired");
    auto one = filters_of(reservation_state::released)[0];
    one.state.reset();
    one.limit = 1;
    one.before = uuid::parse("00000000-0000-7000-8000-000000000002");
    CHECK(walk_through(bench, one).pages == std::vector<std::size_t>{1});
}

TEST_CASE("open holds are all on the first page, however many reservations were made since")
{
    migrated_database const place;
    workbench bench(place);
    make_past(bench.sql, 1, 3, "held");
    make_past(bench.sql, 4, looked_at_max + 200, "confirmed");
    make_past(bench.sql, 9000, 2, "held");

    auto const filters = filters_of(reservation_state::held);
    CHECK(walk_through(bench, filters[0]).pages == std::vector<std::size_t>{5});
    CHECK(walk_through(bench, filters[1]).pages == std::vector<std::size_t>{5});
    for (auto const& filter : filters) {
        auto const found = walk_through(bench, filter);
        CHECK(found.total == 5);
        CHECK(found.is_newest_first);
    }
}

TEST_CASE("in a rush with very many open holds, each is listed once")
{
    migrated_database const place;
    workbench bench(place);
    make_past(bench.sql, 1, looked_at_max + 200, "held");

    for (auto filter : filters_of(reservation_state::held)) {
        filter.limit = 200;
        auto const found = walk_through(bench, filter);
        CHECK(found.total == looked_at_max + 200);
        CHECK(found.is_newest_first);
        CHECK(found.pages.size() == (looked_at_max + 200) / 200);
    }
}

TEST_CASE("who asks for the holds on a level looks at a bounded number of them")
{
    migrated_database const place;
    workbench bench(place);
    make_past(bench.sql, 1, looked_at_max + 1, "held");
    // The oldest ends last, so it is the one that is not looked at.
    bench.sql.run("UPDATE reservation_line SET held_until = held_until + interval '1 day'"
                  " WHERE reservation_id = '00000000-0000-7000-8000-000000000001'::uuid");
    std::vector const keys{level_key{sku("MUG"), location("cellar")}};
    auto const found = db::transact(
        bench.link, [&](db::transaction& tx) { return db::reservations::holds_on(tx, keys, 3); });
    REQUIRE(found.size() == 1);
    std::vector<std::string> told;
    for (auto const& hold : found[0])
        told.push_back(hold.reservation_id.str().substr(34));
    CHECK(told == std::vector<std::string>{"02", "03", "04"});
}

// As after a catalogue was loaded: by what PostgreSQL knows then, a SKU has one line of each kind.
TEST_CASE("what is looked up by SKU and location is found, whatever is known about the tables")
{
    migrated_database const place;
    workbench bench(place);
    auto const plan_of = [&](std::string const& query) {
        std::string plan;
        for (auto const& row : bench.sql.run("EXPLAIN SELECT 1 FROM " + query))
            plan += row.at(0).value() + '\n';
        return plan;
    };
    auto const goes_by = [&](std::string const& query, std::string const& index) {
        return plan_of(query).find("using " + index + " ") != std::string::npos;
    };
    auto const write = [&](std::string const& skus, std::string const& versions) {
        bench.sql.run("INSERT INTO movement (sku, location, version, kind, on_hand_delta,"
                      "                      reserved_delta, on_hand, reserved, actor)"
                      " SELECT " +
                      skus + ", 'main', " + versions +
                      ", 'received', 1, 0, 1, 0, 'x' FROM generate_series(1, 5000) AS n");
    };
    bench.sql.run("SET enable_seqscan = off"); // as in every session of the service
    bench.sql.run("ALTER TABLE movement SET (autovacuum_enabled = off)");
    bench.sql.run("ALTER TABLE reservation_line SET (autovacuum_enabled = off)");
    write("'MUG-' || n", "1");
    bench.sql.run("VACUUM ANALYZE movement");
    bench.sql.run("VACUUM ANALYZE reservation_line");
    write("'MUG-1'", "n + 1");
    CHECK(goes_by("movement WHERE sku = 'MUG-1' AND location = 'main' AND version = 7",
                  "movement_pkey"));
    CHECK(goes_by("movement WHERE sku COLLATE \"POSIX\" = 'MUG-1' AND id = 7", "movement_newest"));
    CHECK(goes_by("reservation_line WHERE sku COLLATE \"POSIX\" = 'MUG-1'"
                  " AND location COLLATE \"POSIX\" = 'main' AND held_until <= now()",
                  "reservation_line_held"));
}

} // namespace holdfast::test

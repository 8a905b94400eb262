// SPDX-License-Identifier: Apache-2.0
// Two at once, stepped by hand: a third session holds the row they both need until both have come
// as far as the test wants them. Nothing here hopes for a moment.
#include "db/link.hpp"
#include "service/expiry.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// Waits for locks longer than the test needs for its steps.
db::link patient_link(migrated_database const& place)
{
    return db::link(
        {.connection = place.connection_string(), .statement_timeout = 120s, .lock_timeout = 110s});
}

// A session that is in the middle of something with a row.
class row_holder {
public:
    explicit row_holder(migrated_database const& place) : session_(place.session())
    {
        session_.run("BEGIN");
    }

    void take_level(level_key const& at)
    {
        session_.run("SELECT FROM stock_level WHERE sku = $1 AND location = $2 FOR UPDATE",
                     {at.sku.str(), at.location.str()});
    }

    void take_reservation(uuid const& id)
    {
        session_.run("SELECT FROM reservation WHERE id = $1::uuid FOR UPDATE", {id.str()});
    }

    // Takes every unit, without a word to the ledger.
    void sell_out(level_key const& at)
    {
        session_.run("UPDATE stock_level SET reserved = on_hand, version = version + 1"
                     " WHERE sku = $1 AND location = $2",
                     {at.sku.str(), at.location.str()});
    }

    // Ends a hold's time at this very moment.
    void let_run_out(uuid const& id)
    {
        session_.run("WITH ended AS (UPDATE reservation SET expires_at = clock_timestamp()"
                     " WHERE id = $1::uuid RETURNING id, expires_at)"
                     " UPDATE reservation_line l SET held_until = ended.expires_at FROM ended"
                     " WHERE l.reservation_id = ended.id",
                     {id.str()});
    }

    // Waits until somebody waits for this session. False after a long time.
    bool is_waited_for(sql_session& looker)
    {
        auto const pid = session_.value("SELECT pg_backend_pid()");
        return eventually(60s, [&] {
            return looker.value("SELECT count(*) FROM pg_stat_activity"
                                " WHERE $1::int = ANY (pg_blocking_pids(pid))",
                                {pid}) != "0";
        });
    }

    void let_go() { session_.run("COMMIT"); }

private:
    sql_session session_;
};

// Waits until two sessions wait for locks, or the later of them has its answer already.
bool are_both_waiting(sql_session& looker, std::future<std::string> const& later)
{
    return eventually(60s, [&] {
        return later.wait_for(0s) == std::future_status::ready ||
               looker.value("SELECT count(*) FROM pg_stat_activity"
                            " WHERE datname = current_database() AND wait_event_type = 'Lock'") ==
                   "2";
    });
}

template <class Work>
auto at_the_same_time(Work work)
{
    return std::async(std::launch::async, std::move(work));
}

} // namespace

TEST_CASE("a confirmation that began in time and a new order do not both get a customer's one unit")
{
    migrated_database const place;
    for (auto const& mode : modes_under_test()) {
        CAPTURE(mode);
        workbench bench(place, {.strategy = mode});
        auto const at = bench.item(10);
        auto limit = change_of(at.sku);
        limit.max_per_customer.emplace(1);
        REQUIRE(word_of(bench.catalogue.put(bench.link, limit)) == "ok");
        auto const held = bench.reserve({{at, 1}}, {.customer = "greta"});
        REQUIRE(word_of(held) == "ok");
        auto const id = held->value.id;

        workbench till(place, {.strategy = mode});
        till.link = patient_link(place);
        auto paying_link = patient_link(place);
        row_holder of_reservation(place);
        row_holder of_level(place);
        of_level.take_level(at);
        of_reservation.take_reservation(id);

        // The payment begins while the hold stands, and is held up until it stands no more.
        auto paid = at_the_same_time([&] {
            return word_of(bench.reservations.confirm(
                paying_link, {.id = id, .actor = "till one", .lines = {}}));
        });
        CHECK(of_reservation.is_waited_for(bench.sql));
        of_reservation.let_run_out(id);
        of_reservation.let_go();
        CHECK(of_level.is_waited_for(bench.sql));
        auto ordered = at_the_same_time([&] {
            return word_of(till.reserve({{at, 1}}, {.customer = "greta"}));
        });
        CHECK(are_both_waiting(bench.sql, ordered));
        of_level.let_go();

        CHECK(paid.get() == "ok");
        CHECK(ordered.get() == "customer_limit");
        CHECK(bench.row(at) == stock_level{9, 0, 3});
        CHECK(bench.audit_findings() == "");
    }
}

TEST_CASE("an order whose units go to a rival after its look is refused, and nothing of it is kept")
{
    migrated_database const place;
    for (auto const& mode : modes_under_test())
        for (std::size_t const orders : {1, 3}) {
            CAPTURE(mode);
            CAPTURE(orders);
            workbench bench(place, {.strategy = mode});
            auto const at = bench.item(10);
            std::vector<reserve_command> commands(orders);
            for (auto& c : commands) {
                c.key = new_key();
                c.actor = "till";
                c.lines = {{at, 2}};
            }
            row_holder rival(place);
            rival.take_level(at);

            auto answers = at_the_same_time([&] {
                auto link = patient_link(place);
                if (orders == 1)
                    return word_of(bench.reservations.reserve(link, commands[0]));
                std::vector<reserve_command const*> asked;
                for (auto const& c : commands)
                    asked.push_back(&c);
                std::string words;
                for (auto const& answer : bench.reservations.reserve(link, asked))
                    words += answer ? word_of(*answer) + ' ' : "alone ";
                return words;
            });
            CHECK(rival.is_waited_for(bench.sql));
            rival.sell_out(at);
            rival.let_go();

            CHECK(answers.get() ==
                  (orders == 1 ? "insufficient_stock"
                               : "insufficient_stock insufficient_stock insufficient_stock "));
            CHECK(bench.sql.value("SELECT count(*) FROM reservation_line WHERE sku = $1",
                                  {at.sku.str()}) == "0");
        }
}

TEST_CASE("a limit that is lowered while an order is under way is no fault in the books")
{
    migrated_database const place;
    workbench bench(place);
    std::vector<level_key> items;
    for (int i = 0; i < 2; ++i) {
        auto command = change_of(new_sku());
        command.on_hand = 10;
        command.max_per_customer.emplace(2);
        REQUIRE(word_of(bench.catalogue.put(bench.link, command)) == "ok");
        items.push_back({command.sku, location()});
    }

    // Begun before the order and finished after it.
    auto office = place.session();
    office.run("BEGIN");
    office.run("UPDATE item SET max_per_customer = 1, updated_at = now() WHERE sku = $1",
               {items[0].sku.str()});
    REQUIRE(word_of(bench.reserve({{items[0], 2}}, {.customer = "greta"})) == "ok");
    office.run("COMMIT");
    CHECK(bench.audit_findings() == "");

    // Where nobody has changed anything, too much is too much.
    REQUIRE(word_of(bench.reserve({{items[1], 2}}, {.customer = "greta"})) == "ok");
    CHECK(bench.audit_findings() == "");
    bench.sql.run("UPDATE item SET max_per_customer = 1 WHERE sku = $1", {items[1].sku.str()});
    CHECK(bench.audit_findings() ==
          "limits-are-kept " + items[1].sku.str() + "@: customer greta has 2 of at most 1\n");
}

TEST_CASE("a correction is not refused for lapsed holds that somebody else clears away just then")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(10);
    bench.let_lapse(bench.hold(at, 8));
    auto loss = correction_of(at);
    loss.delta = -5;

    auto correcting_link = patient_link(place);
    auto clearing_link = patient_link(place);
    row_holder of_level(place);
    of_level.take_level(at);
    auto corrected =
        at_the_same_time([&] { return word_of(bench.adjustments.adjust(correcting_link, loss)); });
    CHECK(of_level.is_waited_for(bench.sql));
    // First come, first served: the correction still sees the hold, and when it looks for due ones
    // there are none any more.
    auto cleared = at_the_same_time(
        [&] { return std::to_string(expire_due(clearing_link, std::vector{at}, bench.counters)); });
    CHECK(are_both_waiting(bench.sql, cleared));
    of_level.let_go();

    CHECK(cleared.get() == "1");
    CHECK(corrected.get() == "ok");
    CHECK(bench.row(at) == stock_level{5, 0, 4});
    CHECK(bench.audit_findings() == "");
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// Every statement of the program is one that PostgreSQL can prepare, and one that is used.
#include "db/items.hpp"
#include "db/migrate.hpp"
#include "db/tokens.hpp"
#include "db/transact.hpp"
#include "service/api_keys.hpp"
#include "service/blocked_customers.hpp"
#include "service/config.hpp"
#include "service/explanation.hpp"
#include "service/keeper.hpp"
#include "service/readiness.hpp"
#include "service/reports.hpp"
#include "service/staff_accounts.hpp"
#include "service/staff_sessions.hpp"
#include "service/trail.hpp"
#include "service/webhooks.hpp"
#include "service/workers/courier.hpp"
#include "service/workers/janitor.hpp"
#include "service/workers/publisher.hpp"
#include "service/workers/sweeper.hpp"
#include "sql/all.hpp"
#include "tests/db/redis_day.hpp"
#include "tests/support/receiver.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/tcp_gate.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

using names = std::set<std::string, std::less<>>;

// The SQLSTATE with which a statement fails when all its parameters are NULL, or "".
std::string state_with_nulls(db::session& session, db::statement_ref const& statement)
{
    std::vector<db::parameter> const nulls(statement.parameters.size());
    session.execute("BEGIN", "begin");
    std::string state;
    try {
        session.run(statement, nulls);
    } catch (db::error const& fault) {
        state = fault.sqlstate();
    }
    session.execute("ROLLBACK", "rollback");
    return state;
}

// Notes which statements sessions prepare, as long as it lives.
class statements_in_use {
public:
    statements_in_use()
    {
        db::on_first_use([this](std::string_view name) {
            std::scoped_lock const lock(mutex_);
            seen_.emplace(name);
        });
    }
    statements_in_use(statements_in_use const&) = delete;
    statements_in_use& operator=(statements_in_use const&) = delete;
    ~statements_in_use() { db::on_first_use({}); }

    [[nodiscard]] bool has(std::string_view name) const
    {
        std::scoped_lock const lock(mutex_);
        return seen_.contains(name);
    }

private:
    std::mutex mutable mutex_;
    names seen_;
};

// A customer's day: every verb there is, and the ways that only shortage, keys and limits lead to.
void trade(workbench& bench)
{
    auto const at = bench.item(10);
    auto limited = change_of(at.sku);
    limited.max_per_customer.emplace(8);
    REQUIRE(word_of(bench.catalogue.put(bench.link, limited)) == "ok");

    auto const first = bench.reserve({{at, 4}}, {.customer = "c", .key = at.sku.str()});
    REQUIRE(word_of(first) == "ok");
    CHECK(bench.reserve({{at, 4}}, {.customer = "c", .key = at.sku.str()})->is_replay);
    CHECK(word_of(bench.reserve({{at, 5}}, {.customer = "c"})) == "customer_limit");
    CHECK(word_of(bench.reservations.extend(bench.link,
                                            {first->value.id, std::chrono::seconds(60)})) == "ok");
    auto const second = bench.reserve({{at, 4}}, {.customer = "c", .supersedes = first->value.id});
    REQUIRE(word_of(second) == "ok");
    bench.let_lapse(second->value.id);
    // The customer's own lapsed hold does not stand in the way of the limit.
    auto const again = bench.reserve({{at, 8}}, {.customer = "c"});
    REQUIRE(word_of(again) == "ok");
    CHECK(word_of(bench.reservations.release(bench.link, {again->value.id, "x"})) == "ok");
    auto const lapsed = bench.reserve({{at, 4}}, {.customer = "c"});
    REQUIRE(word_of(lapsed) == "ok");
    bench.let_lapse(lapsed->value.id);
    auto const third = bench.reserve({{at, 8}}, {.customer = "d"});
    REQUIRE(word_of(third) == "ok");
    CHECK(word_of(bench.reserve({{at, 8}}, {.customer = "e"})) == "insufficient_stock");

    auto count = correction_of(at);
    count.set_to = 8;
    count.reason = "count";
    CHECK(word_of(bench.adjustments.adjust(bench.link, count)) == "ok");
    CHECK(bench.adjustments.adjust(bench.link, count)->is_replay);
    auto loss = correction_of(at);
    loss.delta = -1;
    loss.allow_short = true;
    CHECK(bench.adjustments.adjust(bench.link, loss)->value.holds.size() == 1);
    auto found = correction_of({at.sku, location("shelf")});
    found.delta = 1;
    CHECK(word_of(bench.adjustments.adjust_all(bench.link, {new_key(), {found}})) == "ok");

    CHECK(word_of(bench.reservations.confirm(
              bench.link, {.id = third->value.id, .actor = "x", .lines = {{{at, 5}}}})) == "ok");
    CHECK(word_of(bench.reservations.give_back(
              bench.link,
              {.key = new_key(), .id = third->value.id, .actor = "x", .lines = {{at, 1}}})) ==
          "ok");
    CHECK(word_of(bench.reservations.release(bench.link, {second->value.id, "x"})) == "ok");
}

// The key's lock is held by another request of the same key, which is waited for.
void meet_a_duplicate(migrated_database const& place, std::string const& mode)
{
    workbench bench(place, {.strategy = mode, .open_holds_per_customer = 9});
    auto const at = bench.item(4);
    reserve_options const options{.customer = "f", .key = "twice-" + at.sku.str()};
    auto const answers = run_together(4, [&](std::size_t) {
        workbench till(place, {.strategy = mode, .open_holds_per_customer = 9});
        auto const made = till.reserve({{at, 4}}, options);
        return word_of(made);
    });
    for (auto const& answer : answers)
        CHECK(answer == "ok");
    CHECK(bench.row(at).reserved == 4);
}

// Wishes in one transaction that fit one by one and not all together.
void share_a_transaction(workbench& bench)
{
    std::vector<level_key> const at{bench.item(3), bench.item(3)};
    std::vector<reserve_command> wishes;
    for (auto const& each : {at[0], at[1], at[0]}) {
        auto& c = wishes.emplace_back();
        c.key = new_key();
        c.actor = "x";
        c.lines = {{each, 2}};
    }
    std::vector<reserve_command const*> asked;
    for (auto const& c : wishes)
        asked.push_back(&c);
    std::string fits;
    for (auto const& answer : bench.reservations.reserve(bench.link, asked))
        fits += answer && *answer ? 'y' : 'n';
    CHECK(fits == "yyn");
    CHECK(bench.row(at[0]).reserved == 2);
    CHECK(bench.row(at[1]).reserved == 2);
    auto const alone = std::span(asked).last(1);
    wishes.back().lines = {{at[1], 1}};
    CHECK(bench.reservations.reserve(bench.link, alone).front().value().has_value());
}

// A caller of the optimistic mode whom others overtake until it locks the row for its look.
void be_overtaken(migrated_database const& place, workbench& bench)
{
    auto const at = bench.item(3);
    auto rival = place.session();
    tcp_gate gate(place.connection_string());
    gate.before_each_message([&] {
        rival.run("UPDATE stock_level SET version = version + 1 WHERE (sku, location) IN"
                  " (SELECT sku, location FROM stock_level WHERE sku = $1 FOR UPDATE SKIP LOCKED)",
                  {at.sku.str()});
    });
    db::link link({.connection = gate.connection_string()});
    std::vector<units_wanted> const wanted{{at, 2}};
    auto const given = db::transact(link, [&](db::transaction& tx) {
        return bench.strategies.named("optimistic").take(tx, wanted);
    });
    CHECK(given.at(0).fits);
    CHECK(bench.row(at).reserved == 2);
}

void look_around(workbench& bench)
{
    auto const& shelves = bench.catalogue;
    auto const at = bench.item(3);
    CHECK(word_of(shelves.show(bench.link, at.sku)) == "ok");
    CHECK_FALSE(shelves.list(bench.link, {.q = {}, .only_low = false, .after = {}}).empty());
    CHECK_FALSE(
        shelves.list(bench.link, {.q = at.sku.str(), .only_low = false, .after = {}}).empty());
    CHECK(word_of(shelves.movements(bench.link, {.sku = at.sku, .before = {}})) == "ok");
    CHECK(word_of(explain(bench.link, at.sku, {})) == "ok");
    reservation_filter const everything{
        .state = {}, .sku = {}, .customer = {}, .reference = {}, .before = {}};
    std::vector<reservation_filter> filters(6, everything);
    filters[1].state = reservation_state::held;
    filters[2].customer = "c";
    filters[3].reference = "none";
    filters[4].sku = at.sku;
    filters[5].state = reservation_state::confirmed;
    for (auto const& filter : filters)
        (void)bench.reservations.list(bench.link, filter);
    CHECK(word_of(bench.reservations.show(bench.link, bench.hold(at, 1))) == "ok");
}

// A shelf is counted: by a list, and all of it.
void count_a_shelf(workbench& bench)
{
    auto const at = bench.item(10);
    auto const other = bench.item(5);
    auto const open = [&](std::optional<std::vector<sku>> skus) {
        open_count_command const cmd{.key = new_key(),
                                     .by = {},
                                     .name = "shelf",
                                     .where = {},
                                     .sku_prefix = {},
                                     .skus = std::move(skus),
                                     .note = {}};
        return bench.counts.open(bench.link, cmd)->value.count.id;
    };
    auto const enter = [&](uuid const& id, std::vector<counted_units> entries) {
        return word_of(bench.counts.enter(bench.link, {new_key(), id, "x", std::move(entries)}));
    };
    auto const listed = open(std::vector{at.sku, other.sku});
    CHECK(enter(listed, {{at.sku, 8, {}}, {other.sku, 5, {}}}) == "ok");
    CHECK(enter(listed, {{other.sku, {}, {}}}) == "ok");
    CHECK(word_of(bench.counts.apply(bench.link, listed, {})) == "ok");
    CHECK(bench.row(at).on_hand == 8);
    auto const whole = open({});
    CHECK_FALSE(bench.counts.show(bench.link, whole)->uncounted.empty());
    CHECK(word_of(bench.counts.cancel(bench.link, whole, {})) == "ok");
    CHECK(bench.counts.list(bench.link, {}).size() == 2);
}

// What a manager reads on Monday.
void read_reports(workbench& bench)
{
    CHECK_FALSE(reports::held_longest(bench.link, {}).shown.empty());
    CHECK_FALSE(reports::low_stock(bench.link, {}).next);
    reports::movement_query week{.since = parse_rfc3339("2020-01-01T00:00:00Z").value(),
                                 .until = parse_rfc3339("2120-01-01T00:00:00Z").value()};
    CHECK_FALSE(reports::movements(bench.link, week)->shown.empty());
    week.by = reports::grouping::by_sku;
    CHECK_FALSE(reports::movements(bench.link, week)->shown.empty());
}

// What the workers do, and what is done about webhooks.
void tell_others(workbench& bench)
{
    auto const at = bench.item(5);
    bench.let_lapse(bench.hold(at, 1));
    CHECK(workers::sweeper(10, bench.counters)(bench.link) == workers::progress::done_for_now);
    event_bell bell;
    CHECK(workers::publisher(bell, bench.counters)(bench.link) == workers::progress::done_for_now);
    bench.sql.run("INSERT INTO feed_gap VALUES (1, 1, 1)");
    CHECK(workers::publisher(bell, bench.counters)(bench.link) == workers::progress::done_for_now);

    event_feed const feed({});
    address_guard const guard("127.0.0.0/8");
    webhooks const hooks(feed, guard);
    auto const made = hooks.create(bench.link, {.url = "http://127.0.0.1:1/"}).value();
    CHECK(hooks.list(bench.link, {}).size() == 1);
    CHECK(word_of(hooks.change(bench.link, made.id, {.description = "shelf"})) == "ok");
    CHECK(word_of(hooks.rotate(bench.link, made.id, std::chrono::seconds(5))) == "ok");
    CHECK(word_of(hooks.replay(bench.link, made.id, {})) == "ok");
    auto const test = hooks.test(bench.link, made.id).value();
    for (int i = 0; i < 3; ++i)
        bench.hold(at, 1); // more of one SKU than may wait
    CHECK(workers::publisher(bell, bench.counters)(bench.link) == workers::progress::done_for_now);
    workers::courier courier({.schedule = {std::chrono::seconds(0), std::chrono::seconds(3600),
                                           std::chrono::seconds(3600)},
                              .waiting_of_sku_max = 1},
                             feed, bell, guard, bench.counters);
    while (hooks.deliveries(bench.link, {.webhook = made.id, .states = {"dead"}})->empty()) {
        courier.step(bench.link);
        for (auto const& each :
             *hooks.deliveries(bench.link, {.webhook = made.id, .states = {"pending"}}))
            CHECK(word_of(hooks.resend(bench.link, made.id, each.event_id)) ==
                  "ok"); // brings it forward
    }
    receiver const gone([](received const&) { return reaction{.status = 410}; });
    CHECK(word_of(hooks.change(bench.link, made.id, {.url = gone.url(), .is_active = true})) ==
          "ok");
    CHECK(word_of(hooks.resend(bench.link, made.id, test.event_id)) == "ok");
    while (hooks.show(bench.link, made.id)->state == "active")
        courier.step(bench.link);
    courier.step(bench.link);
    courier.finish(bench.link);
    CHECK(word_of(hooks.remove(bench.link, made.id)) == "ok");
    CHECK(hooks.list(bench.link, {}).empty());

    bench.sql.run("UPDATE feed SET told_at = now() - interval '90 days'");
    CHECK(workers::janitor({})(bench.link) == workers::progress::more_to_do);
}

// A buyer who has to be let in first.
void show_a_token(workbench& bench)
{
    auto const at = bench.item(5);
    auto guarded = change_of(at.sku);
    guarded.admission.emplace("token");
    REQUIRE(word_of(bench.catalogue.put(bench.link, guarded)) == "ok");
    auto const rules = db::transact(
        bench.link, [&](db::transaction& tx) { return db::tokens::rules_of(tx, at.sku); });
    CHECK(rules.value().is_asked_for);
    CHECK(word_of(bench.reserve({{at, 1}}, {.customer = "c", .token = "x"})) == "token_invalid");

    auto const secret = bench.reservations.secret_of_tokens().make(bench.link);
    auto const text = to_text({uuid::make_v7(), parse_rfc3339("2999-01-01T00:00:00Z").value()},
                              {at.sku, "c"}, secret);
    CHECK(word_of(bench.reserve({{at, 1}}, {.customer = "c", .token = text})) == "ok");
    CHECK(word_of(bench.reserve({{at, 1}}, {.customer = "c", .token = text})) == "token_used");
    CHECK(bench.row(at).reserved == 1);
}

// What the server's keeper does.
void keep(migrated_database const& place, workbench& bench)
{
    auto const secret = api_keys::create(bench.link, role::shop, "till");
    CHECK(api_keys::ensure(bench.link, "another-secret", role::admin, "bootstrap"));
    authenticator door;
    auto const who = door.look_up(bench.link, secret);
    REQUIRE(who);
    CHECK(api_keys::list(bench.link).size() == 2);
    CHECK(api_keys::revoke(bench.link, who->api_key_id));

    blocked_customers blocked;
    CHECK(blocked.block(bench.link, {"c-9", "chargebacks", "x"})->is_new);
    blocked.refresh(bench.link);
    CHECK(blocked.remembers("c-9"));
    CHECK(blocked.list(bench.link, {}).size() == 1);
    CHECK(word_of(bench.reserve({{bench.item(1), 1}}, {.customer = "c-9"})) == "customer_blocked");
    CHECK(word_of(blocked.unblock(bench.link, "c-9")) == "ok");
    CHECK(trail::list(bench.link, {.subject = "customer:c-9"}).size() == 2);

    CHECK(database_is_ready(bench.link).empty());
    CHECK_FALSE(db::transact(bench.link,
                             [](db::transaction& tx) { return db::items::is_empty(tx) ? 1 : 0; }));
    CHECK(bench.audit_findings() == "");
    auto const text = "sku,quantity,name\r\n" + new_sku().str() + ",5,Mug\r\n";
    CHECK(word_of(bench.imports.run(bench.link,
                                    {.key = new_key(text), .actor = "x", .csv = text})) == "ok");

    auto const imported = bench.imports.list(bench.link, {});
    REQUIRE(imported.size() == 1);
    CHECK(word_of(bench.imports.undo(bench.link, {imported.front().id, {}})) == "ok");
    CHECK(word_of(bench.imports.show(bench.link, imported.front().id)) == "ok");

    config settings;
    settings.database_url = place.connection_string();
    std::ostringstream out;
    CHECK(keeper::audit(settings, keeper::output::text, out) == 0);
    (void)keeper::doctor(settings, out);
    CHECK_FALSE(out.str().empty());
    database const empty;
    db::session session({.connection = empty.connection_string()});
    CHECK_FALSE(db::migrate(session, all_migrations()).empty());
}

// People who come, change and go.
void employ(workbench& bench)
{
    constexpr auto password = "correct horse battery staple";
    auto const first = staff_accounts::invite_first(bench.link);
    REQUIRE(first);
    auto const redeemed = staff_accounts::redeem(bench.link, {*first, "Anna", password}, {});
    REQUIRE(word_of(redeemed) == "ok");
    auto const anna = redeemed->account;
    CHECK_FALSE(staff_accounts::invite_first(bench.link));
    CHECK(word_of(staff_accounts::invite(bench.link, role::clerk, "Bert")) == "ok");
    CHECK(staff_accounts::list(bench.link).size() == 1);

    staff_sessions const sessions(bench.link);
    auto const who = staff_accounts::recognise(bench.link, "anna", password);
    REQUIRE(who);
    auto const token = sessions.open(bench.link, *who);
    REQUIRE(token);
    CHECK(sessions.is_ours(*token));
    bench.sql.run("UPDATE staff_session SET last_seen_at = now() - interval '1 hour'");
    CHECK(sessions.find(bench.link, *token)->name == "staff:Anna");
    sessions.end(bench.link, *token);
    CHECK_FALSE(sessions.find(bench.link, *token));

    CHECK(word_of(staff_accounts::set_password(bench.link, {anna.id, password, password}, {})) ==
          "ok");
    CHECK_FALSE(sessions.open(bench.link, *who)); // recognised by the password before
    CHECK(word_of(staff_accounts::change(bench.link, {anna.id, role::clerk, {}, {}}, {})) ==
          "last_owner");
    auto const berta = staff_accounts::create(bench.link, {"Berta", role::viewer, password}, {});
    REQUIRE(word_of(berta) == "ok");
    CHECK(word_of(staff_accounts::change(bench.link, {berta->id, {}, true, {}}, {})) == "ok");
    auto const link = staff_accounts::make_link(bench.link, {berta->id, anna.id}, {});
    REQUIRE(word_of(link) == "ok");
    CHECK(word_of(staff_accounts::end_sessions(bench.link, berta->id, {})) == "ok");
    CHECK(word_of(staff_accounts::remove(bench.link, berta->id, {})) == "ok");
}

} // namespace

TEST_CASE("every statement has a name of its own and parameters that it uses")
{
    names seen;
    for (auto const& statement : sql::all) {
        CAPTURE(statement.name);
        CHECK(seen.emplace(statement.name).second);
        for (auto const parameter : statement.parameters)
            CHECK(statement.text.find(':' + std::string(parameter)) != std::string_view::npos);
    }
    CHECK(seen.size() >= 50);
}

TEST_CASE("PostgreSQL prepares and plans every statement against the schema of this program")
{
    migrated_database const place;
    db::session session({.connection = place.connection_string()});
    constexpr auto syntax_error_or_access_rule_violation = "42";
    for (auto const& statement : sql::all) {
        CAPTURE(statement.name);
        auto const state = state_with_nulls(session, statement);
        CHECK_FALSE(state.starts_with(syntax_error_or_access_rule_violation));
    }
    CHECK(session.is_usable());
}

TEST_CASE("no statement is there for nothing: a shop's day uses all of them")
{
    statements_in_use const used;
    migrated_database const place;
    for (auto const& mode : strategy_registry().names()) {
        CAPTURE(mode);
        workbench bench(place, {.strategy = mode, .open_holds_per_customer = 50});
        trade(bench);
        look_around(bench);
        share_a_transaction(bench);
        meet_a_duplicate(place, mode);
    }
    workbench bench(place);
    count_a_shelf(bench);
    read_reports(bench);
    keep(place, bench);
    employ(bench);
    be_overtaken(place, bench);
    show_a_token(bench);
    tell_others(bench);
    put_redis_before(bench);

    std::string unused;
    for (auto const& statement : sql::all)
        if (!used.has(statement.name))
            unused += std::string(statement.name) + ' ';
    CHECK(unused == "");
}

} // namespace holdfast::test

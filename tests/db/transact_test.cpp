// SPDX-License-Identifier: Apache-2.0
// Transactions that are run again: after deadlocks, after lost connections, and after commits whose
// answer never came. However a line breaks, what was asked for is done once.
#include "db/levels.hpp"
#include "db/transact.hpp"
#include "service/api_keys.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/tcp_gate.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <latch>
#include <mutex>
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

constexpr db::statement<cardinality::exec, 1> put{
    "test.put_on_shelf", "INSERT INTO shelf (id) VALUES (:id::bigint)", {"id"}};
constexpr db::statement<cardinality::exec, 0> raise_units{
    "test.raise_units", "UPDATE shelf SET units = units + 1", {}};
constexpr db::statement<cardinality::one, 0> count{
    "test.count_shelf", "SELECT count(*) FROM shelf", {}};

// Collects why transactions are run again, as long as it lives.
class reasons {
public:
    reasons()
    {
        db::on_retry([this](std::string_view reason) {
            {
                std::scoped_lock const lock(mutex_);
                heard_.emplace_back(reason);
            }
            if (then_)
                then_(reason);
        });
    }
    reasons(reasons const&) = delete;
    reasons& operator=(reasons const&) = delete;
    ~reasons()
    {
        db::on_retry([](std::string_view) {});
    }

    // Called after each reason. Set it before anything is run.
    void then(std::function<void(std::string_view)> f) { then_ = std::move(f); }

    [[nodiscard]] std::vector<std::string> heard() const
    {
        std::scoped_lock const lock(mutex_);
        return heard_;
    }

    [[nodiscard]] std::ptrdiff_t count(std::string_view reason) const
    {
        auto const all = heard();
        return std::ranges::count(all, reason);
    }

private:
    std::mutex mutable mutex_;
    std::vector<std::string> heard_;
    std::function<void(std::string_view)> then_;
};

struct shelf {
    shelf()
    {
        place.session().run("CREATE TABLE shelf (id bigint PRIMARY KEY, units bigint DEFAULT 0)");
    }

    [[nodiscard]] std::string ids() const
    {
        return place.session().value(
            "SELECT COALESCE(string_agg(id::text, ' ' ORDER BY id), '') FROM shelf");
    }

    database place;
};

template <class Work>
std::optional<fault> fault_in(Work const& work)
{
    try {
        work();
    } catch (db::error const& error) {
        return error.kind();
    }
    return std::nullopt;
}

// What a line to the database may do to the answer of a commit.
enum class mishap { before, after };

// A workbench behind a gate, and one beside it that sees what is really there.
struct shop_behind_a_gate {
    shop_behind_a_gate() { (void)far.link.session(); }

    void arm(mishap how)
    {
        if (how == mishap::before)
            gate.cut_before("COMMIT");
        else
            gate.cut_after("COMMIT");
    }

    migrated_database place;
    tcp_gate gate{place.connection_string()};
    workbench far{place, {.connection_string = gate.connection_string()}};
    workbench near{place};
};

} // namespace

TEST_CASE("a value commits, a refusal and an exception roll back")
{
    shelf const s;
    db::link link({.connection = s.place.connection_string()});

    auto const kept = db::transact(link, [](db::transaction& tx) -> result<int> {
        tx.exec(put, 1);
        return 1;
    });
    CHECK(kept.value() == 1);

    auto const refused = db::transact(link, [](db::transaction& tx) -> result<int> {
        tx.exec(put, 2);
        return refusal{.code = errc::insufficient_stock};
    });
    CHECK(refused.error().code == errc::insufficient_stock);

    CHECK_THROWS_AS(db::transact(link,
                                 [](db::transaction& tx) -> int {
                                     tx.exec(put, 3);
                                     throw invariant_broken("a bug");
                                 }),
                    invariant_broken);

    CHECK(db::transact(link, [](db::transaction& tx) { return tx.exec(put, 4); }) == 1);
    CHECK(s.ids() == "1 4");
}

TEST_CASE("work that hides a fault of the database does not pass for done")
{
    shelf const s;
    db::link link({.connection = s.place.connection_string()});
    auto const hidden = fault_in([&] {
        db::transact(link, [](db::transaction& tx) {
            tx.exec(put, 1);
            CHECK(fault_in([&] { tx.exec(put, 1); }) == fault::constraint);
            return 0;
        });
    });
    CHECK(hidden == fault::other);
    CHECK(s.ids() == "");
    CHECK(db::transact(link, [](db::transaction& tx) { return tx.exec(put, 2); }) == 1);
}

TEST_CASE("two who lock the same rows the other way round both get through")
{
    migrated_database const place;
    place.set("deadlock_timeout", "100ms");
    workbench bench(place);
    std::vector const at{bench.item(5), bench.item(5)};
    reasons why;
    std::latch both_have_one(2);

    auto const attempts = run_together(2, [&](std::size_t i) {
        db::link link({.connection = place.connection_string()});
        int tries = 0;
        db::transact(link, [&](db::transaction& tx) {
            ++tries;
            CHECK(db::levels::lock(tx, std::vector{at[i]}).size() == 1);
            if (tries == 1)
                both_have_one.arrive_and_wait();
            auto level = db::levels::lock(tx, std::vector{at[1 - i]}).at(0).level;
            ++level.on_hand;
            db::levels::write(tx, std::vector{db::levels::change{at[1 - i], level}});
            return 0;
        });
        return tries;
    });

    CHECK(attempts[0] + attempts[1] == 3);
    CHECK(why.heard() == std::vector<std::string>{"conflict"});
    CHECK(bench.row(at[0]).on_hand == 6);
    CHECK(bench.row(at[1]).on_hand == 6);
}

TEST_CASE("a transaction that others overtook is run again on what they left")
{
    shelf const s;
    s.place.session().run("INSERT INTO shelf VALUES (1)");
    db::link link({.connection = s.place.connection_string()});
    reasons why;
    int tries = 0;

    db::transact(link, [&](db::transaction& tx) {
        if (++tries == 1) {
            link.session().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "isolation");
            CHECK(tx.one<std::int64_t>(count) == 1);
            s.place.session().run("UPDATE shelf SET units = units + 10");
        }
        return tx.exec(raise_units);
    });

    CHECK(tries == 2);
    CHECK(why.heard() == std::vector<std::string>{"conflict"});
    CHECK(s.place.session().value("SELECT units FROM shelf") == "11");
}

TEST_CASE("a conflict that never ends is given up after a few tries")
{
    shelf const s;
    db::link link({.connection = s.place.connection_string()});
    int tries = 0;
    auto const given_up = fault_in([&] {
        db::transact(link, [&](db::transaction& tx) -> int {
            tx.exec(put, ++tries);
            throw db::error(fault::conflict, "40001", "test");
        });
    });
    CHECK(given_up == fault::conflict);
    CHECK(tries == 8);
    CHECK(s.ids() == "");
}

TEST_CASE("what will not get better by trying again is not tried again")
{
    shelf const s;
    db::link link({.connection = s.place.connection_string()});
    for (auto const kind :
         {fault::constraint, fault::lock_timeout, fault::statement_timeout, fault::other}) {
        int tries = 0;
        auto const thrown = fault_in([&] {
            db::transact(link, [&](db::transaction&) -> int {
                ++tries;
                throw db::error(kind, "", "test");
            });
        });
        CHECK(thrown == kind);
        CHECK(tries == 1);
    }
}

TEST_CASE("a connection that breaks in mid-work is made anew and the work is done once")
{
    shelf const s;
    tcp_gate gate(s.place.connection_string());
    db::link link({.connection = gate.connection_string()});
    reasons why;
    for (auto const* moment : {"BEGIN", "INSERT"}) {
        CAPTURE(moment);
        db::transact(link, [](db::transaction& tx) { return tx.one<std::int64_t>(count); });
        gate.cut_before(moment);
        db::transact(link, [&](db::transaction& tx) {
            return tx.exec(put, tx.one<std::int64_t>(count) + 1);
        });
        link.drop();
    }
    CHECK(gate.cuts() == 2);
    CHECK(why.count("connection_lost") == 2);
    CHECK(why.count("in_doubt") == 0);
    CHECK(s.ids() == "1 2");
}

TEST_CASE("reading goes on over a broken line, too")
{
    shelf const s;
    tcp_gate gate(s.place.connection_string());
    db::link link({.connection = gate.connection_string()});
    auto const look = [](db::transaction& tx) { return tx.one<std::int64_t>(count); };
    for (auto const how : {db::scope::single, db::scope::snapshot}) {
        CHECK(db::read(link, how, look) == 0);
        gate.cut_after_bytes(1);
        CHECK(db::read(link, how, look) == 0);
    }
    CHECK(gate.cuts() == 2);
}

TEST_CASE("without a database a caller learns it soon, and the link heals when it is back")
{
    shelf const s;
    tcp_gate gate(s.place.connection_string());
    db::link link({.connection = gate.connection_string()});
    db::transact(link, [](db::transaction& tx) { return tx.exec(put, 1); });

    gate.shut();
    auto const began = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i)
        CHECK(fault_in([&] {
                  db::transact(link, [](db::transaction& tx) { return tx.exec(put, 2); });
              }) == fault::unavailable);
    CHECK(std::chrono::steady_clock::now() - began < 5s);

    gate.open();
    CHECK(db::transact(link, [](db::transaction& tx) { return tx.exec(put, 2); }) == 1);
    CHECK(s.ids() == "1 2");
}

TEST_CASE("a database that is not there is not stormed: each link asks a few times a second")
{
    db::link link({.connection = "host=/nowhere"});
    auto const began = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i)
        CHECK(fault_in([&] { (void)link.session(); }) == fault::unavailable);
    CHECK(std::chrono::steady_clock::now() - began >= 700ms);
}

TEST_CASE("a reservation whose commit was never answered is found, not made twice")
{
    shop_behind_a_gate shop;
    for (auto const how : {mishap::before, mishap::after}) {
        for (auto const at_once : {false, true}) {
            CAPTURE(at_once);
            reasons why;
            auto const at = shop.near.item(5);
            shop.arm(how);

            auto const made = shop.far.reserve({{at, 2}}, {.confirm_at_once = at_once});

            REQUIRE(word_of(made) == "ok");
            CHECK(why.count("in_doubt") == 1);
            auto const there = shop.near.reservations.show(shop.near.link, made->value.id);
            REQUIRE(word_of(there) == "ok");
            CHECK(there->state == made->value.state);
            CHECK(
                shop.near.reservations
                    .list(
                        shop.near.link,
                        {.state = {}, .sku = at.sku, .customer = {}, .reference = {}, .before = {}})
                    .shown.size() == 1);
            auto const left = shop.near.row(at);
            CHECK(left.available() == 3);
            CHECK(left.on_hand == (at_once ? 3 : 5));
        }
    }
    CHECK(shop.gate.cuts() == 4);
    CHECK(shop.near.audit_findings() == "");
}

TEST_CASE("confirming and releasing over a line that breaks at the commit happen once")
{
    shop_behind_a_gate shop;
    for (auto const how : {mishap::before, mishap::after}) {
        auto const at = shop.near.item(10);
        auto const bought = shop.near.hold(at, 3);
        auto const given_up = shop.near.hold(at, 4);

        shop.arm(how);
        auto const confirmed =
            shop.far.reservations.confirm(shop.far.link, {.id = bought, .actor = "x", .lines = {}});
        shop.arm(how);
        auto const released = shop.far.reservations.release(shop.far.link, {given_up, "x"});

        REQUIRE(word_of(confirmed) == "ok");
        CHECK(confirmed->state == reservation_state::confirmed);
        REQUIRE(word_of(released) == "ok");
        CHECK(released->state == reservation_state::released);
        CHECK(shop.near.row(at) == stock_level{7, 0, 5});
    }
    CHECK(shop.gate.cuts() == 4);
    CHECK(shop.near.audit_findings() == "");
}

TEST_CASE("returns and corrections over a line that breaks at the commit happen once")
{
    shop_behind_a_gate shop;
    for (auto const how : {mishap::before, mishap::after}) {
        auto const at = shop.near.item(10);
        auto const sold = shop.near.reserve({{at, 5}}, {.confirm_at_once = true});
        REQUIRE(word_of(sold) == "ok");

        shop.arm(how);
        auto const back = shop.far.reservations.give_back(
            shop.far.link,
            {.key = new_key(), .id = sold->value.id, .actor = "x", .lines = {{at, 2}}});
        shop.arm(how);
        auto command = correction_of(at);
        command.delta = -3;
        auto const corrected = shop.far.adjustments.adjust(shop.far.link, command);

        REQUIRE(word_of(back) == "ok");
        CHECK(back->value.lines.at(0).returned == 2);
        REQUIRE(word_of(corrected) == "ok");
        CHECK(corrected->value.level.level.on_hand == 4);
        CHECK(shop.near.row(at) == stock_level{4, 0, 5});
    }
    CHECK(shop.gate.cuts() == 4);
    CHECK(shop.near.audit_findings() == "");
}

TEST_CASE("imports, their undoing and counts over a line that breaks happen once, and count once")
{
    shop_behind_a_gate shop;
    auto const import = [](workbench& bench, request_key const& key, level_key const& at) {
        auto const text = "sku,quantity\n" + at.sku.str() + ",7\n";
        return bench.imports.run(bench.link,
                                 {.key = key, .actor = "x", .mode = import_mode::add, .csv = text});
    };
    auto const counted = [&](std::string const& kind) {
        auto const text = shop.far.counters.text();
        auto const name = "holdfast_movements_total{kind=\"" + kind + "\"} ";
        auto const at = text.find(name);
        REQUIRE(at != std::string::npos);
        return std::stoi(text.substr(at + name.size()));
    };
    int rounds = 0;
    for (auto const how : {mishap::before, mishap::after}) {
        ++rounds;
        auto const at = shop.near.item(10);
        // In the middle of it all of it is gone, so it is begun anew.
        auto const key = new_key();
        shop.gate.cut_before("stock_import_level");
        auto const first = import(shop.far, key, at);
        REQUIRE(word_of(first) == "ok");
        CHECK(import(shop.near, key, at)->is_replay);
        CHECK(shop.near.row(at).on_hand == 17);

        shop.arm(how);
        auto const second = import(shop.far, new_key(), at);
        REQUIRE(word_of(second) == "ok");
        CHECK(shop.near.row(at).on_hand == 24);
        CHECK(counted("received") == 2 * rounds);

        shop.arm(how);
        CHECK(word_of(shop.far.imports.undo(shop.far.link, {second->value.id.value(), {}})) ==
              "ok");
        CHECK(shop.near.row(at).on_hand == 17);
        CHECK(counted("adjusted") == rounds);

        auto const opened = shop.near.counts.open(shop.near.link, {.key = new_key(),
                                                                   .by = {},
                                                                   .name = "a",
                                                                   .where = {},
                                                                   .sku_prefix = {},
                                                                   .skus = {},
                                                                   .note = {}});
        auto const id = opened->value.count.id;
        CHECK(word_of(shop.near.counts.enter(shop.near.link,
                                             {new_key(), id, "x", {{at.sku, 3, {}}}})) == "ok");
        shop.arm(how);
        CHECK(word_of(shop.far.counts.apply(shop.far.link, id, {})) == "ok");
        CHECK(shop.near.row(at).on_hand == 3);
        CHECK(counted("counted") == rounds);
    }
    CHECK(shop.gate.cuts() >= 6); // the statements of the middle are prepared once
    CHECK(shop.near.audit_findings() == "");
}

TEST_CASE("an item made over a line that breaks at the commit is made once, and said to be new")
{
    shop_behind_a_gate shop;
    for (auto const how : {mishap::before, mishap::after}) {
        auto command = change_of(new_sku());
        command.name.emplace("Mug");
        command.on_hand = 5;
        reasons why;
        shop.arm(how);

        auto const made = shop.far.catalogue.put(shop.far.link, command);

        CHECK(why.count("in_doubt") == 1);
        REQUIRE(word_of(made) == "ok");
        CHECK(made->is_new);
        CHECK(made->item.settings.name == "Mug");
        CHECK(shop.near.row({command.sku, location()}) == stock_level{5, 0, 1});
        // Asked for anew, it is there already.
        CHECK(word_of(shop.far.catalogue.put(shop.far.link, command)) == "validation_failed");
    }
    CHECK(shop.gate.cuts() == 2);
    CHECK(shop.near.audit_findings() == "");
}

TEST_CASE("whoever made the item while our line was broken is not taken for ourselves")
{
    shop_behind_a_gate shop;
    auto ours = change_of(new_sku());
    ours.on_hand = 5;
    auto theirs = ours;
    theirs.on_hand = 7;
    reasons why;
    why.then([&](std::string_view reason) {
        if (reason == "in_doubt")
            CHECK(shop.near.catalogue.put(shop.near.link, theirs)->is_new);
    });
    shop.arm(mishap::before);

    CHECK(word_of(shop.far.catalogue.put(shop.far.link, ours)) == "validation_failed");
    CHECK(why.count("in_doubt") == 1);
    CHECK(shop.near.row({ours.sku, location()}) == stock_level{7, 0, 1});
}

TEST_CASE("keys made and revoked over a line that breaks at the commit are so once, and work")
{
    shop_behind_a_gate shop;
    std::size_t keys = 0;
    for (auto const how : {mishap::before, mishap::after}) {
        shop.arm(how);
        auto const secret = api_keys::create(shop.far.link, role::shop, "till");
        authenticator door;
        auto const who = door.look_up(shop.near.link, secret);
        REQUIRE(who);
        CHECK(who->role == role::shop);
        CHECK(api_keys::list(shop.near.link).size() == ++keys);

        shop.arm(how);
        CHECK(api_keys::revoke(shop.far.link, who->api_key_id));
        CHECK_FALSE(door.look_up(shop.near.link, secret));
        CHECK_FALSE(api_keys::revoke(shop.far.link, who->api_key_id));
    }
    CHECK(shop.gate.cuts() == 4);
}

TEST_CASE("a customer's lapsed hold makes room over a line that breaks when it is cleared away")
{
    shop_behind_a_gate shop;
    for (auto const how : {mishap::before, mishap::after}) {
        auto const at = shop.near.item(5);
        auto limit = change_of(at.sku);
        limit.max_per_customer.emplace(1);
        REQUIRE(word_of(shop.near.catalogue.put(shop.near.link, limit)) == "ok");
        auto const lapsed = shop.near.reserve({{at, 1}}, {.customer = "c"});
        REQUIRE(word_of(lapsed) == "ok");
        shop.near.let_lapse(lapsed->value.id);

        shop.arm(how);
        CHECK(word_of(shop.far.reserve({{at, 1}}, {.customer = "c"})) == "ok");
        CHECK(shop.near.row(at).reserved == 1);
    }
    CHECK(shop.gate.cuts() == 2);
    CHECK(shop.near.audit_findings() == "");
}

TEST_CASE(
    "when nobody can know whether it happened, that is the answer, and the same key finds out")
{
    shop_behind_a_gate shop;
    for (auto const how : {mishap::before, mishap::after}) {
        auto const at = shop.near.item(5);
        reserve_options const options{.key = "order-" + at.sku.str()};
        {
            reasons why;
            // The database goes away with the answer.
            why.then([&](std::string_view reason) {
                if (reason == "in_doubt")
                    shop.gate.shut();
            });
            shop.arm(how);
            CHECK_THROWS_AS((void)shop.far.reserve({{at, 2}}, options), db::outcome_unknown);
        }
        CHECK(shop.near.row(at).reserved == (how == mishap::after ? 2 : 0));

        shop.gate.open();
        auto const found = shop.far.reserve({{at, 2}}, options);
        REQUIRE(word_of(found) == "ok");
        CHECK(found->is_replay == (how == mishap::after));
        CHECK(shop.near.row(at).reserved == 2);
    }
    CHECK(shop.near.audit_findings() == "");
}

TEST_CASE("wherever a line breaks, a reservation is made once and its caller hears of it")
{
    shop_behind_a_gate shop;
    auto const at = shop.near.item(1000);
    units made = 0;
    for (std::uint64_t bytes = 0; bytes < 1200; bytes += 61) {
        CAPTURE(bytes);
        shop.gate.cut_after_bytes(bytes);
        auto const answer = shop.far.reserve({{at, 1}});
        CHECK(word_of(answer) == "ok");
        ++made;
        REQUIRE(shop.near.row(at).reserved == made);
    }
    CHECK(shop.gate.cuts() >= 10);
    CHECK(shop.near.audit_findings() == "");
}

} // namespace holdfast::test

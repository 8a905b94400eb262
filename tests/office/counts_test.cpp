// SPDX-License-Identifier: Apache-2.0
// Counting a shelf while units are sold: what is applied is what was missing at the moment of
// counting, so nothing is lost that happened since.
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/person.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

json entry_of(std::string const& sku, json const& quantity)
{
    return {{"sku", sku}, {"quantity", quantity}};
}

http_response enter_under(shop& front, std::string const& key, std::string const& id,
                          std::vector<json> const& entries)
{
    return front.http().send({.method = "PUT",
                              .target = "/v1/counts/" + id + "/entries",
                              .body = json{{"entries", entries}}.dump(),
                              .headers = {{"Idempotency-Key", key}}});
}

http_response enter(shop& front, std::string const& id, std::vector<json> const& entries)
{
    return enter_under(front, unique("key"), id, entries);
}

std::string open_count(shop& front, json wish = json::object())
{
    wish["name"] = "Shelf 4";
    return id_of(front.post("/v1/counts", wish));
}

http_response apply(shop& front, std::string const& id)
{
    return front.post("/v1/counts/" + id + "/apply", json::object());
}

json shown(shop& front, std::string const& id)
{
    return front.get("/v1/counts/" + id).json();
}

void sell(shop& front, std::string const& sku, int quantity)
{
    CHECK(outcome(front.reserve({{sku, quantity}}, {{"confirm", true}})) == "201");
}

} // namespace

TEST_CASE("what is sold, returned or corrected after the moment of counting is not lost")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(20);
    auto const right = front.item(5);
    auto const sold = front.hold({{sku, 4}});
    front.confirm(sold); // 16 are left
    auto const id = open_count(front, {{"skus", {sku, right}}, {"note", "monthly"}});
    CHECK(outcome(enter(front, id, {entry_of(sku, 15), entry_of(right, 5)})) == "200");

    sell(front, sku, 2);
    front.give_back(sold, {{sku, 1}});
    front.adjust(sku, {{"delta", 10}, {"reason", "received"}});
    auto const before = shown(front, id);
    auto const& seen = before.at("entries").at(before.at("entries").at(0).at("sku") == sku ? 0 : 1);
    CHECK(seen.at("on_hand") == 16);
    CHECK(seen.at("difference") == -1);
    CHECK(seen.at("on_hand_after") == 24);
    CHECK(before.at("difference_count") == 1);
    CHECK(before.at("uncounted").empty());

    auto const answer = apply(front, id);
    CHECK(outcome(answer) == "200");
    CHECK(answer.json().at("state") == "applied");
    CHECK(front.level_of(sku).on_hand == 24); // 16 - 2 + 1 + 10, and one was missing
    auto const last = front.movements(sku).back();
    CHECK(last.at("kind") == "counted");
    CHECK(last.at("reason") == "count");
    CHECK(last.at("on_hand_delta") == -1);
    CHECK(last.at("reference") == "count-" + id);
    CHECK(front.movements(right).size() == 1); // as it should be: nothing to write
    CHECK(front.audit_ok());
}

TEST_CASE("K3: a count below what is reserved is accepted, shown as short, and its holds listed")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const first = front.hold({{sku, 4}}, {{"customer", "c-1"}});
    auto const second = front.hold({{sku, 4}}, {{"reference", "order-2"}});
    auto const id = open_count(front);
    auto const entered = enter(front, id, {entry_of(sku, 5)});
    CHECK(outcome(entered) == "200");

    for (auto const& told : {entered.json(), shown(front, id), apply(front, id).json()}) {
        auto const& entry = told.at("entries").at(0);
        CHECK(entry.at("on_hand_after") == 5);
        CHECK(entry.at("reserved") == 8);
        CHECK(entry.at("short") == 3);
        REQUIRE(entry.at("holds").size() == 2);
        CHECK(entry.at("holds").at(0).at("reservation_id") == first);
        CHECK(entry.at("holds").at(0).at("customer") == "c-1");
        CHECK(entry.at("holds").at(1).at("reservation_id") == second);
        CHECK(entry.at("holds").at(1).at("quantity") == 4);
    }
    CHECK(front.item_of(sku).at("levels").at(0).at("short") == 3);
    CHECK(outcome(front.reserve(sku)) == "409 insufficient-stock");
    CHECK(front.audit_ok());
}

TEST_CASE("a count that is sent again is neither entered at a later moment nor applied twice")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const opened = unique("key");
    auto const open = [&] {
        return front.http().send({.method = "POST",
                                  .target = "/v1/counts",
                                  .body = R"({"name":"a"})",
                                  .headers = {{"Idempotency-Key", opened}}});
    };
    auto const id = id_of(open());
    CHECK(id_of(open()) == id);
    CHECK(open().header("idempotent-replayed") == "true");

    enter_under(front, "scan-1", id, {entry_of(sku, 8)});
    sell(front, sku, 3);
    auto const again = enter_under(front, "scan-1", id, {entry_of(sku, 8)});
    CHECK(again.header("idempotent-replayed") == "true");
    CHECK(again.json().at("entries").at(0).at("on_hand") == 10);
    CHECK(outcome(enter_under(front, "scan-1", id, {entry_of(sku, 9)})) ==
          "422 idempotency-key-reused");

    CHECK_FALSE(apply(front, id).header("idempotent-replayed"));
    CHECK(apply(front, id).header("idempotent-replayed") == "true");
    CHECK(front.level_of(sku).on_hand == 5);
    CHECK(outcome(enter(front, id, {entry_of(sku, 1)})) == "409 count-closed");
    CHECK(outcome(front.post("/v1/counts/" + id + "/cancel", json::object())) ==
          "409 count-closed");
}

TEST_CASE("who applies at the same time as others applies once")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(10);
    auto const id = bench.counts
                        .open(bench.link, {.key = new_key(),
                                           .by = {},
                                           .name = "a",
                                           .where = {},
                                           .sku_prefix = {},
                                           .skus = {},
                                           .note = {}})
                        ->value.count.id;
    CHECK(word_of(bench.counts.enter(bench.link, {new_key(), id, "x", {{at.sku, 7, {}}}})) == "ok");
    auto const answers = run_together(4, [&](std::size_t) {
        workbench desk(place);
        return word_of(desk.counts.apply(desk.link, id, {}));
    });
    for (auto const& answer : answers)
        CHECK(answer == "ok");
    CHECK(bench.row(at).on_hand == 7);
    CHECK(bench.row(at).version == 2);
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("a sheet of paper says when each was counted")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const id = open_count(front);
    for (int i = 0; i < 9; ++i)
        sell(front, sku, 1);
    std::string third; // when the third sale was made
    for (auto const& line : front.movements(sku))
        if (third.empty() && line.at("on_hand") == 7)
            third = line.at("at").get<std::string>();

    auto entry = entry_of(sku, 6);
    entry["counted_at"] = third;
    auto const told = enter(front, id, {entry}).json().at("entries").at(0);
    CHECK(told.at("on_hand") == 7);
    CHECK(told.at("counted_at") == third);
    CHECK(told.at("on_hand_after") == 0);
    CHECK(outcome(apply(front, id)) == "200");
    CHECK(front.level_of(sku).on_hand == 0);

    auto const other = open_count(front);
    // Before it was opened.
    CHECK(outcome(enter(front, other, {entry})) == "400 validation-failed");
    entry["counted_at"] = "2999-01-01T00:00:00Z";
    CHECK(pointers_in(enter(front, other, {entry})) == "/entries/0");
}

TEST_CASE("rows that are refused leave everything as it was, and every such row is told")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    std::vector skus{front.item(10), front.item(10), front.item(10)};
    std::ranges::sort(skus);
    auto const id = open_count(front);
    enter(front, id, {entry_of(skus[0], 9), entry_of(skus[1], 2), entry_of(skus[2], 3)});
    sell(front, skus[1], 5);
    front.adjust(skus[2], {{"set_to", 4}, {"expect_on_hand", 10}, {"reason", "count"}});
    CHECK(shown(front, id).at("entries").at(2).at("outdated") == true);
    auto const books = books_of(db);

    auto const refused = apply(front, id);
    CHECK(outcome(refused) == "412 precondition-failed"); // the first of them in the table
    CHECK(pointers_in(refused) == "/entries/1 /entries/2");
    auto const errors = refused.json().at("errors");
    CHECK(errors.at(0).at("code") == "would-go-negative");
    CHECK(errors.at(1).at("code") == "precondition-failed");
    CHECK(errors.at(0).at("sku") == skus[1]);
    CHECK(errors.at(1).at("sku") == skus[2]);
    CHECK(books_of(db) == books);

    enter(front, id, {entry_of(skus[1], 2), entry_of(skus[2], nullptr)});
    CHECK(outcome(apply(front, id)) == "200");
    CHECK(front.level_of(skus[0]).on_hand == 9);
    CHECK(front.level_of(skus[1]).on_hand == 2);
    CHECK(front.level_of(skus[2]).on_hand == 4);
    CHECK(front.audit_ok());
}

TEST_CASE("an entry is out of date once somebody has said the level to be a number, however")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const import = [&](std::string const& mode, std::string const& sku, int quantity) {
        auto const rows = "sku,quantity\n" + sku + ',' + std::to_string(quantity) + '\n';
        return id_of(front.import_csv(mode, rows));
    };
    auto const set = [&](std::string const& sku, std::string const& reason) {
        front.adjust(sku, {{"set_to", 97}, {"expect_on_hand", 100}, {"reason", reason}});
    };
    auto const ways = std::vector<std::function<void(std::string const&)>>{
        [&](std::string const& sku) { import("set", sku, 97); },
        [&](std::string const& sku) { import("count", sku, 97); },
        [&](std::string const& sku) { import("count", sku, 100); },
        [&](std::string const& sku) {
            import("count", sku, 100);
            import("set", sku, 100);
        },
        [&](std::string const& sku) { set(sku, "correction"); },
        [&](std::string const& sku) { set(sku, "lost"); },
        [&](std::string const& sku) {
            auto const other = open_count(front, {{"skus", {sku}}});
            enter(front, other, {entry_of(sku, 100)}); // nothing is missing
            CHECK(outcome(apply(front, other)) == "200");
        }};
    for (std::size_t i = 0; i < ways.size(); ++i) {
        CAPTURE(i);
        auto const sku = front.item(100);
        auto const id = open_count(front, {{"skus", {sku}}});
        enter(front, id, {entry_of(sku, 97)});
        ways[i](sku);
        auto const on_hand = front.level_of(sku).on_hand;
        CHECK(shown(front, id).at("entries").at(0).at("outdated") == true);
        CHECK(outcome(apply(front, id)) == "412 precondition-failed");
        CHECK(front.level_of(sku).on_hand == on_hand);
        enter(front, id, {entry_of(sku, 97)}); // has seen that number
        CHECK(outcome(apply(front, id)) == "200");
        CHECK(front.level_of(sku).on_hand == 97);
    }
    CHECK(front.audit_ok());
}

TEST_CASE("an entry is out of date once an import is undone that it was counted with")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    auto const add = [&] {
        return id_of(front.import_csv("add", "sku,quantity\n" + sku + ",10\n"));
    };
    auto const undo = [&](std::string const& import) {
        CHECK(outcome(front.post("/v1/imports/" + import + "/undo", json::object())) == "200");
    };
    auto const mistake = add();
    auto const id = open_count(front);
    enter(front, id, {entry_of(sku, 100)});
    undo(mistake);
    CHECK(outcome(apply(front, id)) == "412 precondition-failed");
    CHECK(front.level_of(sku).on_hand == 100);

    enter(front, id, {entry_of(sku, 98)});
    undo(add()); // came and went since
    CHECK(shown(front, id).at("entries").at(0).at("outdated") == false);
    CHECK(outcome(apply(front, id)) == "200");
    CHECK(front.level_of(sku).on_hand == 98);
}

TEST_CASE("a count keeps to its location, its list and its thousand SKUs")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(3);
    auto const other = front.item(3);
    auto const listed = open_count(front, {{"skus", {sku}}, {"location", "shelf"}});
    CHECK(shown(front, listed).at("uncounted") == json::array({sku}));
    auto const wrong = enter(front, listed, {entry_of(other, 1), entry_of("NEVER", 1)});
    CHECK(outcome(wrong) == "400 validation-failed");
    CHECK(pointers_in(wrong) == "/entries/0 /entries/1");
    enter(front, listed, {entry_of(sku, 2)}); // nobody knew of any there
    CHECK(outcome(apply(front, listed)) == "200");
    CHECK(front.level_of(sku).on_hand == 5);

    auto const prefixed = open_count(front, {{"sku_prefix", sku}});
    CHECK(pointers_in(enter(front, prefixed, {entry_of(other, 1)})) == "/entries/0");
    CHECK(shown(front, prefixed).at("uncounted") == json::array({sku}));
    CHECK(pointers_in(front.post("/v1/counts", {{"name", "a"}, {"skus", {sku, sku}}})) ==
          "/skus/1");
    CHECK(outcome(front.post("/v1/counts", {{"name", "a"}, {"skus", {"NEVER"}}})) ==
          "404 unknown-sku");

    db.session().run("INSERT INTO item (sku) SELECT 'many-' || n FROM generate_series(1, 1000) n");
    auto const whole = open_count(front);
    std::vector<json> entries;
    for (int i = 1; i <= 1000; ++i)
        entries.push_back(entry_of("many-" + std::to_string(i), 1));
    CHECK(outcome(enter(front, whole, entries)) == "200");
    CHECK(pointers_in(enter(front, whole, {entry_of(sku, 1)})) == "/entries");
    CHECK(outcome(apply(front, whole)) == "200");
    CHECK(front.level_of("many-1000").on_hand == 1);
    CHECK(front.audit_ok());
}

TEST_CASE("a clerk counts, a manager applies, and the trail tells both")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(5);
    auto clerk = new_person(service, db.connection_string(), "clerk", "Anna");
    auto manager = new_person(service, db.connection_string(), "manager", "Berta");
    // Whatever is keyed has a key from a page as well.
    auto const send = [](person& who, std::string const& method, std::string const& target,
                         json const& body) {
        return who.send({.method = method,
                         .target = target,
                         .body = body.dump(),
                         .headers = {{"Idempotency-Key", unique("key")}}});
    };
    auto const id = id_of(send(clerk, "POST", "/v1/counts", {{"name", "a"}}));
    auto const one = "/v1/counts/" + id;
    json const entries = json::array({entry_of(sku, 4)});
    CHECK(outcome(send(clerk, "PUT", one + "/entries", {{"entries", entries}})) == "200");
    CHECK(outcome(clerk.call("POST", one + "/apply", nullptr)) == "403 forbidden");
    CHECK(front.get("/v1/counts?open=true").json().at("data").at(0).at("id") == id);
    CHECK(outcome(manager.call("POST", one + "/apply", nullptr)) == "200");
    CHECK(front.movements(sku).back().at("actor") == "staff:Berta");
    CHECK(front.get("/v1/counts?open=true").json().at("data").empty());

    auto const told = front.get("/v1/trail?subject=count:" + id).json().at("data");
    REQUIRE(told.size() == 2);
    CHECK(told.at(0).at("action") == "count.applied");
    CHECK(told.at(0).at("detail").at("differing") == 1);
    CHECK(told.at(1).at("actor") == "staff:Anna");
}

} // namespace holdfast::test

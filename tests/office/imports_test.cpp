// SPDX-License-Identifier: Apache-2.0
// Imports that were applied can be undone: by the difference they made, so that what was sold since
// stays sold.
#include "db/items.hpp"
#include "db/transact.hpp"
#include "service/expiry.hpp"
#include "service/workers/janitor.hpp"
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

std::string import(shop& front, std::string const& mode, std::string const& rows,
                   std::string const& columns = "sku,quantity")
{
    return id_of(front.import_csv(mode, columns + '\n' + rows));
}

http_response undo(shop& front, std::string const& id, json const& body = json::object())
{
    return front.post("/v1/imports/" + id + "/undo", body);
}

// A file with this quantity of each of so many items.
std::string large_file(std::size_t rows, std::string const& quantity)
{
    std::string text = "sku,quantity,name\n";
    for (std::size_t i = 0; i < rows; ++i)
        text += "BULK-" + std::to_string(i) + ',' + quantity + ",Item of many\n";
    return text;
}

} // namespace

TEST_CASE("undoing an import takes back what it brought, and nothing of what was sold since")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const other = front.item(10);
    auto const id = import(front, "add", sku + ",40\n" + other + ",5\n");
    CHECK(front.movements(sku).back().at("reference") == "import-" + id);
    front.reserve({{sku, 7}}, {{"confirm", true}});

    auto const answer = undo(front, id);
    CHECK(outcome(answer) == "200");
    CHECK(answer.json().at("kept_back").empty());
    CHECK(answer.json().at("superseded").empty());
    CHECK(front.level_of(sku).on_hand == 3);
    CHECK(front.level_of(other).on_hand == 10);
    auto const last = front.movements(sku).back();
    CHECK(last.at("on_hand_delta") == -40);
    CHECK(last.at("reason") == "undone");
    CHECK(last.at("reference") == "import-" + id);

    auto const again = undo(front, id); // once only
    CHECK(outcome(again) == "200");
    CHECK(again.header("idempotent-replayed") == "true");
    CHECK(again.json() == answer.json());
    CHECK(front.level_of(sku).on_hand == 3);
    CHECK(front.audit_ok());
}

TEST_CASE("settings become what they were where nobody has changed them, and new items are paused")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(5, {{"name", "Tee"}, {"low_stock_at", 2}});
    auto const fresh = unique("NEW");
    auto const id = import(front, "set", sku + ",9,T-shirt,3,false\n" + fresh + ",4,Mug,,\n",
                           "sku,quantity,name,low_stock_at,on_sale");
    front.put_item(sku, {{"name", "Shirt"}});

    auto const undone = undo(front, id).json();
    CHECK(undone.at("kept_back") ==
          json::array({{{"sku", sku}, {"settings", json::array({"name"})}}}));
    auto const old = front.item_of(sku);
    CHECK(old.at("name") == "Shirt");
    CHECK(old.at("low_stock_at") == 2);
    CHECK(old.at("on_sale") == true);
    CHECK(old.at("on_hand") == 5);
    auto const made = front.item_of(fresh);
    CHECK(made.at("on_sale") == false);
    CHECK(made.at("on_hand") == 0);
    CHECK(made.at("name") == "Mug");
    CHECK(front.get("/v1/imports/" + id).json() == undone);
}

TEST_CASE("rows that cannot be undone are told by their place in the file, and nothing is")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    std::vector const skus{front.item(0), front.item(0), front.item(0)};
    auto const id = import(front, "add", skus[0] + ",5\n" + skus[1] + ",5\n" + skus[2] + ",5\n");
    front.reserve({{skus[0], 1}}, {{"confirm", true}});
    front.hold({{skus[2], 2}});
    auto const books = books_of(db);

    auto const refused = undo(front, id);
    CHECK(outcome(refused) == "409 would-go-negative");
    auto const errors = refused.json().at("errors");
    REQUIRE(errors.size() == 2);
    for (auto const& error : errors) {
        bool const is_first = error.at("row") == 2;
        CHECK(error.at("code") == (is_first ? "would-go-negative" : "would-be-short"));
        CHECK(error.at("sku") == (is_first ? skus[0] : skus[2]));
    }
    CHECK(pointers_in(refused).find("/rows/4") != std::string::npos);
    CHECK(books_of(db) == books);
    CHECK(front.get("/v1/imports/" + id).json().at("undone_at").is_null());

    front.adjust(skus[0], {{"delta", 1}, {"reason", "found"}});
    CHECK(outcome(undo(front, id)) == "409 would-be-short");
    CHECK(outcome(undo(front, id, {{"allow_short", true}})) == "200");
    CHECK(front.item_of(skus[2]).at("levels").at(0).at("short") == 2);
    CHECK(front.audit_ok());
}

TEST_CASE("a level that was counted or set to a number since is right without the undoing")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const count = [&](std::string const& sku, int found) {
        auto const one = "/v1/counts/" + id_of(front.post("/v1/counts", {{"name", "a"}}));
        json const entries = json::array({{{"sku", sku}, {"quantity", found}}});
        auto const entered = front.http().send({.method = "PUT",
                                                .target = one + "/entries",
                                                .body = json{{"entries", entries}}.dump(),
                                                .headers = {{"Idempotency-Key", unique("key")}}});
        CHECK(outcome(entered) == "200");
        return one + "/apply";
    };
    std::vector<std::string> skus;
    std::string rows;
    std::string const names = "abcdefgh";
    for (auto const name : names)
        skus.push_back(front.put_item(std::string(1, name) + unique("-s"), {{"on_hand", 10}})
                           .json()
                           .at("sku")
                           .get<std::string>());
    for (auto const& sku : skus)
        rows += sku + ",40\n";
    auto const begun = count(skus[6], 10); // what was counted before the import knows nothing of it
    auto const id = import(front, "add", rows);
    CHECK(outcome(front.post(begun, json::object())) == "200");

    CHECK(outcome(front.post(count(skus[0], 12), json::object())) == "200");
    CHECK(outcome(front.post(count(skus[1], 50), json::object())) == "200"); // as expected
    front.adjust(skus[2], {{"set_to", 9}, {"expect_on_hand", nullptr}, {"reason", "correction"}});
    import(front, "set", skus[3] + ",8\n" + skus[4] + ",50\n");
    auto const taken_back = import(front, "set", skus[5] + ",3\n" + skus[6] + ",50\n");
    CHECK(outcome(undo(front, taken_back)) == "200");
    front.adjust(skus[7], {{"delta", -1}, {"reason", "damaged"}}); // says nothing of the whole

    auto const undone = undo(front, id).json();
    json left = json::array();
    for (int i = 0; i < 5; ++i)
        left.push_back({{"row", i + 2}, {"sku", skus.at(i)}, {"location", "main"}});
    CHECK(undone.at("superseded") == left);
    std::vector<std::int64_t> on_hand;
    for (auto const& sku : skus)
        on_hand.push_back(front.level_of(sku).on_hand);
    CHECK(on_hand == std::vector<std::int64_t>{12, 50, 9, 8, 50, 10, 10, 9});
    CHECK(front.get("/v1/imports/" + id).json() == undone);
    CHECK(front.audit_ok());
}

TEST_CASE("items that undoing has paused are on sale again once they are imported again")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = unique("NEW");
    auto const stopped = unique("NEW");
    auto const touched = unique("NEW");
    auto const file = sku + ",4\n" + stopped + ",4\n" + touched + ",4\n";
    CHECK(outcome(undo(front, import(front, "set", file))) == "200");
    front.put_item(touched, {{"name", "Mug"}, {"on_sale", false}}); // is meant to be paused
    import(front, "add", sku + ",1\n");
    CHECK(front.item_of(sku).at("on_sale") == false);

    auto const mended = sku + ",5,\n" + stopped + ",5,false\n" + touched + ",5,\n";
    for (auto const* const mode : {"set&dry_run=true", "set"}) {
        auto const told = front.import_csv(mode, "sku,quantity,on_sale\n" + mended).json();
        REQUIRE(told.at("differences").size() == 3);
        CHECK(told.at("differences").at(0).at("settings") == json::array({"on_sale"}));
    }
    CHECK(front.item_of(sku).at("on_sale") == true);
    CHECK(front.item_of(stopped).at("on_sale") == false);
    CHECK(front.item_of(touched).at("on_sale") == false);

    // However often.
    auto const again = front.get("/v1/imports?limit=1").json().at("data").at(0).at("id");
    CHECK(outcome(undo(front, again.get<std::string>())) == "200");
    CHECK(front.item_of(sku).at("on_sale") == false);
    import(front, "set", sku + ",5\n");
    CHECK(front.item_of(sku).at("on_sale") == true);
}

TEST_CASE("a file that is sent again after its import was undone is told that it was")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1);
    auto const send = [&](std::string const& more) {
        return front.http().send(
            {.method = "POST",
             .target = "/v1/imports?mode=add" + more,
             .body = "sku,quantity\n" + sku + ",5\n",
             .headers = {{"Content-Type", "text/csv"}, {"Idempotency-Key", "delivery-10"}}});
    };
    auto const first = send("");
    CHECK(first.json().at("undone_at").is_null());
    CHECK(send("").json().at("undone_at").is_null());
    auto const undone = undo(front, id_of(first)).json();
    auto const again = send("");
    CHECK(again.header("idempotent-replayed") == "true");
    CHECK(again.json().at("undone_at") == undone.at("undone_at"));
    CHECK(front.level_of(sku).on_hand == 1);
}

TEST_CASE("imports that follow one another may be undone in any order")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const back = front.item(10);
    auto const spoken = front.item(10);
    auto const first = import(front, "set", sku + ",20\n" + back + ",20\n" + spoken + ",20\n");
    front.adjust(spoken, {{"set_to", 25}, {"expect_on_hand", 20}, {"reason", "correction"}});
    auto const second = import(front, "set", sku + ",30\n" + back + ",10\n" + spoken + ",30\n");
    auto const third = import(front, "add", sku + ",5\n");
    front.reserve({{sku, 1}}, {{"confirm", true}});

    CHECK(undo(front, first).json().at("superseded").size() == 3);
    CHECK(front.level_of(sku).on_hand == 34);
    CHECK(outcome(undo(front, second)) == "200");
    CHECK(front.level_of(sku).on_hand == 14);
    CHECK(front.level_of(back).on_hand == 10);
    CHECK(front.level_of(spoken).on_hand == 25); // what somebody has said
    CHECK(outcome(undo(front, third)) == "200");
    CHECK(front.level_of(sku).on_hand == 9); // of 10 one was sold
    CHECK(front.audit_ok());
}

TEST_CASE("imports are listed with who made them; a preview and a refused file are none")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(0);
    front.import_csv("set", "sku,quantity\n" + sku + ",x\n");
    front.import_csv("set&dry_run=true", "sku,quantity\n" + sku + ",1\n");
    auto const first = import(front, "set", sku + ",1\n");
    auto const second = import(front, "count", sku + ",2\n");
    auto const page = front.get("/v1/imports?limit=1").json();
    REQUIRE(page.at("data").size() == 1);
    CHECK(page.at("data").at(0).at("id") == second);
    CHECK(page.at("data").at(0).at("mode") == "count");
    auto const next = page.at("next_cursor").get<std::string>();
    auto const rest = front.get("/v1/imports?cursor=" + next).json();
    REQUIRE(rest.at("data").size() == 1);
    CHECK(rest.at("data").at(0).at("id") == first);
    CHECK(rest.at("data").at(0).at("changed") == 1);

    // The same file under the same key is the same import.
    auto const send = [&] {
        return front.http().send(
            {.method = "POST",
             .target = "/v1/imports?mode=add",
             .body = "sku,quantity\n" + sku + ",1\n",
             .headers = {{"Content-Type", "text/csv"}, {"Idempotency-Key", "delivery-9"}}});
    };
    CHECK(id_of(send()) == id_of(send()));

    db.session().run("UPDATE stock_import SET at = now() - interval '31 days'");
    CHECK(front.get("/v1/imports").json().at("data").empty());
    CHECK(outcome(undo(front, first)) == "404 not-found");
}

TEST_CASE("a large file is imported and undone as a small one is")
{
    constexpr std::size_t rows = 20'000;
    migrated_database const place;
    workbench bench(place);
    auto const run = [&](import_mode mode, std::string const& text) {
        auto const done = bench.imports.run(
            bench.link, {.key = new_key(), .actor = "x", .mode = mode, .csv = text});
        REQUIRE(word_of(done) == "ok");
        return done->value.id.value();
    };
    run(import_mode::set, large_file(rows, "1"));
    auto const id = run(import_mode::add, large_file(rows, "2"));
    auto const sum = [&] { return bench.sql.value("SELECT sum(on_hand) FROM stock_level"); };
    CHECK(sum() == "60000");
    CHECK(word_of(bench.imports.undo(bench.link, {id, {}})) == "ok");
    CHECK(sum() == "20000");
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("what imports changed is removed batch by batch once nobody can undo it any more")
{
    migrated_database const place;
    workbench bench(place);
    for (auto const* quantity : {"1", "2"})
        REQUIRE(word_of(bench.imports.run(
                    bench.link,
                    {.key = new_key(), .actor = "x", .csv = large_file(2500, quantity)})) == "ok");
    auto const rows = [&](std::string const& of) {
        return std::stoi(bench.sql.value("SELECT count(*) FROM " + of));
    };
    auto const sweep = workers::janitor({});
    (void)sweep(bench.link);
    CHECK(rows("stock_import_level") == 5000); // they may be undone yet
    bench.sql.run("UPDATE stock_import SET at = now() - interval '31 days'"
                  " WHERE id = (SELECT min(id::text)::uuid FROM stock_import)");
    for (int left = 5000; left > 2500;) {
        auto const progress = sweep(bench.link);
        auto const now = rows("stock_import_level");
        CHECK(left - now <= 1000); // in one step, so that it is short
        REQUIRE(now < left);
        left = now;
        CHECK((left == 2500 || progress == workers::progress::more_to_do));
    }
    while (sweep(bench.link) == workers::progress::more_to_do)
        CHECK(rows("stock_import") >= 1);
    CHECK(rows("stock_import") == 1);
    CHECK(rows("stock_import_level") == 2500);
    CHECK(rows("stock_import_item") == 0); // the second file changed no settings
}

TEST_CASE("more due holds than are expired in one round are all given back for whoever needs it")
{
    constexpr units holds = 520;
    static_assert(holds > static_cast<units>(expiry_batch_max));
    migrated_database const place;
    workbench bench(place);
    auto const due_level = [&](level_key const& at) {
        for (units i = 0; i < holds; ++i)
            (void)bench.hold(at, 1);
        bench.sql.run("WITH lapsed AS (UPDATE reservation SET expires_at = now() - interval '1 s'"
                      " WHERE state = 'held' RETURNING id, expires_at)"
                      " UPDATE reservation_line l SET held_until = lapsed.expires_at FROM lapsed"
                      " WHERE l.reservation_id = lapsed.id");
    };
    auto const import = [&](level_key const& at, import_mode mode, units quantity) {
        auto const text = "sku,quantity\n" + at.sku.str() + ',' + std::to_string(quantity) + '\n';
        return bench.imports.run(bench.link,
                                 {.key = new_key(), .actor = "x", .mode = mode, .csv = text});
    };
    auto const corrected = bench.item(holds);
    due_level(corrected);
    auto loss = correction_of(corrected);
    loss.delta = -holds;
    CHECK(word_of(bench.adjustments.adjust(bench.link, loss)) == "ok");
    CHECK(bench.row(corrected).on_hand == 0);
    CHECK(bench.row(corrected).reserved == 0);

    auto const set = bench.item(holds);
    due_level(set);
    CHECK(word_of(import(set, import_mode::set, 0)) == "ok");
    CHECK(bench.row(set).on_hand == 0);
    CHECK(bench.row(set).reserved == 0);

    auto const undone = bench.item(0);
    auto const id = import(undone, import_mode::add, holds)->value.id.value();
    due_level(undone);
    CHECK(word_of(bench.imports.undo(bench.link, {id, {}})) == "ok");
    CHECK(bench.row(undone).on_hand == 0);
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("every fault of a file has a code that the OpenAPI document knows")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(5);
    front.hold({{sku, 2}});
    std::string const head = "sku,quantity\n";
    std::string const too_long(10'001, 'x');
    std::vector<std::pair<std::string, std::string>> const files{
        {"PK\x03\x04", "not-csv"},
        {"", "file-empty"},
        {"sku,quantity,name\nA,1,\xFF\n", "not-utf-8"},
        {std::string(300, ',') + '\n', "too-many-columns"},
        {"sku\nA\n", "column-missing"},
        {"sku,quantity,colour\nA,1,x\n", "column-unknown"},
        {"sku,quantity,SKU\nA,1,x\n", "column-repeated"},
        {"sku,quantity,\nA,1,x\n", "column-unnamed"},
        {head + "A\n", "field-count"},
        {"sku,quantity,name\nA,1," + too_long + '\n', "field-too-long"},
        {head + "A\"B,1\n", "quote-misplaced"},
        {head + "\"A,1\n", "quote-unclosed"},
        {head + "A,1\rB,2\n", "line-end"},
        {head + "A,\n", "value-missing A"},
        {head + " A,1\n", "sku-invalid"},
        {"sku,quantity,location\nA,1,B!\n", "location-invalid A"},
        {"sku,quantity,name\nA,1,\x01\n", "name-invalid A"},
        {head + "A,many\n", "number-invalid A"},
        {"sku,quantity,on_sale\nA,1,perhaps\n", "flag-invalid A"},
        {head + "A,1\nA,1\n", "row-repeated A"},
        {"sku,quantity,location,name\nA,1,a,x\nA,1,b,y\n", "settings-differ A"},
        {head + sku + ",1\n", "would-be-short " + sku}};
    std::set<std::string> unseen{"too-many-rows"};
    auto const schemas = front.get("/openapi.json").json().at("components").at("schemas");
    for (auto const& code : schemas.at("FileFaultCode").at("enum"))
        unseen.insert(code.get<std::string>());
    for (auto const& [text, told] : files) {
        auto const refused = front.import_csv("set", text);
        CAPTURE(told);
        REQUIRE(outcome(refused) == "400 validation-failed");
        auto const error = refused.json().at("errors").at(0);
        auto const code = error.at("code").get<std::string>();
        CHECK((error.contains("sku") ? code + ' ' + error.at("sku").get<std::string>() : code) ==
              told);
        CHECK((unseen.erase(code) == 1 || code == "would-be-short"));
    }
    CHECK(unseen == std::set<std::string>{"too-many-rows"}); // a million of them
    auto const unknown = front.import_csv("add", head + "NEVER,1\n").json().at("errors").at(0);
    CHECK(unknown.at("code") == "unknown-sku");
    CHECK(unknown.at("sku") == "NEVER");
}

// Each statement has the seconds that every statement has: they are done in a tenth of one, and
// took a minute when PostgreSQL went by the index of trigrams.
TEST_CASE("ten thousand items are found while nothing is known about a table that has grown")
{
    migrated_database const place;
    workbench bench(place);
    bench.sql.run("ALTER TABLE item SET (autovacuum_enabled = off)");
    bench.sql.run("INSERT INTO item (sku, name)"
                  " SELECT 'GROWN-' || n, 'Item ' || n FROM generate_series(1, 10000) AS n");
    std::vector<std::string> skus{"GROWN-1", "NEVER"}; // one is named twice, one is not there
    for (int i = 1; i <= 10'000; ++i)
        skus.push_back("GROWN-" + std::to_string(i));
    auto const found =
        db::transact(bench.link, [&](db::transaction& tx) { return db::items::by_skus(tx, skus); });
    auto const locked =
        db::transact(bench.link, [&](db::transaction& tx) { return db::items::lock(tx, skus); });
    REQUIRE(found.size() == 10'000);
    CHECK(found == locked);
    CHECK(found.front().sku == "GROWN-1");
    CHECK(found.back().sku == "GROWN-9999");
}

TEST_CASE(
    "who undoes at the same time as others undoes once, and due holds do not stand in the way")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(0);
    auto const text = "sku,quantity\n" + at.sku.str() + ",5\n";
    auto const id =
        bench.imports
            .run(bench.link,
                 {.key = new_key(), .actor = "x", .mode = import_mode::add, .csv = text})
            ->value.id.value();
    bench.let_lapse(bench.hold(at, 5));
    auto const answers = run_together(4, [&](std::size_t) {
        workbench desk(place);
        return word_of(desk.imports.undo(desk.link, {id, {}}));
    });
    for (auto const& answer : answers)
        CHECK(answer == "ok");
    CHECK(bench.row(at).on_hand == 0);
    CHECK(bench.audit_findings() == "");
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// `holdfast import` and `holdfast export` with files as people really have them.
#include "tests/cli/command.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/tcp_gate.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

command_result ask(service_process const& service, std::vector<std::string> arguments,
                   std::string input = {})
{
    return run_holdfast(command_options{
        .arguments = std::move(arguments),
        .environment = {{"HOLDFAST_URL", service.url()}, {"HOLDFAST_KEY", service.admin_key()}},
        .input = std::move(input)});
}

command_result import(service_process const& service, std::string const& file,
                      std::string const& mode, std::vector<std::string> more = {})
{
    more.insert(more.begin(), {"import", file, "--mode", mode});
    return ask(service, std::move(more));
}

std::string csv_of(int rows)
{
    std::string csv = "sku,quantity,location,name\n";
    for (int i = 0; i < rows; ++i)
        csv += "ROW-" + std::to_string(i) + ',' + std::to_string(i % 100) + ",main,Item " +
               std::to_string(i) + '\n';
    return csv;
}

} // namespace

TEST_CASE("a delivery that was undone is not called applied, and --again adds it anew")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    temporary_directory const place;
    auto const sku = front.item(1);
    auto const delivery = place.file("delivery.csv", "sku,quantity\n" + sku + ",5\n");
    CHECK(import(service, delivery, "add").status == 0);
    auto const id = front.get("/v1/imports?limit=1").json().at("data").at(0).at("id");
    front.post("/v1/imports/" + id.get<std::string>() + "/undo", json::object());
    auto const again = import(service, delivery, "add");
    CHECK(has(again.out, "undone at"));
    CHECK(has(again.out, "--again applies it anew"));
    CHECK(front.level_of(sku).on_hand == 1);
    CHECK(import(service, delivery, "add", {"--again"}).status == 0);
    CHECK(front.level_of(sku).on_hand == 6);
}

TEST_CASE("set, add and count each do what they say, and a dry run only shows it")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    temporary_directory const place;
    auto const first = place.file("first.csv", "sku,quantity,name\nTEE-M,10,Tee\nTEE-L,20,Tee\n");

    auto const dry = import(service, first, "set", {"--dry-run"});
    CHECK(dry.status == 0);
    CHECK(has(dry.out, "2 rows: 2 created, 0 changed, 0 unchanged"));
    CHECK(has(dry.out, "nothing was written"));
    CHECK(front.get("/v1/stock/TEE-M").status == 404);

    CHECK(import(service, first, "set").status == 0);
    CHECK(front.level_of("TEE-M").on_hand == 10);
    auto const again = import(service, first, "set");
    CHECK(has(again.out, "2 rows: 0 created, 0 changed, 2 unchanged"));

    // A delivery that is booked twice by mistake is one delivery; --again says it is another.
    auto const delivery = place.file("delivery.csv", "sku,quantity\nTEE-M,5\n");
    CHECK(import(service, delivery, "add").status == 0);
    CHECK(front.level_of("TEE-M").on_hand == 15);
    auto const twice = import(service, delivery, "add");
    CHECK(twice.status == 0);
    CHECK(has(twice.out, "already applied"));
    CHECK(front.level_of("TEE-M").on_hand == 15);
    CHECK(import(service, delivery, "add", {"--again"}).status == 0);
    CHECK(front.level_of("TEE-M").on_hand == 20);

    front.hold({{"TEE-M", 6}});
    auto const counted = place.file("count.csv", "sku,quantity\nTEE-M,4\n");
    auto const too_few = import(service, counted, "set");
    CHECK(too_few.status == 1);
    CHECK(has(too_few.err, "6 units are reserved"));
    CHECK(front.level_of("TEE-M").on_hand == 20);
    for (auto const& more : std::vector<std::vector<std::string>>{{"--dry-run"}, {}}) {
        auto const believed = import(service, counted, "count", more);
        CHECK(believed.status == 0);
        CHECK(has(believed.out, "2 short"));
    }
    CHECK(front.level_of("TEE-M").on_hand == 4);

    auto const renamed =
        place.file("settings.csv", "sku,quantity,name,on_sale\nTEE-L,20,Long tee,FALSE\n");
    CHECK(has(import(service, renamed, "set", {"--dry-run"}).out, "name, on_sale"));
    CHECK(import(service, renamed, "set").status == 0);
    CHECK(front.get("/v1/stock/TEE-L").json().at("on_sale") == false);

    auto const report =
        ask(service, {"import", "-", "--mode", "add", "--json"}, "sku,quantity\nTEE-L,1\n");
    CHECK(report.status == 0);
    CHECK(json::parse(report.out).at("changed") == 1);
    CHECK(front.level_of("TEE-L").on_hand == 21);
    CHECK(front.audit_ok());
}

TEST_CASE("what a stocktake leaves short are promises that still stand")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    front.hold({{sku, 3}});
    front.wait_until_expired(front.hold({{sku, 6}}, {{"ttl_seconds", 1}}));
    auto const counted = "sku,quantity\n" + sku + ",2\n";
    for (auto const& more : std::vector<std::vector<std::string>>{{"--dry-run"}, {}}) {
        std::vector<std::string> command{"import", "-", "--mode", "count", "--json"};
        command.insert(command.end(), more.begin(), more.end());
        auto const answer = ask(service, command, counted);
        CAPTURE(answer.err);
        REQUIRE(answer.status == 0);
        CHECK(json::parse(answer.out).at("differences").at(0).at("short") == 1);
    }
    CHECK(front.item_of(sku).at("levels").at(0).at("short") == 1);
    CHECK(front.audit_ok());
}

TEST_CASE("a dry run waits for nobody, and nobody waits for it")
{
    database const db;
    service_process const service(
        {.database_url = db.connection_string(), .arguments = {"--sweep-interval-ms", "0"}});
    shop front(service);
    temporary_directory const place;
    auto const sku = front.item(10);
    auto const file = place.file("catalogue.csv", "sku,quantity\n" + sku + ",5\n");
    // A hold whose time has passed does not count, and a dry run does not clear it away.
    auto const brief = front.hold({{sku, 6}}, {{"ttl_seconds", 1}});
    front.wait_until_expired(brief);

    // As somebody does who is in the middle of a sale.
    auto sale = db.session();
    sale.run("BEGIN");
    sale.run("UPDATE item SET updated_at = now() WHERE sku = $1", {sku});
    sale.run("UPDATE stock_level SET version = version WHERE sku = $1", {sku});
    auto const dry = import(service, file, "set", {"--dry-run", "--json"});
    CAPTURE(dry.err);
    REQUIRE(dry.status == 0);
    auto const report = json::parse(dry.out);
    CHECK(report.at("changed") == 1);
    CHECK(report.at("differences").at(0).at("on_hand_before") == 10);
    CHECK(report.at("differences").at(0).at("on_hand_after") == 5);
    CHECK(sale.value("SELECT state FROM reservation WHERE id = $1::uuid", {brief}) == "held");
    sale.run("ROLLBACK");

    CHECK(import(service, file, "set").status == 0);
    CHECK(front.level_of(sku) == level{.on_hand = 5, .reserved = 0, .available = 5});
    CHECK(front.audit_ok());
}

TEST_CASE("what is wrong with a file is told by its row and column, and nothing of it is taken")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    temporary_directory const place;
    auto const bad = place.file("bad.csv", "sku,quantity,location,on_sale\n"
                                           "GOOD,1,main,true\n"
                                           "BAD-1,many,main,true\n"
                                           "\"BAD\n2\",1,main,true\n"
                                           "BAD-3,1,Paris!,perhaps\n"
                                           "GOOD,2,main,true\n");

    auto const refused = import(service, bad, "set");
    CHECK(refused.status == 1);
    for (std::string const place_and_column :
         {"3: quantity: ", "4: sku: ", "6: location: ", "6: on_sale: ", "7: sku: "}) {
        CAPTURE(place_and_column);
        CAPTURE(refused.err);
        CHECK(has(refused.err, place_and_column));
    }
    CHECK(has(refused.err, "nothing was imported"));
    CHECK(front.get("/v1/stock").json().at("data").empty());

    auto const unknown = place.file("unknown.csv", "sku,quantity\nNEVER,1\n");
    auto const added = import(service, unknown, "add");
    CHECK(added.status == 1);
    CHECK(has(added.err, "2: sku: "));

    // Where there is no answer to judge, the status is another one.
    CHECK(import(service, (place.path() / "missing.csv").string(), "set").status == 2);
    CHECK(import(service, place.path().string(), "set").status == 2);
    CHECK(run_holdfast({"import", bad, "--mode", "set", "--url", service.url(), "--key",
                        "nobodys-key-0123456789"})
              .status == 2);
    CHECK(run_holdfast({"import", bad, "--mode", "set", "--url", "http://127.0.0.1:1", "--key",
                        service.admin_key()})
              .status == 2);
    CHECK(front.audit_ok());
}

TEST_CASE("files of spreadsheets are read as they come")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    temporary_directory const place;
    std::vector<std::string> const files{
        "\xEF\xBB\xBFsku;quantity;name\r\nA;1;\"caf\u00E9; noir\"\r\nB;2;\"5\"\" disc\"\r\n",
        "name,quantity,sku\n\"caf\u00E9; noir\",1,A\n\"5\"\" disc\",2,B",
        "\"sku\",\"name\",\"quantity\"\r\n\"A\",\"caf\u00E9; noir\",\"1\"\r\n"
        "\"B\",\"5\"\" disc\",\"2\"\r\n\r\n",
    };
    for (std::size_t i = 0; i < files.size(); ++i) {
        CAPTURE(i);
        auto const file = place.file(std::to_string(i) + ".csv", files[i]);
        auto const done = import(service, file, "set");
        CAPTURE(done.err);
        CHECK(done.status == 0);
        // They all say the same, so only the first changes anything.
        CHECK(has(done.out, i == 0 ? "2 rows: 2 created" : "2 rows: 0 created, 0 changed"));
    }
    CHECK(front.item_of("A").at("name") == "caf\u00E9; noir");
    CHECK(front.item_of("B").at("name") == "5\" disc");
    CHECK(front.level_of("B").on_hand == 2);
}

TEST_CASE("what is exported can be imported again, and nothing changes")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    temporary_directory const place;
    std::vector<std::string> const skus{
        "plain",      "with, comma", "with \"quotes\"", "=1+1", "-5",   "00012", "caf\u00E9",
        "\U0001F9E6", "a/b",         "semi;colon",      "null", "#hash"};
    for (auto const& sku : skus)
        REQUIRE(front
                    .put_item(sku, {{"on_hand", 7},
                                    {"name", "Name of \"" + sku + "\", new"},
                                    {"low_stock_at", 3},
                                    {"max_per_customer", 2},
                                    {"on_sale", sku != "plain"}})
                    .status == 201);
    REQUIRE(
        front.adjust("plain", {{"delta", 4}, {"location", "cellar"}, {"reason", "found"}}).status ==
        201);
    REQUIRE(front.put_item("bare", json::object()).status == 201);
    for (int i = 0; i < 450; ++i) // more than one page of a list
        REQUIRE(front.put_item("bulk-" + std::to_string(i), {{"on_hand", i}}).status == 201);
    front.hold({{"00012", 1}}, {{"customer", "greta"}});

    auto const to_screen = ask(service, {"export"});
    CHECK(to_screen.status == 0);
    auto const file = (place.path() / "all.csv").string();
    CHECK(ask(service, {"export", "--output", file}).status == 0);
    CHECK(text_of_file(file) == to_screen.out);
    auto const rows = std::count(to_screen.out.begin(), to_screen.out.end(), '\n');
    CHECK(rows == static_cast<std::ptrdiff_t>(skus.size()) + 1 + 1 + 450 + 1);

    auto const before = db.session().value("SELECT string_agg(i::text, E'\\n' ORDER BY sku)"
                                           "  FROM item i");
    auto const movements = db.session().value("SELECT count(*) FROM movement");
    auto const back = import(service, file, "set");
    CAPTURE(back.err);
    CHECK(back.status == 0);
    CHECK(has(back.out, "0 created, 0 changed, " + std::to_string(rows - 1) + " unchanged"));
    CHECK(db.session().value("SELECT string_agg(i::text, E'\\n' ORDER BY sku) FROM item i") ==
          before);
    CHECK(db.session().value("SELECT count(*) FROM movement") == movements);

    // And an empty shop becomes the same shop.
    database const other_db;
    service_process const other({.database_url = other_db.connection_string()});
    CHECK(import(other, file, "set").status == 0);
    CHECK(ask(other, {"export"}).out == to_screen.out);
    CHECK(shop(other).audit_ok());
}

TEST_CASE("ten thousand rows are in, and again")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    temporary_directory const place;
    auto const file = place.file("large.csv", csv_of(10'000));

    auto const done = import(service, file, "set");
    CHECK(done.status == 0);
    CHECK(has(done.out, "10000 rows: 10000 created"));
    CHECK(done.err == ""); // no progress where no terminal is
    auto const again = import(service, file, "set");
    CHECK(has(again.out, "0 changed, 10000 unchanged"));
    CHECK(shop(service).audit_ok());
}

// A clock says little on a machine that others use as well. What makes a large file slow is to ask
// the database about every row: an import speaks to it in a few statements, however long it is,
// which travel in pieces of some kilobytes.
TEST_CASE("ten thousand rows are not ten thousand questions to the database")
{
    migrated_database const place;
    std::atomic<int> pieces = 0; // of what is said to the database
    tcp_gate gate(place.connection_string());
    gate.before_each_message([&] { ++pieces; });
    workbench bench(place, {.connection_string = gate.connection_string()});
    auto const csv = csv_of(10'000);
    for (std::size_t const created : {10'000, 0}) {
        CAPTURE(created);
        pieces = 0;
        auto const done =
            bench.imports.run(bench.link, {.key = new_key(csv), .actor = "clerk", .csv = csv});
        REQUIRE(word_of(done) == "ok");
        CHECK(done->value.created == created);
        CHECK(done->value.rows == 10'000);
        CHECK(pieces < 2'000); // two for each row, or one, would be more by far
    }
    CHECK(bench.audit_findings() == "");
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// The commands of the real binary, as a shop's keeper types them: what they print, what they do,
// and the status a script goes by.
#include "tests/cli/command.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

// A command for people who keep the server.
command_result keep(database const& db, std::vector<std::string> arguments)
{
    return run_holdfast(
        command_options{.arguments = std::move(arguments),
                        .environment = {{"HOLDFAST_DATABASE_URL", db.connection_string()}}});
}

// A command that goes over HTTP.
command_result ask(service_process const& service, std::vector<std::string> arguments,
                   std::string input = {})
{
    return run_holdfast(command_options{
        .arguments = std::move(arguments),
        .environment = {{"HOLDFAST_URL", service.url()}, {"HOLDFAST_KEY", service.admin_key()}},
        .input = std::move(input)});
}

// The id that `key list` shows beside a name.
std::string id_in_list(std::string const& list, std::string_view name)
{
    std::istringstream lines(list);
    for (std::string line; std::getline(lines, line);)
        if (has(line, name)) {
            std::istringstream words(line);
            std::string id;
            words >> id;
            return id;
        }
    return "";
}

} // namespace

TEST_CASE("the program says what it is, what it can do, and what it did not understand")
{
    auto const version = run_holdfast({"--version"});
    CHECK(version.status == 0);
    CHECK(has(version.out, "0."));
    auto const help = run_holdfast({"--help"});
    CHECK(help.status == 0);
    for (std::string const command : {"serve", "migrate", "key", "import", "export", "drill",
                                      "audit", "doctor", "health", "settings"}) {
        CAPTURE(command);
        CHECK(has(help.out, command));
        CHECK(run_holdfast({command, "--help"}).status == 0);
    }
    for (std::vector<std::string> const& wrong : std::vector<std::vector<std::string>>{
             {},
             {"sell"},
             {"serve", "--nonsense"},
             {"serve", "left", "over"},
             {"key"},
             {"key", "create"},
             {"key", "create", "--role", "king", "--name", "N"},
             {"key", "revoke", "one"},
             {"import"},
             {"import", "f.csv", "--mode", "replace"},
             {"drill", "--sku", "A"},
             {"drill", "--sku", "A", "--requests", "many", "--clients", "1"}}) {
        auto const told = run_holdfast(wrong);
        CHECK(told.status == 2);
        CHECK_FALSE((told.out + told.err).empty());
    }
}

TEST_CASE("a word that is no command is named, wherever it stands")
{
    struct {
        std::vector<std::string> typed;
        std::string told;
    } const cases[]{{{"frob"}, "holdfast has no command or option frob\n"},
                    {{"frob", "--data", "D"}, "holdfast has no command or option frob\n"},
                    {{"stock", "frob"}, "holdfast stock has no command or option frob\n"},
                    {{"stock", "frob", "SKU"}, "holdfast stock has no command or option frob\n"},
                    {{"key", "--frob"}, "holdfast key has no command or option --frob\n"}};
    for (auto const& each : cases) {
        CAPTURE(each.told);
        auto const answer = run_holdfast(each.typed);
        CHECK(answer.status == 2);
        CHECK(has(answer.err, each.told));
        CHECK_FALSE(has(answer.err, "is required"));
    }
    CHECK(has(run_holdfast({"stock"}).err, "A subcommand is required"));
}

TEST_CASE("who cannot reach a database says so and makes none, and 1 stays the word for bad news")
{
    temporary_directory const place;
    auto const mistyped = (place.path() / "dta").string();
    std::vector<std::vector<std::string>> const commands{
        {"audit"},
        {"migrate"},
        {"key", "list"},
        {"key", "create", "--role", "shop", "--name", "till"}};
    for (auto command : commands) {
        CAPTURE(command.front());
        auto nowhere = command;
        nowhere.insert(nowhere.end(), {"--data", mistyped});
        auto const none = run_holdfast(nowhere);
        CHECK(none.status == 2);
        CHECK(has(none.err, "There is no database in " + mistyped));
        CHECK_FALSE(std::filesystem::exists(mistyped));

        auto const refused = run_holdfast(command_options{
            .arguments = command,
            .environment = {{"HOLDFAST_DATABASE_URL", "postgresql://u:hidden@127.0.0.1:1/x"}}});
        CHECK(refused.status == 2);
        CHECK(has(refused.err, "Connection refused"));
        CHECK_FALSE(has(refused.err, "hidden"));
    }
    auto const doctor = run_holdfast({"doctor", "--data", mistyped});
    CHECK(doctor.status == 1);
    CHECK(has(doctor.out, "There is no database in"));
    CHECK_FALSE(std::filesystem::exists(mistyped));
}

TEST_CASE("settings that cannot be meant stop the start with a sentence")
{
    temporary_directory const place;
    auto const key_file = place.file("key", "a-key-of-sixteen-or-more\n");
    auto const toml = [&](std::string const& name, std::string const& text) {
        return std::vector<std::string>{"--config", place.file(name, text)};
    };
    struct {
        std::vector<std::string> arguments;
        header_list environment;
        std::vector<std::string> told;
    } const cases[]{
        {toml("1.toml", "hold_ttl_second = 60\n"),
         {},
         {"hold_ttl_second", "did you mean hold_ttl_seconds"}},
        {toml("2.toml", "hold_ttl_seconds = 0\n"), {}, {"hold_ttl_seconds", "1", "604800"}},
        {toml("3.toml", "hold_ttl_seconds = \"60\"\n"), {}, {"hold_ttl_seconds", "quotes"}},
        {toml("4.toml", "hold_ttl_seconds = \n"), {}, {"not valid TOML"}},
        {{"--config", (place.path() / "nothing.toml").string()}, {}, {"nothing.toml"}},
        {{"--hold-ttl-seconds", "604801"}, {}, {"hold_ttl_seconds", "604800"}},
        {{}, {{"HOLDFAST_HOLD_TTL_SECONDS", "soon"}}, {"HOLDFAST_HOLD_TTL_SECONDS"}},
        {{"--strategy", "hope"}, {}, {"conditional_update", "optimistic", "row_lock"}},
        {{}, {{"HOLDFAST_LISTEN", "8080"}}, {"HOLDFAST_LISTEN"}},
        {{"--lock-timeout-ms", "9000", "--statement-timeout-ms", "1000"}, {}, {"lock_timeout_ms"}},
        {{"--database-sessions", "0", "--io-threads", "99"},
         {},
         {"database_sessions", "io_threads"}},
        {{},
         {{"HOLDFAST_ADMIN_KEY", "a-key-of-sixteen-or-more"},
          {"HOLDFAST_ADMIN_KEY_FILE", key_file}},
         {"admin_key", "HOLDFAST_ADMIN_KEY_FILE"}},
        {{}, {{"HOLDFAST_ADMIN_KEY", "short-secret"}}, {"admin_key"}},
        {{}, {{"HOLDFAST_ADMIN_KEY_FILE", (place.path() / "no-key").string()}}, {"ADMIN_KEY_FILE"}},
    };
    for (auto const& [arguments, environment, told] : cases) {
        auto all = arguments;
        all.insert(all.begin(), {"serve", "--data", (place.path() / "data").string()});
        auto const began = std::chrono::steady_clock::now();
        auto const refused =
            run_holdfast(command_options{.arguments = all, .environment = environment});
        CAPTURE(refused.err);
        CHECK(refused.status == 2);
        CHECK(std::chrono::steady_clock::now() - began < 20s);
        for (auto const& part : told)
            CHECK(has(refused.err, part));
        // No secret, and nothing was begun.
        CHECK_FALSE(has(refused.err + refused.out, "a-key-of-sixteen"));
        CHECK_FALSE(has(refused.err + refused.out, "short-secret"));
        CHECK_FALSE(std::filesystem::exists(place.path() / "data"));
    }
}

TEST_CASE("the schema is applied once, and again does nothing")
{
    database const db;
    auto const first = keep(db, {"migrate"});
    CHECK(first.status == 0);
    CHECK(has(first.out, "0001"));
    auto const second = keep(db, {"migrate"});
    CHECK(second.status == 0);
    CHECK(has(second.out, "up to date"));
    CHECK_FALSE(has(second.out, "0001"));
    service_process const service({.database_url = db.connection_string()});
    CHECK(shop(service).audit_ok());

    auto const nowhere = run_holdfast(command_options{
        .arguments = {"migrate"},
        .environment = {{"HOLDFAST_DATABASE_URL", "postgresql://127.0.0.1:1/none"}}});
    CHECK(nowhere.status != 0);
    CHECK(nowhere.status < 128);
    CHECK_FALSE(nowhere.err.empty());
}

TEST_CASE("a key is shown once, works at once, is listed without its secret, and can be revoked")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto const made = keep(db, {"key", "create", "--role", "shop", "--name", "till two"});
    CHECK(made.status == 0);
    // Alone on its line, so that a script can take it as it is.
    REQUIRE(made.out.find('\n') == made.out.size() - 1);
    auto const key = made.out.substr(0, made.out.size() - 1);
    CHECK(key.size() >= 32);
    CHECK(key.find(' ') == std::string::npos);
    CHECK(create_key(db.connection_string(), "shop", "till three") != key);

    http_client till(service.port(), key);
    CHECK(till.send({.target = "/v1/stock"}).status == 200);
    auto const list = keep(db, {"key", "list"});
    CHECK(list.status == 0);
    CHECK(has(list.out, "till two"));
    CHECK(has(list.out, "till three"));
    CHECK_FALSE(has(list.out, key));
    // Not even the database knows it.
    CHECK(db.session().value("SELECT count(*) FROM api_key WHERE hash = convert_to($1, 'UTF8')"
                             " OR position($1 IN api_key::text) > 0",
                             {key}) == "0");

    auto const id = id_in_list(list.out, "till two");
    CHECK(keep(db, {"key", "revoke", id}).status == 0);
    CHECK(eventually(15s, [&] { return till.send({.target = "/v1/stock"}).status == 401; }));
    CHECK(has(keep(db, {"key", "list"}).out, "revoked"));
    auto const again = keep(db, {"key", "revoke", id});
    CHECK(again.status == 1);
    CHECK(has(again.out + again.err, "no active key"));
    CHECK(keep(db, {"key", "revoke", "999999"}).status == 1);
    CHECK(keep(db, {"key", "create", "--role", "shop", "--name", ""}).status != 0);
}

TEST_CASE("the audit ends with 0 when all is well, and with 1 and the offender when it is not")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    front.confirm(front.hold({{sku, 3}}));
    front.hold({{sku, 2}});
    auto sql = db.session();

    auto const good = keep(db, {"audit"});
    CHECK(good.status == 0);
    CHECK(has(good.out, "0 violations"));
    auto const report = json::parse(keep(db, {"audit", "--json"}).out);
    CHECK(report.at("ok") == true);
    CHECK(report.at("checked") > 0);
    CHECK(report.at("violations").empty());

    // Each of these passes the constraints of the schema, and none passes the audit.
    for (auto const& [each_damage, repair] : std::vector<std::pair<std::string, std::string>>{
             {"UPDATE stock_level SET on_hand = on_hand + 1 WHERE sku = $1",
              "UPDATE stock_level SET on_hand = on_hand - 1 WHERE sku = $1"},
             {"UPDATE stock_level SET reserved = reserved - 1 WHERE sku = $1",
              "UPDATE stock_level SET reserved = reserved + 1 WHERE sku = $1"},
             {"UPDATE stock_level SET version = version + 1 WHERE sku = $1",
              "UPDATE stock_level SET version = version - 1 WHERE sku = $1"},
             {"UPDATE reservation_line SET confirmed = confirmed - 1 WHERE sku = $1"
              " AND confirmed > 0",
              "UPDATE reservation_line SET confirmed = confirmed + 1 WHERE sku = $1"
              " AND confirmed > 0"}}) {
        auto const& damage = each_damage;
        CAPTURE(damage);
        sql.run(damage, {sku});
        auto const bad = keep(db, {"audit"});
        CHECK(bad.status == 1);
        CHECK(has(bad.out, sku));
        auto const bad_json = keep(db, {"audit", "--json"});
        CHECK(bad_json.status == 1);
        auto const told = json::parse(bad_json.out);
        CHECK(told.at("ok") == false);
        REQUIRE_FALSE(told.at("violations").empty());
        CHECK(told.at("violations").at(0).at("sku") == sku);
        CHECK(front.get("/v1/audit").json().at("ok") == false);
        sql.run(repair, {sku});
        CHECK(keep(db, {"audit"}).status == 0);
    }
    // A drill next to a broken number does not pass either.
    sql.run("UPDATE stock_level SET version = version + 1 WHERE sku = $1", {sku});
    auto const drill =
        ask(service, {"drill", "--sku", front.item(5), "--requests", "10", "--clients", "2"});
    CHECK(drill.status == 1);
    CHECK(has(drill.out, "NOT PASSED"));
}

TEST_CASE("the doctor finds nothing where all is well, and names the cure where it is not")
{
    {
        service_process const service; // on a private cluster with its durable settings
        auto const well = run_holdfast({"doctor", "--data", service.data_directory().string()});
        CAPTURE(well.out);
        CHECK(well.status == 0);
        CHECK(has(well.out, "PostgreSQL 15"));
        CHECK(has(well.out, "schema is up to date"));
        CHECK_FALSE(has(well.out, "FAIL"));
        // Commands beside a running service find its database by themselves.
        CHECK(run_holdfast({"audit", "--data", service.data_directory().string()}).status == 0);
    }
    // The databases of tests do not wait for the disk, which no shop should put up with.
    database const db;
    auto const hasty = keep(db, {"doctor"});
    CHECK(hasty.status == 1);
    CHECK(has(hasty.out, "fsync is off"));
    CHECK(has(hasty.out, "ALTER SYSTEM SET fsync = on"));
    CHECK(has(hasty.out, "holdfast migrate"));

    auto const nowhere = run_holdfast(command_options{
        .arguments = {"doctor"},
        .environment = {{"HOLDFAST_DATABASE_URL", "postgresql://127.0.0.1:1/none"}}});
    CHECK(nowhere.status == 1);
    CHECK(has(nowhere.out, "FAIL"));
    CHECK(has(nowhere.out, "HOLDFAST_DATABASE_URL"));
}

TEST_CASE("health ends with 0 when the service is ready, and with 1 when it is not there")
{
    database const db;
    std::string url;
    {
        service_process const service({.database_url = db.connection_string()});
        url = service.url();
        CHECK(run_holdfast({"health", "--url", url}).status == 0);
    }
    auto const gone = run_holdfast({"health", "--url", url});
    CHECK(gone.status == 1);
    CHECK(has(gone.out + gone.err, "not ready"));
}

TEST_CASE("a drill ends with the verdict a script needs")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);

    // 200 clients on 100 units, whatever the strategy.
    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        auto const sku = front.item(100, {{"strategy", strategy}});
        auto const drill = ask(
            service, {"drill", "--sku", sku, "--requests", "200", "--clients", "200", "--json"});
        CAPTURE(drill.err);
        CHECK(drill.status == 0);
        auto const verdict = json::parse(drill.out);
        CHECK(verdict.at("succeeded") == 100);
        CHECK(verdict.at("refused") == 100);
        CHECK(verdict.at("failed") == 0);
        CHECK(verdict.at("oversold") == 0);
        CHECK(verdict.at("audit").at("ok") == true);
        for (std::string const name : {"p50_ms", "p90_ms", "p99_ms", "p999_ms", "max_ms", "rps"})
            CHECK(verdict.at(name) > 0);
        CHECK(front.level_of(sku) == level{.on_hand = 100, .reserved = 100, .available = 0});
    }

    // At a rate: as many as were due, over the time they were due in.
    auto const at_a_rate = front.item(50);
    auto const began = std::chrono::steady_clock::now();
    auto const open = ask(service, {"drill", "--sku", at_a_rate, "--requests", "200", "--clients",
                                    "20", "--rate", "100", "--json"});
    CHECK(open.status == 0);
    CHECK(std::chrono::steady_clock::now() - began >= 1900ms);
    auto const verdict = json::parse(open.out);
    CHECK(verdict.at("rate") == 100);
    CHECK(verdict.at("succeeded") == 50);
    CHECK(verdict.at("refused") == 150);

    // Several units each, given back afterwards; in words, with a progress line beside them.
    auto const lent = front.item(100);
    auto const words = ask(service, {"drill", "--sku", lent, "--requests", "60", "--clients", "10",
                                     "--quantity", "3", "--release"});
    CHECK(words.status == 0);
    CHECK(has(words.out, "PASSED"));
    CHECK_FALSE(has(words.out, "NOT PASSED"));
    CHECK(front.level_of(lent) == level{.on_hand = 100, .reserved = 0, .available = 100});

    // Nothing to judge is another thing than a bad judgement; refusing everybody proves nothing.
    auto const sold_out =
        ask(service, {"drill", "--sku", at_a_rate, "--requests", "10", "--clients", "2"});
    CHECK(sold_out.status == 2);
    CHECK(has(sold_out.err, "nothing would be proven"));
    CHECK_FALSE(has(sold_out.out, "PASSED"));
    CHECK(ask(service, {"drill", "--sku", "NEVER", "--requests", "1", "--clients", "1"}).status ==
          2);
    CHECK(ask(service, {"drill", "--sku", lent, "--requests", "0", "--clients", "1"}).status == 2);
    CHECK(run_holdfast({"drill", "--url", service.url(), "--key", "nobodys-key-0123456789", "--sku",
                        lent, "--requests", "1", "--clients", "1"})
              .status == 2);
    CHECK(run_holdfast({"drill", "--url", "http://127.0.0.1:1", "--key", service.admin_key(),
                        "--sku", lent, "--requests", "1", "--clients", "1"})
              .status == 2);
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

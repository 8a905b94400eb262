// SPDX-License-Identifier: Apache-2.0
// What a clerk does from a terminal: tables for people, JSON for scripts, a status for both.
#include "tests/cli/command.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

// A terminal with the service's address and an admin's key at hand.
class terminal {
public:
    terminal(service_process const& service, std::string key)
        : environment_{{"HOLDFAST_URL", "http://127.0.0.1:" + std::to_string(service.port())},
                       {"HOLDFAST_KEY", std::move(key)}}
    {}

    [[nodiscard]] command_result run(std::vector<std::string> arguments) const
    {
        command_options options;
        options.arguments = std::move(arguments);
        options.environment = environment_;
        return run_holdfast(options);
    }

private:
    header_list environment_;
};

bool has(std::string const& text, std::string const& part)
{
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a clerk looks at stock, corrects it and asks where the number comes from")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10, {{"name", "Mug"}});
    terminal const desk(service, create_key(db.connection_string(), "admin"));

    auto const adjusted =
        desk.run({"stock", "adjust", sku, "--by", "-3", "--reason", "damaged", "--note", "wet"});
    CHECK(adjusted.status == 0);
    CHECK(has(adjusted.out, "main"));
    CHECK(front.level_of(sku).on_hand == 7);
    CHECK(desk.run({"stock", "adjust", sku, "--to", "9", "--expect", "8", "--reason", "count"})
              .status == 1);
    CHECK(desk.run({"stock", "adjust", sku, "--reason", "count"}).status == 2);
    auto const wrong = desk.run({"stock", "adjust", sku, "--by", "1", "--reason", "stolen"});
    CHECK(wrong.status == 1);
    CHECK(has(wrong.err, "/reason"));

    auto const shown = desk.run({"stock", "get", sku});
    CHECK(shown.status == 0);
    CHECK(has(shown.out, "Mug"));
    auto const why = desk.run({"stock", "why", sku});
    CHECK(has(why.out, "damaged"));
    CHECK(has(why.out, "-3"));
    auto const listed = json::parse(desk.run({"stock", "list", sku, "--json"}).out);
    CHECK(listed.at("data").at(0).at("on_hand") == 7);
    auto const unknown = desk.run({"stock", "get", "NEVER"});
    CHECK(unknown.status == 1);
    CHECK(has(unknown.err, "unknown-sku"));
}

TEST_CASE("a clerk writes down what a stocktake found")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    terminal const desk(service, create_key(db.connection_string(), "admin"));

    auto const moved_on = desk.run({"stock", "count", sku, "8", "--expect", "9"});
    CHECK(moved_on.status == 1);
    CHECK(has(moved_on.err, "precondition-failed"));
    CHECK(front.level_of(sku).on_hand == 10);

    auto const counted =
        desk.run({"stock", "count", sku, "8", "--expect", "10", "--note", "shelf", "--json"});
    CHECK(counted.status == 0);
    auto const movement = json::parse(counted.out).at("movement");
    CHECK(movement.at("kind") == "counted");
    CHECK(movement.at("reason") == "count");
    CHECK(movement.at("note") == "shelf");
    CHECK(movement.at("on_hand_delta") == -2);
    auto const table = desk.run({"stock", "count", sku, "12"});
    CHECK(table.status == 0);
    CHECK(has(table.out, "on hand"));
    CHECK(front.level_of(sku).on_hand == 12);
    CHECK(desk.run({"stock", "count", sku}).status == 2);
    CHECK(front.audit_ok());
}

TEST_CASE("a clerk looks at a reservation and releases it")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const id = front.hold({{sku, 2}}, {{"customer", "c-1"}});
    terminal const desk(service, create_key(db.connection_string(), "admin"));

    auto const shown = desk.run({"reservation", "show", id});
    CHECK(shown.status == 0);
    CHECK(has(shown.out, "c-1"));
    CHECK(has(shown.out, "held"));
    CHECK(json::parse(desk.run({"reservation", "show", id, "--json"}).out).at("state") == "held");
    auto const unsaid = desk.run({"reservation", "release", id, "--reason", ""});
    CHECK(unsaid.status == 2);
    CHECK(has(unsaid.err, "--reason must not be empty"));
    CHECK(front.level_of(sku).reserved == 2);
    CHECK(desk.run({"reservation", "release", id, "--reason", "asked by telephone"}).status == 0);
    CHECK(desk.run({"reservation", "release", id, "--reason", ""}).status == 2);
    CHECK(desk.run({"reservation", "release", id}).status == 0);
    CHECK(front.level_of(sku).reserved == 0);
    CHECK(front.movements(sku).back().at("note") == "asked by telephone");
    CHECK(desk.run({"reservation", "show", "nothing"}).status == 1);
    terminal const stranger(service, "nobodys-key-0123456789");
    CHECK(stranger.run({"reservation", "show", id}).status == 2);
}

TEST_CASE("a key that cannot stand in a header is refused before anything is sent")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    for (std::string const after : {"\n", "\r\nX-Other: 1", "\t", "\x01", "\x7F", " more"}) {
        auto const key = service.admin_key() + after;
        for (std::vector<std::string> command :
             {std::vector<std::string>{"stock", "adjust", sku, "--by", "1", "--reason", "found"},
              {"reservation", "show", "nothing"},
              {"events", "tail", "--count", "1"},
              {"webhook", "resend", "w", "d"},
              {"reconcile"}}) {
            CAPTURE(command.front());
            command.insert(command.end(), {"--url", service.url(), "--key", key});
            auto const refused = run_holdfast(command);
            CHECK(refused.status == 2);
            CHECK(has(refused.err, "the API key holds white space, control characters"));
            CHECK_FALSE(has(refused.err, service.admin_key()));
        }
    }
    CHECK(front.level_of(sku).on_hand == 10);
}

TEST_CASE("a flag says more than the environment, whatever other commands there are")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(10);
    auto const id = front.hold({{sku, 2}});
    std::vector<std::vector<std::string>> const commands{
        {"stock", "get", sku},
        {"stock", "why", sku},
        {"stock", "list"},
        {"stock", "adjust", sku, "--by", "1", "--reason", "found"},
        {"stock", "count", sku, "9"},
        {"reservation", "show", id},
        {"reservation", "release", id}};
    for (auto command : commands) {
        CAPTURE(command.at(1));
        command.insert(command.end(), {"--url", service.url(), "--key", service.admin_key()});
        auto const done = run_holdfast(
            command_options{.arguments = command,
                            .environment = {{"HOLDFAST_URL", "http://127.0.0.1:1"},
                                            {"HOLDFAST_KEY", "nobodys-key-0123456789"}}});
        CHECK(done.status == 0);
        CHECK(done.err.empty());
    }
    CHECK(front.level_of(sku).on_hand == 9);
}

} // namespace holdfast::test

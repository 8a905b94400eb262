// SPDX-License-Identifier: Apache-2.0
// The consumers of examples/consumers beside the real service: what they make of webhooks, of
// forgeries, of repeats, and of having been away.
//
// The one in TypeScript checks signatures with the npm package standardwebhooks, the public
// verifier of Standard Webhooks. So what it accepts here is signed as the world verifies it, and
// not only as code of ours does on both ends.
#include "service/secrets.hpp"
#include "tests/cli/command.hpp"
#include "tests/http/raw_connection.hpp"
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/hooks.hpp"
#include "tests/support/program.hpp"
#include "tests/support/receiver.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

enum class store { sqlite, json_lines };

// One of the examples.
struct example {
    std::string interpreter;
    std::string packages;           // of Debian
    std::vector<std::string> proof; // makes the interpreter end with 0 when it has all it needs
    std::string script;
    store kept_in;
};

example in_typescript()
{
    return {.interpreter = "node",
            .packages = "nodejs npm",
            .proof = {"-e", "process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)"},
            .script = HOLDFAST_TYPESCRIPT_CONSUMER,
            .kept_in = store::json_lines};
}

example in_python()
{
    return {.interpreter = "python3",
            .packages = "python3",
            .proof = {"-c", "import sqlite3, sys; sys.exit(sys.version_info < (3, 9))"},
            .script = HOLDFAST_SOURCE_DIR "/examples/consumers/python/consumer.py",
            .kept_in = store::sqlite};
}

example in_php()
{
    return {
        .interpreter = "php",
        .packages = "php-cli php-sqlite3",
        .proof = {"-r", "exit(extension_loaded('pdo_sqlite') && PHP_VERSION_ID >= 80100 ? 0 : 1);"},
        .script = HOLDFAST_SOURCE_DIR "/examples/consumers/php/consumer.php",
        .kept_in = store::sqlite};
}

// Attempts two seconds apart, as many as there may be: enough for the time a consumer is away.
std::string every_two_seconds()
{
    std::string schedule = "0";
    for (int i = 1; i < 50; ++i)
        schedule += ",2";
    return schedule;
}

// A shop with a webhook, and the place of one consumer that keeps its own copy of the levels.
struct stage {
    explicit stage(example const& what)
        : of(what),
          service({.database_url = db.connection_string(),
                   .arguments = hook_arguments({"--webhook-retry-seconds", every_two_seconds()})}),
          front(service), port(free_port()),
          hook(make_hook(front, {{"url", fmt::format("http://127.0.0.1:{}/webhook", port)}})),
          viewer_key(create_key(db.connection_string(), "viewer"))
    {
        program proof({.name = of.interpreter, .packages = of.packages, .arguments = of.proof});
        INFO(of.interpreter, " is too old or lacks a module; as root: apt-get install ",
             of.packages);
        REQUIRE(proof.wait() == 0);
        INFO(of.script, " is missing; for TypeScript, ctest -R consumers.typescript builds it");
        REQUIRE(std::filesystem::exists(of.script));
    }

    example const of;
    database const db;
    service_process const service;
    shop front;
    std::uint16_t const port;
    json const hook;
    std::string const viewer_key;
    temporary_directory const place;
    std::string const state = (place.path() / "state").string();
    std::vector<std::string> skus; // of every item of the shop
};

// Starts the consumer as a receiver of webhooks and waits until it listens.
std::unique_ptr<program> start(stage const& s)
{
    std::vector<std::string> arguments{s.of.script};
    if (s.of.interpreter == "php")
        arguments = {"-S", fmt::format("127.0.0.1:{}", s.port), s.of.script};
    auto server = std::make_unique<program>(program_options{
        .name = s.of.interpreter,
        .packages = s.of.packages,
        .arguments = arguments,
        .environment = {{"HOLDFAST_WEBHOOK_SECRET", s.hook.at("secret").get<std::string>()},
                        {"PORT", std::to_string(s.port)},
                        {"STATE", s.state}}});
    auto const listens = [&] {
        if (!server->is_running())
            throw std::runtime_error("the consumer did not stay: " + server->err());
        try {
            raw_connection const knock(s.port);
            return true;
        } catch (connection_lost const&) {
            return false;
        }
    };
    REQUIRE(eventually(30s, listens));
    return server;
}

struct catching_up {
    std::string key;
    std::string state;
    std::vector<std::string> arguments = {"catch-up"};
};

// Lets the consumer read the feed, to its end.
command_result run(stage const& s, catching_up how)
{
    how.arguments.insert(how.arguments.begin(), s.of.script);
    program reader({.name = s.of.interpreter,
                    .packages = s.of.packages,
                    .arguments = std::move(how.arguments),
                    .environment = {{"HOLDFAST_URL", s.service.url()},
                                    {"HOLDFAST_KEY", std::move(how.key)},
                                    {"STATE", std::move(how.state)}}});
    auto const status = reader.wait();
    return {.status = status, .out = reader.out(), .err = reader.err()};
}

command_result catch_up(stage const& s)
{
    return run(s, {.key = s.viewer_key, .state = s.state});
}

// Changes of every kind, at two places, with every edge a level can cross, of an item with a plain
// SKU and of one that has all a SKU may have.
void trade(stage& s)
{
    auto& front = s.front;
    auto const plain = front.item(10, {{"low_stock_at", 8}});
    auto const odd = unique("茶é🍵 a/b?c%&\"d");
    REQUIRE(outcome(front.put_item(odd, {{"on_hand", 20}})) == "201");
    s.skus.insert(s.skus.end(), {plain, odd});

    CHECK(outcome(front.adjust(
              odd, {{"delta", 5}, {"reason", "received"}, {"location", "shop-2"}})) == "201");
    auto const sold = front.hold({{plain, 3}, {odd, 2}, {odd, 1, "shop-2"}},
                                 {{"reference", "order-1"}, {"customer", "c-1"}});
    CHECK(outcome(front.confirm(sold)) == "200");
    CHECK(outcome(front.release(front.hold({{plain, 7}}))) == "200");
    CHECK(outcome(front.give_back(sold, {{odd, 1, "shop-2"}})) == "201");
    CHECK(outcome(front.adjust(
              plain, {{"set_to", 50}, {"expect_on_hand", 7}, {"reason", "count"}})) == "201");
    front.hold({{odd, 4}});
}

bool is_change(json const& event)
{
    return event.at("type").get<std::string>().starts_with("reservation.") ||
           event.at("type") == "stock.adjusted";
}

// Every event, once each change of the shop's items is among them.
std::vector<json> all_told(stage& s)
{
    std::size_t changes = 0;
    for (auto const& sku : s.skus)
        changes += s.front.movements(sku).size();
    std::vector<json> events;
    REQUIRE(eventually(30s, [&] {
        events = read_feed(s.front);
        return static_cast<std::size_t>(std::ranges::count_if(events, is_change)) == changes;
    }));
    return events;
}

// The same, once the consumer has said of each that it has it.
std::vector<json> all_delivered(stage& s)
{
    auto events = all_told(s);
    REQUIRE(eventually(
        60s, [&] { return deliveries_of(s.front, s.hook, "delivered").size() == events.size(); }));
    return events;
}

using lines = std::vector<std::string>;

// Those that begin with a word, of what a consumer has printed.
lines lines_of(std::string const& printed, std::string_view word)
{
    lines found;
    std::istringstream in(printed);
    for (std::string line; std::getline(in, line);)
        if (line.starts_with(word))
            found.push_back(line);
    return found;
}

// What came in no order that matters, to be compared and shown.
std::string sorted(lines all)
{
    std::ranges::sort(all);
    std::string text;
    for (auto const& line : all)
        text += '\n' + line;
    return text;
}

std::string name_of(json const& event)
{
    return fmt::format("{} {} {} v{}", event.at("type").get<std::string>(),
                       event.at("sku").get<std::string>(), event.at("location").get<std::string>(),
                       event.at("version").get<std::int64_t>());
}

// What a consumer prints of events that are new to it.
lines applied(std::vector<json> const& events)
{
    lines all;
    for (auto const& event : events)
        all.push_back(fmt::format("applied {} available {}", name_of(event),
                                  event.at("available").get<std::int64_t>()));
    return all;
}

// What it prints of those it has.
lines dropped(std::vector<json> const& events)
{
    lines all;
    for (auto const& event : events)
        all.push_back(fmt::format("dropped {}: seen before", name_of(event)));
    return all;
}

lines ids_of(std::vector<json> const& events)
{
    lines all;
    for (auto const& event : events)
        all.push_back(event.at("id").get<std::string>());
    return all;
}

std::string level_line(std::string const& sku, json const& level)
{
    return fmt::format(
        "{} {} v{}: on hand {}, reserved {}, available {}", sku,
        level.at("location").get<std::string>(), level.at("version").get<std::int64_t>(),
        level.at("on_hand").get<std::int64_t>(), level.at("reserved").get<std::int64_t>(),
        level.at("available").get<std::int64_t>());
}

std::string levels_of_service(stage& s)
{
    lines all;
    for (auto const& sku : s.skus) {
        auto const item = s.front.item_of(sku);
        for (auto const& level : item.at("levels"))
            all.push_back(level_line(sku, level));
    }
    return sorted(std::move(all));
}

// What a consumer has stored: its levels, and the ids of the events it has done.
struct own_copy {
    std::string levels;
    lines ids;
};

own_copy copy_in_sqlite(std::string const& file)
{
    constexpr auto script = R"py(
import json, sqlite3, sys
store = sqlite3.connect(sys.argv[1])
store.row_factory = sqlite3.Row
levels = [dict(row) for row in store.execute("SELECT * FROM level")]
ids = [row["id"] for row in store.execute("SELECT id FROM seen")]
print(json.dumps({"levels": levels, "ids": ids}))
)py";
    program reader({.name = "python3", .packages = "python3", .arguments = {"-c", script, file}});
    auto const status = reader.wait();
    INFO(reader.err());
    REQUIRE(status == 0);
    auto const stored = json::parse(reader.out());
    lines levels;
    for (auto const& level : stored.at("levels"))
        levels.push_back(level_line(level.at("sku").get<std::string>(), level));
    return {.levels = sorted(std::move(levels)), .ids = stored.at("ids").get<lines>()};
}

own_copy copy_in_json_lines(std::string const& file)
{
    own_copy found;
    std::map<level_name, json> newest;
    std::istringstream in(text_of_file(file));
    for (std::string text; std::getline(in, text);) {
        auto const line = json::parse(text, nullptr, false);
        if (!line.is_object()) // empty, or cut short by the end of its writer
            continue;
        for (std::string const part : {"levels", "events"}) {
            auto const entries = line.value(part, json::array());
            for (auto const& entry : entries) {
                auto& known = newest[level_name(entry.at("sku"), entry.at("location"))];
                if (known.is_null() || known.at("version") <= entry.at("version"))
                    known = entry;
                if (part == "events")
                    found.ids.push_back(entry.at("id").get<std::string>());
            }
        }
    }
    lines levels;
    for (auto const& [name, level] : newest)
        levels.push_back(level_line(name.first, level));
    found.levels = sorted(std::move(levels));
    return found;
}

own_copy copy_of(stage const& s, std::string const& file)
{
    return s.of.kept_in == store::sqlite ? copy_in_sqlite(file) : copy_in_json_lines(file);
}

// Posts to the consumer by hand: messages that are not from Holdfast, or are not as it sent them.
// Each would change a level if it were believed. The last one is genuine, so it is the signature
// and its time alone for which the others are refused.
void refuses_forgeries(stage const& s, json const& event)
{
    auto const secret = parse_whsec(s.hook.at("secret").get<std::string>()).value();
    auto const another = make_webhook_secret();
    std::int64_t const now = std::chrono::duration_cast<std::chrono::seconds>(
                                 std::chrono::system_clock::now().time_since_epoch())
                                 .count();
    std::int64_t const long_ago = now - 600;
    auto forged = event;
    forged["id"] = "evt_9_9_9_9";
    forged["version"] = 1'000'000;
    auto const body_of = [](json const& data) {
        return json({{"type", data.at("type")}, {"timestamp", "2026-01-01"}, {"data", data}})
            .dump();
    };
    auto const sign = [&](json const& data, auto const& key, std::int64_t at) {
        return webhook_signature(key, "evt_by_hand", std::to_string(at), body_of(data));
    };
    auto const post = [&](json const& data, std::int64_t at, std::string const& signature) {
        raw_connection by_hand(s.port);
        by_hand.send(to_bytes({.method = "POST",
                               .target = "/webhook",
                               .body = body_of(data),
                               .headers = {{"webhook-id", "evt_by_hand"},
                                           {"webhook-timestamp", std::to_string(at)},
                                           {"webhook-signature", signature}}}));
        return by_hand.receive().value().status;
    };
    CHECK(post(forged, now, "") == 400);
    CHECK(post(forged, now, "v1,") == 400);
    CHECK(post(forged, now, sign(forged, another, now)) == 400);
    CHECK(post(forged, now, sign(event, secret, now)) == 400);            // another body
    CHECK(post(forged, long_ago, sign(forged, secret, long_ago)) == 400); // a recording
    CHECK(post(forged, now, sign(forged, secret, long_ago)) == 400);      // made to look new
    CHECK(post(event, now, sign(event, another, now) + ' ' + sign(event, secret, now)) == 204);
}

void keeps_levels_by_webhooks(example const& of)
{
    stage s(of);
    auto const office = start(s);
    trade(s);
    trade(s);
    auto const told = all_delivered(s);
    INFO(office->err());
    CHECK(sorted(lines_of(office->out(), "applied ")) == sorted(applied(told)));
    CHECK(lines_of(office->out(), "dropped ").empty());
    auto const kept = copy_of(s, s.state);
    CHECK(kept.levels == levels_of_service(s));
    CHECK(sorted(kept.ids) == sorted(ids_of(told)));

    refuses_forgeries(s, told.front());
    auto expected = dropped(std::vector<json>(1, told.front()));
    CHECK(sorted(lines_of(office->out(), "dropped ")) == sorted(expected));

    REQUIRE(outcome(s.front.post(path_of(s.hook) + "/test", json::object())) == "202");
    expected.emplace_back("dropped webhook.test: has no level");
    CHECK(eventually(
        30s, [&] { return lines_of(office->out(), "dropped ").size() == expected.size(); }));

    REQUIRE(outcome(s.front.post(path_of(s.hook) + "/replay",
                                 {{"since", "2020-01-01T00:00:00Z"}})) == "202");
    std::ranges::copy(dropped(told), std::back_inserter(expected));
    CHECK(eventually(
        60s, [&] { return lines_of(office->out(), "dropped ").size() == expected.size(); }));
    CHECK(sorted(lines_of(office->out(), "dropped ")) == sorted(expected));
    CHECK(lines_of(office->out(), "applied ").size() == told.size());
    CHECK(copy_of(s, s.state).levels == kept.levels);
    CHECK(sorted(copy_of(s, s.state).ids) == sorted(kept.ids));
    CHECK(office->is_running());
}

void catches_up_from_the_feed(example const& of)
{
    stage s(of);
    auto first = start(s);
    trade(s);
    auto const before = all_delivered(s);
    first->kill9();
    trade(s); // and nobody is there to hear of it
    auto const told = all_told(s);
    CHECK(copy_of(s, s.state).levels != levels_of_service(s));

    auto const stranger = run(s, {.key = "hf_of_nobody", .state = s.state});
    CHECK(stranger.status == 1);
    CHECK(stranger.err.find("401") != std::string::npos);
    CHECK(stranger.out == "");

    auto const caught_up = catch_up(s);
    INFO(caught_up.err);
    CHECK(caught_up.status == 0);
    auto const printed = first->out() + caught_up.out;
    CHECK(sorted(lines_of(printed, "applied ")) == sorted(applied(told)));
    CHECK(sorted(lines_of(printed, "dropped ")) == sorted(dropped(before)));
    auto const kept = copy_of(s, s.state);
    CHECK(kept.levels == levels_of_service(s));
    CHECK(sorted(kept.ids) == sorted(ids_of(told)));
    // The place in the feed is kept with them.
    auto const again = catch_up(s);
    CHECK(again.status == 0);
    CHECK(again.out == "");

    // What waited at Holdfast meanwhile reaches the one that is back, which has it already.
    auto const second = start(s);
    all_delivered(s);
    std::vector<json> const missed(told.begin() + static_cast<std::ptrdiff_t>(before.size()),
                                   told.end());
    CHECK(lines_of(second->out(), "applied ").empty());
    CHECK(sorted(lines_of(second->out(), "dropped ")) == sorted(dropped(missed)));
    CHECK(copy_of(s, s.state).levels == kept.levels);
}

void stands_being_killed_at_work(example const& of)
{
    stage s(of);
    std::string printed;
    for (int deaths = 0; deaths < 2; ++deaths) {
        auto const office = start(s);
        trade(s);
        REQUIRE(eventually(30s, [&] { return !lines_of(office->out(), "applied ").empty(); }));
        office->kill9();
        printed += office->out();
    }
    trade(s);
    auto const told = all_told(s);
    auto const caught_up = catch_up(s);
    INFO(caught_up.err);
    CHECK(caught_up.status == 0);
    printed += caught_up.out;
    auto const kept = copy_of(s, s.state);
    CHECK(kept.levels == levels_of_service(s));
    CHECK(sorted(kept.ids) == sorted(ids_of(told)));
    // One that died between storing and telling told nothing, so a line may be missing. No line may
    // be there twice, and none that tells of something else than what happened.
    auto const once = lines_of(printed, "applied ");
    auto const all = applied(told);
    std::set<std::string> possible(all.begin(), all.end());
    for (auto const& line : once)
        CHECK_MESSAGE(possible.erase(line) == 1, line);

    // Whoever has lost the file begins a new one with the levels as they are.
    auto const anew = run(s, {.key = s.viewer_key,
                              .state = (s.place.path() / "anew").string(),
                              .arguments = {"catch-up", "--anew"}});
    INFO(anew.err);
    CHECK(anew.status == 0);
    auto const copied = copy_of(s, (s.place.path() / "anew").string());
    CHECK(copied.levels == levels_of_service(s));
    CHECK(sorted(copied.ids) == sorted(ids_of(told)));
}

} // namespace

TEST_CASE("the consumer in TypeScript keeps the levels by webhooks that a public verifier accepts")
{
    keeps_levels_by_webhooks(in_typescript());
}

TEST_CASE("the consumer in Python keeps the levels by webhooks")
{
    keeps_levels_by_webhooks(in_python());
}

TEST_CASE("the consumer in PHP keeps the levels by webhooks")
{
    keeps_levels_by_webhooks(in_php());
}

TEST_CASE("the consumer in TypeScript catches up from the feed, and applies each event once")
{
    catches_up_from_the_feed(in_typescript());
}

TEST_CASE("the consumer in Python catches up from the feed, and applies each event once")
{
    catches_up_from_the_feed(in_python());
}

TEST_CASE("the consumer in PHP catches up from the feed, and applies each event once")
{
    catches_up_from_the_feed(in_php());
}

TEST_CASE("the consumer in TypeScript stands being killed in the middle of its work")
{
    stands_being_killed_at_work(in_typescript());
}

TEST_CASE("the consumer in Python stands being killed in the middle of its work")
{
    stands_being_killed_at_work(in_python());
}

TEST_CASE("the consumer in PHP stands being killed in the middle of its work")
{
    stands_being_killed_at_work(in_php());
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// `holdfast events tail`, `holdfast webhook listen` and `holdfast webhook resend`.
#include "tests/cli/command.hpp"
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/hooks.hpp"
#include "tests/support/receiver.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <sstream>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

command_result ask(service_process const& service, std::vector<std::string> arguments)
{
    return run_holdfast(
        {.arguments = std::move(arguments),
         .environment = {{"HOLDFAST_URL", service.url()}, {"HOLDFAST_KEY", service.admin_key()}}});
}

std::vector<std::string> lines_of(std::string const& text)
{
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(line);
    return lines;
}

} // namespace

TEST_CASE("events tail prints what happened and what happens, as lines or as JSON")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100'000); // enough for as long as it takes to begin looking
    front.confirm(front.hold({{sku, 2}}, {{"reference", "order-9"}}));
    REQUIRE(wait_until_told(front, {sku}));
    auto const told = read_feed(front, "", "&sku=" + sku);

    auto const as_json =
        ask(service, {"events", "tail", "--after", "", "--sku", sku, "--count", "3", "--json"});
    CHECK(as_json.status == 0);
    auto const lines = lines_of(as_json.out);
    REQUIRE(lines.size() == 3);
    for (std::size_t i = 0; i < lines.size(); ++i)
        CHECK(json::parse(lines[i]) == told[i]);
    auto const as_text = ask(service, {"events", "tail", "--after", told[1].at("id"), "--type",
                                       "reservation.confirmed", "--count", "1"});
    CHECK(as_text.status == 0);
    CHECK(as_text.out.find("reservation.confirmed   " + sku + " main v3") != std::string::npos);
    CHECK(as_text.out.find("order-9") != std::string::npos);

    // From now on: what happens while somebody looks.
    auto looking = std::async(std::launch::async, [&] {
        return ask(service, {"events", "tail", "--sku", sku, "--count", "1"});
    });
    while (looking.wait_for(50ms) != std::future_status::ready)
        front.reserve(sku);
    CHECK(looking.get().out.find("reservation.held") != std::string::npos);

    auto const odd = ask(service, {"events", "tail", "--type", "stock.gone"});
    CHECK(odd.status == 1);
    CHECK(odd.err.find("400 validation-failed") != std::string::npos);
    CHECK(ask(service, {"events"}).status == 2);
    CHECK(run_holdfast({"events", "tail", "--url", "ftp://x", "--count", "1"}).status == 2);
}

TEST_CASE("webhook listen verifies and prints what it is sent")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .arguments = hook_arguments({"--webhook-retry-seconds", "0"})});
    shop front(service);
    std::uint16_t port = 0;
    {
        receiver const reserved; // a port that is free a moment later
        port = reserved.port();
    }
    auto const address = "127.0.0.1:" + std::to_string(port);
    auto const hook = make_hook(front, {{"url", "http://" + address + "/"}});
    auto listening = std::async(std::launch::async, [&] {
        return run_holdfast(
            {.arguments = {"webhook", "listen", "--listen", address, "--count", "3"},
             .environment = {{"HOLDFAST_WEBHOOK_SECRET", hook.at("secret")}}});
    });
    http_client stranger(port);
    REQUIRE(eventually(20s, [&] {
        try {
            return stranger.send({.method = "POST", .target = "/", .body = "{}"}).status == 400;
        } catch (connection_lost const&) {
            return false;
        }
    }));
    auto const sku = front.item(3);
    front.reserve(sku);
    REQUIRE(eventually(20s, [&] { return deliveries_of(front, hook, "delivered").size() == 2; }));
    auto const heard = listening.get();
    CHECK(heard.status == 0);
    auto const lines = lines_of(heard.out);
    REQUIRE(lines.size() == 4);
    CHECK(lines[0] == "listening on http://" + address + "/");
    CHECK(lines[1].starts_with("refused, its time is not of now"));
    CHECK(lines[2].starts_with("verified  stock.adjusted  " + sku + " main v1"));
    CHECK(lines[3].starts_with("verified  reservation.held  " + sku + " main v2"));

    CHECK(run_holdfast({"webhook", "listen", "--secret", "hunter2"}).status == 2);
    CHECK(run_holdfast({"webhook", "listen", "--listen", "nowhere"}).status == 2);
}

TEST_CASE("webhook resend sends a delivery once more")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .arguments = hook_arguments({"--webhook-retry-seconds", "0"})});
    shop front(service);
    std::atomic<bool> is_broken{true};
    receiver const office(
        [&](received const&) { return reaction{.status = is_broken ? 500 : 204}; });
    auto const hook = make_hook(front, {{"url", office.url()}});
    front.item(1);
    REQUIRE(eventually(20s, [&] { return deliveries_of(front, hook, "dead").size() == 1; }));
    is_broken = false;
    auto const dead = deliveries_of(front, hook, "dead").at(0).at("id").get<std::string>();
    auto const again = ask(service, {"webhook", "resend", hook.at("id"), dead});
    CHECK(again.status == 0);
    CHECK(eventually(20s, [&] { return deliveries_of(front, hook, "delivered").size() == 1; }));
    auto const unknown = ask(service, {"webhook", "resend", hook.at("id"), "evt_9_9_9_9"});
    CHECK(unknown.status == 1);
    CHECK(unknown.err.find("404 not-found") != std::string::npos);
}

} // namespace holdfast::test

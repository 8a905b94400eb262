// SPDX-License-Identifier: Apache-2.0
// Webhooks: what is sent, to whom, in which order, and what becomes of it when they fail.
#include "service/secrets.hpp"
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/hooks.hpp"
#include "tests/support/receiver.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

service_options with_hooks(database const& db, std::vector<std::string> more = {})
{
    return {.database_url = db.connection_string(), .arguments = hook_arguments(std::move(more))};
}

std::string signature_by(json const& webhook, received const& call)
{
    auto const secret = parse_whsec(webhook.at("secret").get<std::string>());
    REQUIRE(secret);
    return webhook_signature(*secret, call.header("webhook-id"), call.header("webhook-timestamp"),
                             call.body);
}

} // namespace

TEST_CASE("a webhook is sent what the feed has, signed, under the name of the event")
{
    database const db;
    service_process const service(with_hooks(db));
    shop front(service);
    receiver const office;
    REQUIRE(wait_until_told(front, {front.item(1)})); // before there was a webhook
    auto const hook = make_hook(front, {{"url", office.url("/stock?x=1")}});
    CHECK(hook.at("state") == "active");
    CHECK(hook.at("secret").get<std::string>().starts_with("whsec_"));
    auto const sku = front.item(3);
    front.confirm(front.hold({{sku, 3}}, {{"reference", "o-1"}}));
    REQUIRE(office.has(4));

    auto const told = read_feed(front, "", "&sku=" + sku);
    auto const calls = office.all();
    REQUIRE(calls.size() == told.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
        auto const& call = calls[i];
        CHECK(call.path == "/stock?x=1");
        CHECK(call.event() == told[i]);
        CHECK(call.json().at("type") == told[i].at("type"));
        CHECK(call.json().at("timestamp") == told[i].at("occurred_at"));
        CHECK(call.header("webhook-id") == told[i].at("id"));
        CHECK(call.header("content-type") == "application/json");
        CHECK(call.header("user-agent").starts_with("Holdfast/"));
        CHECK(call.header("webhook-signature") == signature_by(hook, call));
    }
    // The secret was shown once.
    CHECK_FALSE(front.get(path_of(hook)).json().contains("secret"));
    CHECK_FALSE(front.get("/v1/webhooks").json().at("data").at(0).contains("secret"));
    CHECK(eventually(20s, [&] { return deliveries_of(front, hook, "delivered").size() == 4; }));
}

TEST_CASE("a webhook hears of the types and SKUs it asked for, and of changes to that")
{
    database const db;
    service_process const service(with_hooks(db));
    shop front(service);
    receiver const office;
    auto const sku = front.item(2);
    REQUIRE(wait_until_told(front, {sku}));
    auto const hook = make_hook(front, {{"url", office.url()},
                                        {"types", {"reservation.confirmed", "stock.sold_out"}},
                                        {"sku_prefix", sku},
                                        {"description", "the books"}});
    auto const other = front.item(1);
    front.confirm(front.hold({{other, 1}}));
    front.confirm(front.hold({{sku, 2}}));
    REQUIRE(office.has(2));
    CHECK(office.all()[0].json().at("type") == "stock.sold_out");
    CHECK(office.all()[1].json().at("type") == "reservation.confirmed");

    auto const changed =
        front.http().send({.method = "PATCH",
                           .target = path_of(hook),
                           .body = json({{"types", nullptr}, {"sku_prefix", other}}).dump()});
    CHECK(outcome(changed) == "200");
    CHECK(changed.json().at("types").is_null());
    CHECK(changed.json().at("description") == "the books");
    front.adjust(other, {{"delta", 1}, {"reason", "received"}});
    REQUIRE(eventually(20s, [&] {
        auto const calls = office.all();
        return calls.back().json().at("type") == "stock.back_in_stock";
    }));
    for (auto const& call : office.all())
        CHECK(((call.event().at("sku") == sku) || call.event().at("sku") == other));
}

TEST_CASE("a new secret signs at once, and the former one beside it as long as was asked")
{
    database const db;
    service_process const service(with_hooks(db));
    shop front(service);
    receiver const office;
    auto const hook = make_hook(front, {{"url", office.url()}});
    auto const rotated = front.post(path_of(hook) + "/rotate", json::object());
    REQUIRE(outcome(rotated) == "200");
    CHECK(rotated.json().at("secret") != hook.at("secret"));
    // The courier looks once a second.
    REQUIRE(eventually(20s, [&] {
        front.post(path_of(hook) + "/test", json::object());
        auto const calls = office.all();
        return !calls.empty() && calls.back().header("webhook-signature") ==
                                     signature_by(rotated.json(), calls.back()) + ' ' +
                                         signature_by(hook, calls.back());
    }));
    // Once more: the first one, which the receiver may still have, goes on signing.
    auto const newer = front.post(path_of(hook) + "/rotate", json::object());
    REQUIRE(outcome(newer) == "200");
    CHECK(eventually(20s, [&] {
        front.post(path_of(hook) + "/test", json::object());
        auto const call = office.all().back();
        return call.header("webhook-signature") == signature_by(newer.json(), call) + ' ' +
                                                       signature_by(rotated.json(), call) + ' ' +
                                                       signature_by(hook, call);
    }));
    auto const last = front.post(path_of(hook) + "/rotate", {{"keep_former_seconds", 0}});
    REQUIRE(outcome(last) == "200");
    CHECK(eventually(20s, [&] {
        front.post(path_of(hook) + "/test", json::object());
        auto const call = office.all().back();
        return call.header("webhook-signature") == signature_by(last.json(), call);
    }));
}

TEST_CASE("what fails is sent again by the schedule, under the same name, until it is dead")
{
    database const db;
    service_process const service(with_hooks(db, {"--webhook-retry-seconds", "0,0,1,0"}));
    shop front(service);
    std::atomic<int> calls{0};
    receiver const office([&](received const&) {
        switch (++calls) {
        case 1: return reaction{.status = 500};
        case 2: return reaction{.status = 503, .headers = {{"Retry-After", "2"}}};
        case 3: return reaction{.status = 302, .headers = {{"Location", "/elsewhere"}}};
        default: return reaction{};
        }
    });
    auto const hook = make_hook(front, {{"url", office.url()}});
    auto const sku = front.item(1);
    REQUIRE(office.has(4));
    auto const all = office.all();
    for (auto const& call : all) {
        CHECK(call.path == "/hook"); // redirects are not followed
        CHECK(call.header("webhook-id") == all[0].header("webhook-id"));
        CHECK(call.body == all[0].body);
    }
    CHECK(all[1].at - all[0].at < 1s);
    CHECK(all[2].at - all[1].at >= 1900ms);
    REQUIRE(eventually(20s, [&] { return deliveries_of(front, hook, "delivered").size() == 1; }));
    CHECK(deliveries_of(front, hook, "delivered")[0].at("attempts") == 4);

    calls = -1000; // from now on everything is redirected to nowhere
    receiver const wall([](received const&) { return reaction{.status = 400}; });
    auto const second = make_hook(front, {{"url", wall.url()}});
    front.reserve(sku);
    REQUIRE(eventually(20s, [&] { return deliveries_of(front, second, "dead").size() == 2; }));
    for (auto const& dead : deliveries_of(front, second, "dead")) {
        CHECK(dead.at("attempts") == 4);
        CHECK(dead.at("last_status") == 400);
        CHECK(dead.at("last_fault") == "it answered 400");
        CHECK(dead.at("next_attempt_at").is_null());
    }
    CHECK(wall.all().size() == 8);
    CHECK(
        front.get("/metrics").body.find("holdfast_webhook_attempts_total{outcome=\"dead\"} 2\n") !=
        std::string::npos);
}

TEST_CASE("events of one SKU wait for each other, and no other SKU for them")
{
    database const db;
    service_process const service(with_hooks(db, {"--webhook-retry-seconds", "0,1,1,1,1,1,1"}));
    shop front(service);
    std::string stuck;
    std::atomic<bool> is_mended{false};
    receiver const office([&](received const& call) {
        bool const is_stuck = call.event().at("sku") == stuck && !is_mended;
        return reaction{.status = is_stuck ? 500 : 204};
    });
    stuck = front.item(5);
    auto const free = front.item(50);
    REQUIRE(wait_until_told(front, {stuck, free}));
    auto const hook = make_hook(front, {{"url", office.url()}});
    front.hold({{stuck}});
    for (int i = 0; i < 20; ++i) {
        std::vector<line> basket{{free}};
        if (i < 4)
            basket.push_back({stuck});
        front.hold(basket);
    }
    REQUIRE(eventually(20s, [&] { return deliveries_of(front, hook, "delivered").size() == 20; }));
    for (auto const& waiting : deliveries_of(front, hook, "pending"))
        CHECK(waiting.at("sku") == stuck);
    is_mended = true;
    REQUIRE(eventually(20s, [&] { return deliveries_of(front, hook, "pending").empty(); }));

    std::map<std::string, std::int64_t> last;
    std::set<std::string> ids;
    for (auto const& call : office.all()) {
        auto const e = call.event();
        auto& version = last[e.at("sku")];
        CHECK(e.at("version") >= version);
        CHECK(e.at("version") <= version + 1 + (version == 0 ? 1 : 0));
        version = e.at("version");
        ids.insert(call.header("webhook-id"));
    }
    CHECK(ids.size() == 26); // 20 free ones, 5 and the edge of the stuck one
}

TEST_CASE("who answers 410 is not called again, and is told everything once it is mended")
{
    database const db;
    service_process const service(with_hooks(db));
    shop front(service);
    std::atomic<bool> is_gone{true};
    receiver const office([&](received const&) { return reaction{.status = is_gone ? 410 : 204}; });
    auto const hook = make_hook(front, {{"url", office.url()}});
    auto const sku = front.item(9);
    REQUIRE(
        eventually(20s, [&] { return front.get(path_of(hook)).json().at("state") == "disabled"; }));
    CHECK(front.get(path_of(hook)).json().at("disabled_reason") == "It answered 410 Gone.");
    front.reserve(sku);
    front.reserve(sku);
    REQUIRE(wait_until_told(front, {sku}));
    CHECK(office.all().size() == 1);

    is_gone = false;
    auto const mended = front.http().send(
        {.method = "PATCH", .target = path_of(hook), .body = R"({"state":"active"})"});
    CHECK(mended.json().at("state") == "active");
    CHECK(mended.json().at("disabled_reason").is_null());
    REQUIRE(office.has(4));
    CHECK(types_of([&] {
              std::vector<json> events;
              for (auto const& call : office.all())
                  events.push_back(call.event());
              return events;
          }()) == "adjusted adjusted held held");

    // Paused is the same, by will.
    front.http().send(
        {.method = "PATCH", .target = path_of(hook), .body = R"({"state":"paused"})"});
    REQUIRE(eventually(20s, [&] {
        return front.get("/metrics").body.find("holdfast_webhooks_owned 0\n") != std::string::npos;
    }));
    front.reserve(sku);
    REQUIRE(wait_until_told(front, {sku}));
    CHECK(office.all().size() == 4);
    // A replay sets it back, never forward over what it has not been told.
    front.post(path_of(hook) + "/replay", {{"since", "2099-01-01T00:00:00Z"}});
    front.http().send(
        {.method = "PATCH", .target = path_of(hook), .body = R"({"state":"active"})"});
    CHECK(office.has(5));
}

TEST_CASE("a message of test, one more try, and everything since some time, on request")
{
    database const db;
    service_process const service(with_hooks(db, {"--webhook-retry-seconds", "0"}));
    shop front(service);
    std::atomic<bool> is_broken{true};
    receiver const office(
        [&](received const&) { return reaction{.status = is_broken ? 500 : 204}; });
    auto const hook = make_hook(front, {{"url", office.url()}});
    auto const sku = front.item(5);
    front.reserve(sku);
    REQUIRE(eventually(20s, [&] { return deliveries_of(front, hook, "dead").size() == 2; }));

    is_broken = false;
    auto const tested = front.post(path_of(hook) + "/test", json::object());
    CHECK(outcome(tested) == "202");
    CHECK(tested.json().at("event_type") == "webhook.test");
    REQUIRE(office.has(3));
    CHECK(office.all().back().json().at("type") == "webhook.test");
    CHECK(office.all().back().header("webhook-id") == tested.json().at("id"));

    auto const dead = deliveries_of(front, hook, "dead").at(0);
    auto const again =
        front.post(path_of(hook) + "/deliveries/" + dead.at("id").get<std::string>() + "/resend",
                   json::object());
    CHECK(outcome(again) == "202");
    CHECK(again.json().at("state") == "pending");
    REQUIRE(office.has(4));
    CHECK(office.all().back().header("webhook-id") == dead.at("id"));

    auto const replayed =
        front.post(path_of(hook) + "/replay", {{"since", "2026-01-01T00:00:00Z"}});
    CHECK(outcome(replayed) == "202");
    auto const told = read_feed(front);
    REQUIRE(office.has(4 + told.size()));
    auto const calls = office.all();
    for (std::size_t i = 0; i < told.size(); ++i)
        CHECK(calls[4 + i].event() == told[i]);
    REQUIRE(eventually(20s, [&] { return deliveries_of(front, hook, "pending").empty(); }));
    CHECK(deliveries_of(front, hook, "dead").empty());

    // Pages of the list, newest first.
    auto const first = front.get(path_of(hook) + "/deliveries?limit=2").json();
    CHECK(first.at("data").size() == 2);
    auto const rest = front
                          .get(path_of(hook) + "/deliveries?limit=200&cursor=" +
                               first.at("next_cursor").get<std::string>())
                          .json();
    CHECK(rest.at("data").size() == told.size() + 1 - 2);
    CHECK(rest.at("next_cursor").is_null());
}

TEST_CASE("a webhook that cannot be is refused with every fault, and an unknown one is not found")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const refused = [&](json const& body) {
        auto const answer = front.post("/v1/webhooks", body);
        return outcome(answer) + ' ' + pointers_in(answer);
    };
    CHECK(refused(json::object()) == "400 validation-failed /url");
    CHECK(refused({{"url", "https://shop.example/x"}, {"types", json::array()}, {"secret", "x"}}) ==
          "400 validation-failed /types /secret");
    CHECK(refused({{"url", "https://shop.example/x"},
                   {"types", {"stock.low", "stock.low"}},
                   {"sku_prefix", ""},
                   {"description", 7}}) == "400 validation-failed /types /sku_prefix /description");
    for (std::string const odd :
         {"", "shop.example/x", "ftp://shop.example/x", "https://", "https:///x",
          "https://user:secret@shop.example/x", "https://shop.example/x#y", "https://shop example/",
          "javascript:alert(1)", "file:///etc/passwd", "https://shop.example:99999/",
          "https://shop.example\\@evil.example/", "https://\xC3\xA9.example/", "gopher://x/",
          "HTTP://93.184.216.34/", "HTTPS://shop.example/",
          // addresses of our own network, however they are written
          "https://127.0.0.1/", "http://10.1.2.3/", "https://[::1]/", "https://[::ffff:10.0.0.1]/",
          "https://169.254.169.254/latest/meta-data", "https://0.0.0.0/",
          "https://192.168.1.1:8443/", "https://[fd00::1]/", "https://[fe80::1]/",
          "https://[64:ff9b::a00:1]/", "https://2130706433/", "https://0x7f000001/",
          "https://0177.0.0.1/", "https://127.1/", "https://100.64.0.1/",
          "http://93.184.216.34/"}) {
        CAPTURE(odd);
        CHECK(refused({{"url", odd}}) == "400 validation-failed /url");
    }
    auto const there = make_hook(front, {{"url", "https://shop.example/hooks"}});
    auto const absent = "/v1/webhooks/01a22a98-06d9-76a4-8d57-5227fc17dbc0";
    for (auto const& path : {std::string(absent), std::string("/v1/webhooks/x")}) {
        CHECK(outcome(front.get(path)) == "404 not-found");
        CHECK(outcome(front.get(path + "/deliveries")) == "404 not-found");
        for (std::string const call : {"/rotate", "/test", "/deliveries/evt_1_1_1_0/resend"})
            CHECK(outcome(front.post(path + call, json::object())) == "404 not-found");
        CHECK(outcome(front.post(path + "/replay", {{"since", "2026-01-01T00:00:00Z"}})) ==
              "404 not-found");
        CHECK(outcome(front.http().send({.method = "DELETE", .target = path})) == "404 not-found");
    }
    CHECK(outcome(front.post(path_of(there) + "/deliveries/evt_1_1_1_0/resend", json::object())) ==
          "404 not-found");
    for (std::string const odd : {"%FF", "evt_1_1_1_0%00junk"})
        CHECK(outcome(front.post(path_of(there) + "/deliveries/" + odd + "/resend",
                                 json::object())) == "404 not-found");
    CHECK(outcome(front.post(path_of(there) + "/replay", {{"since", nullptr}})) ==
          "400 validation-failed");
    CHECK(outcome(front.post(path_of(there) + "/rotate", {{"keep_former_seconds", 604'801}})) ==
          "400 validation-failed");
    CHECK(outcome(front.get(path_of(there) + "/deliveries?state=lost&cursor=x")) ==
          "400 validation-failed");
    auto const gone = front.http().send({.method = "DELETE", .target = path_of(there)});
    CHECK(gone.status == 204);
    CHECK(gone.body.empty());
    CHECK_FALSE(gone.header("content-length"));
    CHECK(outcome(front.get(path_of(there))) == "404 not-found");

    for (int i = 0; i < 100; ++i)
        REQUIRE(outcome(front.post("/v1/webhooks", {{"url", "https://shop.example/hooks"}})) ==
                "201");
    CHECK(refused({{"url", "https://shop.example/hooks"}}) == "400 validation-failed ");
}

TEST_CASE("a name that leads to our own network is not called")
{
    database const db;
    service_process const service(
        {.database_url = db.connection_string(), .arguments = {"--webhook-retry-seconds", "0"}});
    shop front(service);
    receiver const inside;
    auto const port = std::to_string(inside.port());
    std::map<std::string, std::string> const faults{
        {"https://localhost:" + port + "/", "is no public address"},
        {"http://localhost:" + port + "/", "is no public address"},
        {"https://no-such-host.invalid/", "resolve host"}};
    for (auto const& [url, fault] : faults) {
        CAPTURE(url);
        auto const hook = make_hook(front, {{"url", url}});
        REQUIRE(outcome(front.post(path_of(hook) + "/test", json::object())) == "202");
        REQUIRE(eventually(30s, [&] { return deliveries_of(front, hook, "dead").size() == 1; }));
        auto const dead = deliveries_of(front, hook, "dead").at(0);
        CHECK(dead.at("last_fault").get<std::string>().find(fault) != std::string::npos);
        CHECK(dead.at("last_status").is_null());
    }
    CHECK(inside.all().empty());
}

TEST_CASE("however a call fails on the way, it is noted, tried again, and delays nobody else")
{
    database const db;
    service_process const service(
        with_hooks(db, {"--webhook-retry-seconds", "0,0,0", "--webhook-timeout-seconds", "1"}));
    shop front(service);
    using kind = reaction::kind;
    struct {
        kind how;
        std::string fault; // empty: the answer counts as soon as its head is there
    } const cases[] = {{kind::hang_up, "Server returned nothing (no headers, no data)"},
                       {kind::half_a_head, "Server returned nothing (no headers, no data)"},
                       {kind::drip, "it did not answer in time"},
                       {kind::flood, ""}};
    receiver const good;
    make_hook(front, {{"url", good.url()}});
    std::vector<std::pair<std::unique_ptr<receiver>, json>> bad;
    for (auto const& each : cases) {
        auto office = std::make_unique<receiver>(
            [how = each.how](received const&) { return reaction{.status = 200, .how = how}; });
        auto hook = make_hook(front, {{"url", office->url()}});
        bad.emplace_back(std::move(office), std::move(hook));
    }
    receiver const plain;
    auto const no_tls =
        make_hook(front, {{"url", "https://127.0.0.1:" + std::to_string(plain.port()) + "/"}});
    auto const sku = front.item(10);
    auto const began = std::chrono::steady_clock::now();
    for (int i = 0; i < 5; ++i)
        front.reserve(sku);
    REQUIRE(good.has(6));
    CHECK(std::chrono::steady_clock::now() - began < 3s);
    REQUIRE(eventually(30s, [&] { return deliveries_of(front, no_tls, "dead").size() == 6; }));
    CHECK(plain.all().empty());
    CHECK(deliveries_of(front, no_tls, "dead")[0].at("last_fault") == "it did not answer in time");
    for (std::size_t i = 0; i < std::size(cases); ++i) {
        CAPTURE(i);
        auto const& [office, hook] = bad[i];
        bool const is_lost = i < 3;
        REQUIRE(eventually(40s, [&, &to = hook] {
            return deliveries_of(front, to, is_lost ? "dead" : "delivered").size() == 6;
        }));
        if (is_lost) {
            auto const dead = deliveries_of(front, hook, "dead").at(0);
            CHECK(dead.at("attempts") == 3);
            CHECK(dead.at("last_fault") == cases[i].fault);
        }
    }
}

TEST_CASE("several processes deliver each event once, and take over from one that dies")
{
    database const db;
    auto first = std::make_unique<service_process>(with_hooks(db));
    auto second = std::make_unique<service_process>(with_hooks(db));
    receiver const office;
    shop front(*second);
    make_hook(front, {{"url", office.url()}});
    std::vector<std::string> skus;
    for (int i = 0; i < 5; ++i)
        skus.push_back(front.item(1000));
    auto const rush = [&](service_process const& service) {
        auto tills = shops(service, 5);
        run_together(tills.size(), [&](std::size_t i) {
            for (int n = 0; n < 40; ++n)
                tills[i].reserve(skus[i]);
            return 0;
        });
    };
    rush(*first);
    REQUIRE(office.has(205));
    std::map<std::string, int> times;
    for (auto const& call : office.all())
        ++times[call.header("webhook-id")];
    CHECK(times.size() == 205);
    for (auto const& [id, count] : times)
        CHECK(count == 1);

    // Whoever has it dies in the middle of the next rush.
    std::jthread buyers([&] { rush(*second); });
    CHECK(office.has(230));
    first->kill9();
    buyers.join();
    REQUIRE(eventually(60s, [&] {
        std::set<std::string> ids;
        for (auto const& call : office.all())
            ids.insert(call.header("webhook-id"));
        return ids.size() == 405;
    }));
    CHECK(front.audit_ok());
}

TEST_CASE("a SKU that fails again and again leaves the others their room, and misses nothing")
{
    constexpr std::size_t count = 1400; // more than may wait of one SKU, and of all of them
    database const db;
    service_process const service(with_hooks(db, {"--webhook-retry-seconds", "0,1,1,1,1,1,1,1,1"}));
    shop front(service);
    std::string stuck;
    std::atomic<bool> is_mended{false};
    receiver const office([&](received const& call) {
        bool const is_stuck = call.event().at("sku") == stuck && !is_mended;
        return reaction{.status = is_stuck ? 500 : 204};
    });
    stuck = front.item(1'000'000);
    auto const free = front.item(1'000'000);
    REQUIRE(wait_until_told(front, {stuck, free}));
    auto const hook = make_hook(front, {{"url", office.url()}});
    auto tills = shops(service, 7);
    run_together(tills.size(), [&](std::size_t i) {
        for (std::size_t n = 0; n < count / tills.size(); ++n)
            tills[i].reserve(stuck);
        return 0;
    });
    front.reserve(free);
    auto const has_free = [&] {
        auto const calls = office.all();
        return std::ranges::any_of(
            calls, [&](received const& call) { return call.event().at("sku") == free; });
    };
    REQUIRE(eventually(10s, has_free));

    is_mended = true;
    REQUIRE(eventually(
        60s, [&] { return deliveries_of(front, hook, "delivered").size() == count + 1; }));
    std::int64_t version = 1;
    for (auto const& call : office.all()) {
        auto const e = call.event();
        if (e.at("sku") != stuck || e.at("version") == version)
            continue; // another try of the same
        CHECK(e.at("version") == version + 1);
        version = e.at("version");
    }
    CHECK(version == static_cast<std::int64_t>(count) + 1);
    CHECK(db.session().value("SELECT count(*) FROM webhook_backlog") == "0");
}

TEST_CASE("whoever is paused or loses the database in the middle of a call keeps the order")
{
    constexpr auto two_looks = 2500ms; // of the courier at the list of webhooks
    database const db;
    service_process const service(with_hooks(db));
    shop front(service);
    std::atomic<int> calls{0}, slow_status{204};
    receiver const office([&](received const&) {
        return ++calls == 2 ? reaction{.status = slow_status, .after = 4000ms} : reaction{};
    });
    auto const sku = front.item(100);
    auto const hook = make_hook(front, {{"url", office.url()}});
    REQUIRE(office.has(1));
    front.reserve(sku); // the slow one
    REQUIRE(office.has(2));
    front.reserve(sku);
    auto const patch = [&](std::string const& state) {
        front.http().send({.method = "PATCH",
                           .target = path_of(hook),
                           .body = R"({"state":")" + state + R"("})"});
    };
    patch("paused");
    CHECK_FALSE(eventually(two_looks, [&] { return office.all().size() > 2; }));
    patch("active");
    REQUIRE(office.has(3));
    // The one behind waited for the slow one's answer.
    CHECK(office.all()[2].at - office.all()[1].at >= 3900ms);
    REQUIRE(eventually(30s, [&] { return deliveries_of(front, hook, "pending").empty(); }));

    // A session that is lost: what is under way is cut and sent again, before what is behind it.
    slow_status = 500;
    calls = 1;
    front.reserve(sku);
    REQUIRE(office.has(4));
    front.reserve(sku);
    front.reserve(sku);
    db.session().run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                     " WHERE query LIKE '%webhook%' AND pid <> pg_backend_pid()"
                     "   AND datname = current_database()");
    REQUIRE(eventually(30s, [&] { return deliveries_of(front, hook, "pending").empty(); }));
    std::int64_t version = 0;
    for (auto const& call : office.all()) {
        CHECK(call.event().at("version") >= version);
        version = call.event().at("version");
    }
    CHECK(version == 6);
}

TEST_CASE("a webhook somebody has locked delays no other one")
{
    database const db;
    service_process const service(
        with_hooks(db, {"--statement-timeout-ms", "60000", "--lock-timeout-ms", "30000"}));
    shop front(service);
    receiver const office, other;
    auto const locked = make_hook(front, {{"url", office.url()}});
    make_hook(front, {{"url", other.url()}});
    auto const sku = front.item(10);
    REQUIRE(office.has(1));
    REQUIRE(other.has(1));
    auto clerk = db.session();
    clerk.run("BEGIN");
    clerk.run("SELECT FROM webhook WHERE id = $1::uuid FOR UPDATE", {locked.at("id")});
    auto const began = std::chrono::steady_clock::now();
    for (int i = 0; i < 3; ++i) {
        front.reserve(sku);
        REQUIRE(other.has(static_cast<std::size_t>(i) + 2));
    }
    CHECK(std::chrono::steady_clock::now() - began < 2s); // less than one wait for a lock
    CHECK(office.all().size() == 1);
    clerk.run("COMMIT");
    CHECK(office.has(4));
}

TEST_CASE("a webhook with very many deliveries goes at once, and they go bit by bit")
{
    database const db;
    service_options options =
        with_hooks(db, {"--statement-timeout-ms", "100", "--lock-timeout-ms", "100"});
    auto service = std::make_unique<service_process>(options);
    json hook;
    {
        shop front(*service);
        hook = make_hook(front, {{"url", "https://shop.example/"}});
        db.session().run("INSERT INTO webhook_delivery (webhook_id, event_id, event_type, body,"
                         "                              state, settled_at)"
                         " SELECT $1::uuid, 'evt_1_1_1_' || i, 'stock.adjusted', repeat('x', 400),"
                         "        'dead', now() FROM generate_series(1, 50000) AS i",
                         {hook.at("id")});
        CHECK(front.http().send({.method = "DELETE", .target = path_of(hook)}).status == 204);
        CHECK(outcome(front.get(path_of(hook))) == "404 not-found");
        CHECK(front.get("/v1/webhooks").json().at("data").empty());
    }
    service.reset();
    options.arguments = hook_arguments();
    service_process const later(options); // begins with a clean-up
    auto clerk = db.session();
    CHECK(eventually(60s, [&] { return clerk.value("SELECT count(*) FROM webhook") == "0"; }));
    CHECK(clerk.value("SELECT count(*) FROM webhook_delivery") == "0");
}

TEST_CASE("the schedule holds for the first attempt, and only who is busy says when to come back")
{
    database const db;
    service_process const service(with_hooks(db, {"--webhook-retry-seconds", "1,0,0"}));
    shop front(service);
    std::atomic<int> calls{0};
    receiver const office([&](received const&) {
        return reaction{.status = ++calls == 1 ? 500 : 204, .headers = {{"Retry-After", "60"}}};
    });
    make_hook(front, {{"url", office.url()}});
    auto const began = std::chrono::steady_clock::now();
    front.item(1);
    REQUIRE(office.has(2));
    auto const all = office.all();
    CHECK(all[0].at - began >= 900ms);
    CHECK(all[1].at - all[0].at < 10s); // 500 is no answer of somebody who is busy
}

TEST_CASE("a late 410 of an old address does not end the webhook at its new one")
{
    database const db;
    service_process const service(with_hooks(db));
    shop front(service);
    receiver const old([](received const&) { return reaction{.status = 410, .after = 2000ms}; });
    receiver const fresh;
    auto const hook = make_hook(front, {{"url", old.url()}});
    front.item(1);
    REQUIRE(old.has(1));
    front.http().send(
        {.method = "PATCH", .target = path_of(hook), .body = json({{"url", fresh.url()}}).dump()});
    REQUIRE(fresh.has(1)); // the same event, once the old address has answered
    CHECK(fresh.all()[0].header("webhook-id") == old.all()[0].header("webhook-id"));
    CHECK(front.get(path_of(hook)).json().at("state") == "active");
}

TEST_CASE("a list of webhooks has pages, and never more of them than there may be")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 8);
    auto const made = run_together(tills.size(), [&](std::size_t i) {
        std::size_t count = 0;
        for (int n = 0; n < 14; ++n)
            count +=
                tills[i].post("/v1/webhooks", {{"url", "https://shop.example/"}}).status == 201;
        return count;
    });
    std::size_t count = 0;
    for (auto const each : made)
        count += each;
    CHECK(count == 100);
    std::set<std::string> ids;
    std::string cursor;
    for (int page = 0; page < 4; ++page) {
        auto const shown =
            front.get("/v1/webhooks?limit=30" + (page > 0 ? "&cursor=" + cursor : "")).json();
        for (auto const& each : shown.at("data"))
            CHECK(ids.insert(each.at("id")).second);
        CHECK(shown.at("next_cursor").is_null() == (page == 3));
        if (page < 3)
            cursor = shown.at("next_cursor");
    }
    CHECK(ids.size() == 100);
    for (std::string const odd : {" A", "e\u0301", "\u0000"}) {
        auto const refused = front.post_text(
            "/v1/webhooks", R"({"url":"https://shop.example/","sku_prefix":")" + odd + "\"}");
        CHECK(pointers_in(refused) == "/sku_prefix");
    }
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// The fast path as a shop sees it: switched on and off in the middle of a sale, in several buckets,
// with limits, on a cluster, and beside a Redis that somebody has changed by hand.
#include "service/fast_path/bucket.hpp"
#include "service/fast_path/comparison.hpp"
#include "tests/cli/command.hpp"
#include "tests/support/database.hpp"
#include "tests/support/fast_stage.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

http_response switch_off(shop& front, std::string const& sku)
{
    return front.http().send({.method = "DELETE", .target = "/v1/fast-path/" + sku});
}

std::string state_key(std::string const& sku, int bucket = 0)
{
    return fast_path::bucket_of("holdfast", sku, bucket).state;
}

fast_path::facts available(units number, std::int64_t version)
{
    db::fast_path::fact known;
    known.location = "main";
    known.available = number;
    known.version = version;
    return {{"main", known}};
}

// Redis alone before one item, with nobody who keeps it in line.
struct bare_redis {
    explicit bare_redis(int buckets, units limit)
        : one{.sku = sku("TENT"), .buckets = buckets, .epoch = 1}, known{{"TENT", one}}
    {
        for (int i = 0; i < buckets; ++i) {
            auto const keys = fast_path::bucket_of("holdfast", "TENT", i);
            fast_path::grant const rules{.until = fast_path::redis_time(4'000'000'000'000),
                                         .closes = fast_path::redis_time(4'000'000'000'000),
                                         .limit = limit,
                                         .is_all_known = true};
            REQUIRE(run(fast_path::load(keys, 1, "TENT", false)) == 1);
            REQUIRE(run(fast_path::give(keys, 1, rules)) == 1);
        }
    }

    std::int64_t run(redis::request const& what)
    {
        return client.run(std::vector{what}).front().number();
    }

    void give(int bucket, units more)
    {
        static_cast<void>(
            server.ask({"HINCRBY", state_key("TENT", bucket), "a:main", std::to_string(more)}));
    }

    fast_path::admission ask(units quantity)
    {
        command = {.key = {.api_key_id = 1, .key = uuid::make_v7().str()},
                   .actor = "x",
                   .lines = {{{sku("TENT"), location("main")}, quantity}},
                   .customer = "c"};
        fast_path::admission entry(command, known, false);
        auto* const asked = &entry;
        fast_path::admit(client, "holdfast", std::span(&asked, 1), {});
        return entry;
    }

    // PostgreSQL has it.
    void keep(fast_path::admission const& of)
    {
        tell({{one,
               of.parts().front()->bucket,
               {.id = of.id().str(), .fate = fast_path::fate::kept}}});
    }

    void give_up()
    {
        std::vector<fast_path::telling> told;
        fast_path::add_freed(told, one, home(), {.customer = "c"});
        tell(told);
    }

    void tell(std::vector<fast_path::telling> const& told)
    {
        fast_path::admit(client, "holdfast", {}, told);
    }

    [[nodiscard]] int home() const { return fast_path::home_of("c", "", one.buckets); }

    redis_server server;
    redis::client client{server.target()};
    fast_path::item one;
    fast_path::items known;
    reserve_command command;
};

bool is_taken(fast_path::admission const& of)
{
    return of.parts().front()->verdict == fast_path::verdict::taken;
}

bool is_limited(fast_path::admission const& of)
{
    return of.parts().front()->verdict == fast_path::verdict::customer_limit;
}

} // namespace

TEST_CASE("what a customer gave back is forgotten in every bucket that served him")
{
    bare_redis stage(3, 2);
    auto const other = (stage.home() + 1) % 3; // his own one has none
    stage.give(other, 6);
    auto const first = stage.ask(2);
    REQUIRE(is_taken(first));
    CHECK(first.parts().front()->bucket == other);
    stage.keep(first);
    CHECK(is_limited(stage.ask(1)));
    stage.give_up();
    CHECK(is_taken(stage.ask(2)));
}

TEST_CASE("whoever gave something up before Redis knew that he had it is not refused for it")
{
    bare_redis stage(1, 1);
    stage.give(0, 9);
    auto const first = stage.ask(1);
    REQUIRE(is_taken(first));
    stage.give_up();
    stage.keep(first); // late
    auto const second = stage.ask(1);
    CHECK(is_taken(second));
    stage.keep(second);
    CHECK(is_limited(stage.ask(1)));
}

TEST_CASE("a difference is told only when it is one for certain")
{
    using fast_path::differences;
    CHECK(differences(available(5, 7), available(5, 7), {{"main", 5}}).empty());
    CHECK(differences(available(9, 7), available(5, 8), {{"main", 9}}).empty()); // sold in between
    // Came back and was sold again in between.
    CHECK(differences(available(0, 7), available(0, 9), {{"main", 1}}).empty());
    auto const missing = differences(available(5, 7), available(5, 8), {{"main", 3}});
    REQUIRE(missing.size() == 1);
    CHECK(missing.front().expected - missing.front().found == 2);
    auto const over = differences(available(5, 7), available(5, 7), {{"main", 8}});
    REQUIRE(over.size() == 1);
    CHECK(over.front().expected - over.front().found == -3);
    CHECK(differences({}, available(5, 1), {}).front().expected == 5); // just loaded
}

TEST_CASE("buckets get about the same, and are left alone while they do well")
{
    fast_path::sight full, empty, half;
    full.levels["main"].available = 10;
    half.levels["main"].available = 6;
    empty.levels["main"].available = 0;
    auto const evened = fast_path::spread({full, empty}, {});
    CHECK(evened.at(0).at("main") == -5);
    CHECK(evened.at(1).at("main") == 5);
    auto const left = fast_path::spread({full, half}, {});
    CHECK(left.at(0).empty());
    CHECK(left.at(1).empty());
    auto const given = fast_path::spread({empty, empty}, {{"main", 5, 0}});
    CHECK(given.at(0).at("main") + given.at(1).at("main") == 5);
}

TEST_CASE("the fast path is switched on and off in the middle of a sale")
{
    fast_stage shop_floor;
    auto const sku = shop_floor.front.item(150);
    auto buyers = shops(shop_floor.service, 6);
    std::vector<std::vector<http_response>> answers(buyers.size());
    std::vector<std::jthread> buying;
    for (std::size_t i = 0; i < buyers.size(); ++i)
        buying.emplace_back([&, i] {
            for (int n = 0; n < 40; ++n)
                answers[i].push_back(buyers[i].reserve(sku));
        });
    fast_stage::make_fast(shop_floor.front, sku, 1);
    fast_stage::make_fast(shop_floor.front, sku, 4);
    CHECK(switch_off(shop_floor.front, sku).status == 204);
    CHECK(switch_off(shop_floor.front, sku).status == 404);
    fast_stage::make_fast(shop_floor.front, sku, 2);
    buying.clear();
    std::size_t made = 0;
    for (auto const& each : answers)
        for (auto const& answer : each) {
            made += answer.status == 201 ? 1 : 0;
            CHECK((answer.status == 201 || outcome(answer) == "409 insufficient-stock"));
        }
    CHECK(made == 150);
    CHECK(shop_floor.item_shown(sku).at("fast_path").at("buckets") == 2);
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("a request that is repeated has its first answer, however sold out it is")
{
    fast_stage shop_floor;
    for (int const buckets : {1, 4}) {
        auto const sku = shop_floor.front.item(1);
        json const body{{"lines", {{{"sku", sku}, {"quantity", 1}}}}};
        auto const ask = [&](std::string const& key) {
            return shop_floor.front.http().send({.method = "POST",
                                                 .target = "/v1/reservations",
                                                 .body = body.dump(),
                                                 .headers = {{"Idempotency-Key", key}}});
        };
        // One from before the fast path, and one that went past it.
        auto const before = ask("before-" + sku);
        CHECK(before.status == 201);
        fast_stage::make_fast(shop_floor.front, sku, buckets);
        CHECK(outcome(ask("other-" + sku)) == "409 insufficient-stock");
        CHECK(id_of(ask("before-" + sku)) == id_of(before));
        shop_floor.front.adjust(sku, {{"delta", 1}, {"reason", "received"}});
        REQUIRE(eventually(soon, [&] { return shop_floor.has(sku, 1); }));
        auto const during = ask("during-" + sku);
        CHECK(during.status == 201);
        REQUIRE(eventually(soon, [&] { return shop_floor.has(sku, 0); }));
        CHECK(id_of(ask("during-" + sku)) == id_of(during));
        CHECK(id_of(ask("before-" + sku)) == id_of(before));
    }
}

TEST_CASE("a customer's limit holds, is told by Redis, and is free again after a release")
{
    fast_stage shop_floor;
    auto const sku = shop_floor.item(100, {{"max_per_customer", 2}});
    auto tills = shops(shop_floor.service, 10);
    auto const answers = run_together(tills.size(), [&](std::size_t i) {
        return tills[i].reserve({{sku}}, {{"customer", "c-1"}});
    });
    std::vector<std::string> held;
    for (auto const& each : answers)
        if (each.status == 201)
            held.push_back(id_of(each));
    CHECK(held.size() == 2);
    auto const again = [&] {
        return outcome(shop_floor.front.reserve({{sku}}, {{"customer", "c-1"}}));
    };
    auto const before = shop_floor.refused();
    for (int i = 0; i < 10; ++i)
        CHECK(again() == "409 customer-limit");
    CHECK(shop_floor.refused() > before);
    CHECK(outcome(shop_floor.front.reserve({{sku}}, {{"customer", "c-2"}})) == "201");
    shop_floor.front.release(held.front());
    CHECK(again() == "201");
    CHECK(again() == "409 customer-limit");
    auto const short_hold =
        id_of(shop_floor.front.reserve({{sku}}, {{"customer", "c-3"}, {"ttl_seconds", 1}}));
    shop_floor.front.wait_until_expired(short_hold);
    CHECK(eventually(soon, [&] {
        return outcome(shop_floor.front.reserve({{sku, 2}}, {{"customer", "c-3"}})) == "201";
    }));
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("who asks for too many can still have what he may have")
{
    fast_stage shop_floor;
    auto const sku = shop_floor.front.item(100, {{"max_per_customer", 3}});
    auto const ask = [&](std::int64_t quantity, json more = json::object()) {
        more["customer"] = "c-1";
        return shop_floor.front.reserve({{sku, quantity}}, more);
    };
    CHECK(outcome(ask(1)) == "201"); // Redis will not know of it
    fast_stage::make_fast(shop_floor.front, sku, 2);
    CHECK(outcome(ask(3)) == "409 customer-limit");
    auto const second = ask(1);
    CHECK(outcome(second) == "201");
    CHECK(outcome(ask(2)) == "409 customer-limit");
    CHECK(outcome(ask(1, {{"supersedes", id_of(second)}})) == "201");
    CHECK(outcome(ask(1)) == "201");
    CHECK(outcome(ask(1)) == "409 customer-limit");
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("a basket of several fast items is taken whole or not at all")
{
    fast_stage shop_floor;
    auto const plenty = shop_floor.item(50, json::object(), 3);
    auto const scarce = shop_floor.item(3);
    auto tills = shops(shop_floor.service, 20);
    auto const answers = run_together(tills.size(), [&](std::size_t i) {
        return tills[i].reserve({{plenty}, {scarce}});
    });
    CHECK(std::ranges::count(answers, 201, &http_response::status) == 3);
    CHECK(eventually(soon, [&] { return shop_floor.has(plenty, 47); }));
    CHECK(eventually(soon, [&] { return shop_floor.has(scarce, 0); }));
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("what somebody changes in Redis by hand is found, told and put right")
{
    fast_stage shop_floor;
    auto const sku = shop_floor.item(20);
    REQUIRE(eventually(soon, [&] { return shop_floor.has(sku, 20); }));
    for (auto const* by : {"-7", "9"}) {
        static_cast<void>(shop_floor.server.ask({"HINCRBY", state_key(sku), "a:main", by}));
        CHECK(eventually(soon, [&] { return shop_floor.has(sku, 20); }));
    }
    auto const told =
        run_holdfast({.arguments = {"reconcile", "--repair"},
                      .environment = {{"HOLDFAST_URL", shop_floor.service.url()},
                                      {"HOLDFAST_KEY", shop_floor.service.admin_key()}}});
    CHECK(told.status == 0);
    CHECK(told.out == "0 differences, 0 repaired\n");
    CHECK(shop_floor.front.get("/metrics")
              .body.find("holdfast_fast_path_corrected_units_total{direction=\"fewer\"} 9") !=
          std::string::npos);
    CHECK(outcome(shop_floor.front.reserve(sku, 20)) == "201");
    CHECK(outcome(shop_floor.front.reserve(sku)) == "409 insufficient-stock");
}

TEST_CASE("on a cluster a sale goes on when a master dies in the middle of it")
{
    database const db;
    redis_cluster cluster;
    service_process const service(options_with(db, cluster.url()));
    shop front(service);
    auto const sku = front.item(120);
    fast_stage::make_fast(front, sku, 3);
    auto buyers = shops(service, 6);
    std::vector<std::vector<http_response>> answers(buyers.size());
    std::vector<std::jthread> buying;
    for (std::size_t i = 0; i < buyers.size(); ++i)
        buying.emplace_back([&, i] {
            for (int n = 0; n < 40; ++n)
                answers[i].push_back(buyers[i].reserve(sku));
        });
    REQUIRE(eventually(20s, [&] { return front.level_of(sku).reserved > 30; }));
    cluster.master_of(state_key(sku)).kill9();
    buying.clear();
    std::size_t made = 0;
    for (auto const& each : answers)
        made += static_cast<std::size_t>(std::ranges::count(each, 201, &http_response::status));
    CHECK(made == 120);
    CHECK(eventually(60s, [&] {
        auto const shown = json::parse(front.get("/v1/fast-path/" + sku).body);
        return shown.at("state") == "live" && shown.at("available") == 0;
    }));
    CHECK(front.audit_ok());
}

TEST_CASE("without a Redis, or for what is no item, the fast path is refused with a reason")
{
    fast_stage shop_floor;
    service_process const plain({.database_url = shop_floor.db.connection_string()});
    shop other(plain);
    auto const sku = shop_floor.front.item(1);
    auto const put = [](shop& till, std::string const& name, std::string body) {
        return outcome(till.http().send(
            {.method = "PUT", .target = "/v1/fast-path/" + name, .body = std::move(body)}));
    };
    CHECK(put(other, sku, "{}") == "400 validation-failed");
    CHECK(put(shop_floor.front, "no-such-item", "{}") == "404 unknown-sku");
    for (auto const* wrong : {R"({"buckets":0})", R"({"buckets":65})", R"({"mode":"fast"})",
                              R"({"mode":"durable","more":1})", R"([])"})
        CHECK_MESSAGE(put(shop_floor.front, sku, wrong) == "400 validation-failed", wrong);
    CHECK(shop_floor.front.get("/v1/fast-path/" + sku).status == 404);
    CHECK(shop_floor.item_shown(sku).at("fast_path").is_null());
    CHECK(outcome(shop_floor.front.reserve(sku)) == "201");
}

} // namespace holdfast::test

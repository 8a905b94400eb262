// SPDX-License-Identifier: Apache-2.0
// Commands to one server and to a cluster: what is answered, what is said when nobody answers, and
// that keys are found wherever they go.
#include "redis/client.hpp"
#include "redis/error.hpp"
#include "redis/script.hpp"
#include "redis/slot.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using redis::request;

std::string kind_of(redis::reply const& got)
{
    return got.why() == nullptr ? "" : std::string(got.why()->kind());
}

request set(std::string const& key, std::string const& value)
{
    return {key, {"SET", key, value}};
}

request get(std::string const& key)
{
    return {key, {"GET", key}};
}

std::vector<std::string> some_keys()
{
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i)
        keys.push_back("key:" + std::to_string(i));
    return keys;
}

// One event. The stream has to have no place yet.
redis::reply publish(redis::client& client, std::string const& place)
{
    std::array<std::string, 2> const keys{"s", "{s}:place"};
    std::array<std::string, 7> const arguments{"", place, "0", "id", "type", "sku", "{}"};
    return client.run({"s", redis::call("publish", keys, arguments)});
}

} // namespace

TEST_CASE("slots are those of the specification")
{
    CHECK(redis::slot_of("123456789") == 0x31C3);
    CHECK(redis::slot_of("{user1000}.following") == redis::slot_of("user1000"));
    CHECK(redis::slot_of("foo{}{bar}") == redis::slot_of("foo{}{bar}"));
    CHECK(redis::slot_of("foo{}{bar}") != redis::slot_of("bar"));
    CHECK(redis::slot_of("foo{{bar}}zap") == redis::slot_of("{bar"));
    CHECK(redis::slot_of("foo{bar}{zap}") == redis::slot_of("bar"));
}

TEST_CASE("a URL says where Redis is and who we are, or is refused")
{
    auto const full = redis::parse_target("redis://shop:p%40ss@10.0.0.1:7001,[::1],b:7003/3");
    REQUIRE(full);
    CHECK(full->user == "shop");
    CHECK(full->password == "p@ss");
    CHECK(full->database == 3);
    CHECK(full->nodes == std::vector<redis::node>{{"10.0.0.1", 7001}, {"::1", 6379}, {"b", 7003}});
    CHECK(redis::parse_target("redis://:secret@localhost")->user.empty());
    for (auto const* wrong : {"", "localhost:6379", "rediss://localhost", "redis://", "redis://a:0",
                              "redis://a:x", "redis://a:65536", "redis://a,,b", "redis://a/x",
                              "redis://a/-1", "redis://a/1001", "redis://user@a", "redis://user:@a",
                              "redis://u:%G0@a", "redis://[::1", "redis://[::1]x", "redis://a b"})
        CHECK_MESSAGE(!redis::parse_target(wrong), wrong);
}

TEST_CASE("commands are answered in order, each by its own kind")
{
    redis_server const server;
    redis::client client(server.target());
    std::vector<request> const asked{set("a", "1"),
                                     {"a", {"INCR", "a"}},
                                     get("a"),
                                     get("none"),
                                     {"a", {"LPUSH", "a", "x"}},
                                     {"l", {"RPUSH", "l", "x", "y"}},
                                     {"l", {"LRANGE", "l", "0", "-1"}}};
    auto const got = client.run(asked);
    CHECK(got.at(0).text() == "OK");
    CHECK(got.at(1).number() == 2);
    CHECK(got.at(2).text() == "2");
    CHECK(got.at(3).is_nil());
    CHECK(kind_of(got.at(4)) == "WRONGTYPE");
    CHECK(got.at(6).parts().at(1).text() == "y");
    CHECK_THROWS_AS(static_cast<void>(got.at(6).number()), redis::error);
    CHECK_FALSE(client.is_cluster());
}

TEST_CASE("a script that a node has forgotten is sent again")
{
    redis_server const server;
    redis::client client(server.target());
    CHECK(publish(client, "1").number() == 1);
    static_cast<void>(server.ask({"SCRIPT", "FLUSH"}));
    CHECK(publish(client, "2").number() == 0); // it stands at 1
}

TEST_CASE("a password, a user and a database are used, and a wrong one is said")
{
    redis_server const server(
        {"--requirepass", "se:cret", "--user", "shop", "on", ">pass", "~*", "+@all"});
    auto const at = "@127.0.0.1:" + std::to_string(server.port());
    redis::client owner(redis::parse_target("redis://:se%3Acret" + at + "/2").value());
    CHECK(owner.run(set("a", "1")).text() == "OK");
    redis::client staff(redis::parse_target("redis://shop:pass" + at + "/2").value());
    CHECK(staff.run(get("a")).text() == "1");
    redis::client stranger(redis::parse_target("redis://shop:guess" + at).value());
    CHECK(kind_of(stranger.run(get("a"))) == "LOST");
}

TEST_CASE("a server that is gone, hangs or comes back costs a bounded time")
{
    redis_server server;
    redis::client client(server.target(), {.connect = 200ms, .answer = 200ms});
    CHECK(client.run(set("a", "1")).text() == "OK");

    server.suspend();
    auto const before = std::chrono::steady_clock::now();
    CHECK(kind_of(client.run(get("a"))) == "LOST");
    CHECK(std::chrono::steady_clock::now() - before < 2s);
    server.resume();
    CHECK(eventually(5s, [&] { return client.run(get("a")).why() == nullptr; }));

    server.kill9();
    CHECK(kind_of(client.run(get("a"))) == "LOST");
    server.start();
    CHECK(eventually(5s, [&] { return client.run(get("a")).is_nil(); }));
}

TEST_CASE("a cluster is found from one of its nodes, and its keys are followed")
{
    redis_cluster cluster;
    redis::client client(cluster.nodes().front()->target());
    std::vector<request> sets, gets;
    for (auto const& key : some_keys()) {
        sets.push_back(set(key, key));
        gets.push_back(get(key));
    }
    for (auto const& got : client.run(sets))
        CHECK(got.text() == "OK");
    CHECK(client.is_cluster());
    auto const check_all = [&](redis::client& by) {
        auto const got = by.run(gets);
        for (std::size_t i = 0; i < got.size(); ++i)
            CHECK(got[i].text() == some_keys()[i]);
    };

    SUBCASE("a slot that moves is followed while it moves and afterwards")
    {
        auto const key = some_keys().front();
        auto const slot = std::to_string(redis::slot_of(key));
        auto& from = cluster.master_of(key);
        redis_server* to = nullptr;
        for (auto const& other : some_keys())
            if (auto& owner = cluster.master_of(other); &owner != &from)
                to = &owner;
        REQUIRE(to != nullptr);
        auto const id_of = [](redis_server const& node) {
            return node.ask({"CLUSTER", "MYID"}).text();
        };
        static_cast<void>(to->ask({"CLUSTER", "SETSLOT", slot, "IMPORTING", id_of(from)}));
        static_cast<void>(from.ask({"CLUSTER", "SETSLOT", slot, "MIGRATING", id_of(*to)}));
        static_cast<void>(
            from.ask({"MIGRATE", "127.0.0.1", std::to_string(to->port()), key, "0", "5000"}));
        check_all(client); // ASK
        for (auto* node : {to, &from})
            static_cast<void>(node->ask({"CLUSTER", "SETSLOT", slot, "NODE", id_of(*to)}));
        check_all(client); // MOVED
    }
    SUBCASE("a master that dies is replaced by its replica")
    {
        auto const key = some_keys().front();
        cluster.master_of(key).kill9();
        CHECK(eventually(30s, [&] { return client.run(set(key, "2")).why() == nullptr; }));
        CHECK(client.run(get(key)).text() == "2");
    }
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// Events in a stream of Redis: the same as in the feed, once each, whoever writes and whatever
// happens to Redis meanwhile.
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

service_options options_of(database const& db, std::string const& redis_url,
                           std::vector<std::string> more = {})
{
    return {.database_url = db.connection_string(),
            .arguments = std::move(more),
            .environment = {{"HOLDFAST_REDIS_URL", redis_url}}};
}

// What stands in the stream, as entries of field and value.
std::vector<json> read_stream(redis::client& client, std::string const& name = "holdfast:events")
{
    std::vector<json> entries;
    auto const got = client.run({name, {"XRANGE", name, "-", "+"}});
    for (auto const& entry : got.parts()) {
        auto const& fields = entry.parts().at(1).parts();
        json shown;
        for (std::size_t i = 0; i + 1 < fields.size(); i += 2)
            shown[fields[i].text()] = fields[i + 1].text();
        entries.push_back(shown);
    }
    return entries;
}

std::vector<json> events_in(std::vector<json> const& entries)
{
    std::vector<json> events;
    for (auto const& entry : entries)
        events.push_back(json::parse(entry.at("event").get<std::string>()));
    return events;
}

bool is_same_as_feed(redis::client& client, shop& front)
{
    return eventually(20s, [&] { return events_in(read_stream(client)) == read_feed(front); });
}

// The ids in the stream, each where it stands first. None while Redis does not answer.
std::vector<std::string> ids_in(redis::client& client)
{
    if (client.run({"holdfast:events", {"EXISTS", "holdfast:events"}}).why() != nullptr)
        return {};
    std::vector<std::string> ids;
    for (auto const& entry : read_stream(client))
        if (std::ranges::find(ids, entry.at("id").get<std::string>()) == ids.end())
            ids.push_back(entry.at("id"));
    return ids;
}

bool has_fault(shop& front)
{
    return front.get("/metrics")
               .body.find("holdfast_worker_faults_total{worker=\"stream_writer\"}") !=
           std::string::npos;
}

void trade(shop& front, std::string const& sku, int times)
{
    for (int i = 0; i < times; ++i)
        front.release(front.hold({{sku, 1}}));
}

} // namespace

TEST_CASE("the stream says what the feed says")
{
    database const db;
    redis_server const server;
    service_process const service(options_of(db, server.url()));
    shop front(service);
    redis::client client(server.target());
    auto const sku = front.item(1);
    trade(front, sku, 3);
    REQUIRE(wait_until_told(front, {sku}));
    REQUIRE(is_same_as_feed(client, front));

    auto const last = read_stream(client).back();
    auto const event = json::parse(last.at("event").get<std::string>());
    CHECK(last.at("id") == event.at("id"));
    CHECK(last.at("type") == event.at("type"));
    CHECK(last.at("sku") == sku);
    CHECK(front.get("/metrics").body.find("holdfast_events_streamed_total") != std::string::npos);
}

TEST_CASE("several processes write each event once, and one goes on where another was killed")
{
    database const db;
    redis_server const server;
    redis::client client(server.target());
    service_process first(options_of(db, server.url()));
    service_process const second(options_of(db, server.url()));
    shop front(second);
    auto const sku = front.item(5);
    trade(front, sku, 20);
    REQUIRE(wait_until_told(front, {sku}));
    REQUIRE(is_same_as_feed(client, front));
    first.kill9();
    trade(front, sku, 20);
    REQUIRE(wait_until_told(front, {sku}));
    CHECK(is_same_as_feed(client, front));
}

TEST_CASE("a Redis that was away is told what it missed; one that forgot all, all of it")
{
    database const db;
    redis_server server;
    redis::client client(server.target());
    service_process const service(options_of(db, server.url()));
    shop front(service);
    auto const sku = front.item(5);
    trade(front, sku, 2);
    REQUIRE(wait_until_told(front, {sku}));
    REQUIRE(is_same_as_feed(client, front));

    server.suspend();
    trade(front, sku, 2); // nobody waits for Redis
    CHECK(eventually(20s, [&] { return has_fault(front); }));
    server.resume();
    REQUIRE(wait_until_told(front, {sku}));
    CHECK(is_same_as_feed(client, front));

    server.kill9();
    server.start();
    CHECK(is_same_as_feed(client, front)); // also when nothing is sold meanwhile

    static_cast<void>(server.ask({"DEL", "holdfast:events"}));
    CHECK(is_same_as_feed(client, front));
}

TEST_CASE("a password is shown to nobody, not even by a server that does not know the command")
{
    database const db;
    redis_server const server({"--rename-command", "AUTH", "renamed"});
    service_process const service(
        options_of(db, "redis://:sekretpw77@127.0.0.1:" + std::to_string(server.port())));
    shop front(service);
    CHECK(eventually(20s, [&] { return has_fault(front); }));
    CHECK(service.log_tail().find("stream_writer") != std::string::npos);
    CHECK(service.log_tail().find("sekretpw77") == std::string::npos);
}

TEST_CASE("the stream has the name and about the length that the settings say")
{
    database const db;
    redis_server const server;
    service_process const service(
        options_of(db, server.url(), {"--redis-stream", "shop{7}", "--redis-stream-max", "10"}));
    shop front(service);
    redis::client client(server.target());
    auto const sku = front.item(5);
    trade(front, sku, 300);
    REQUIRE(wait_until_told(front, {sku}));
    auto const last = read_feed(front).back().at("id");
    CHECK(eventually(20s, [&] {
        auto const entries = read_stream(client, "shop{7}");
        return !entries.empty() && entries.back().at("id") == last;
    }));
    // Redis trims whole nodes of about a hundred entries.
    CHECK(read_stream(client, "shop{7}").size() <= 210);
}

TEST_CASE("a cluster has the stream as well, also after the master of it is gone")
{
    database const db;
    redis_cluster cluster;
    redis::client client(cluster.target());
    service_process const service(options_of(db, cluster.url()));
    shop front(service);
    auto const sku = front.item(5);
    trade(front, sku, 5);
    REQUIRE(wait_until_told(front, {sku}));
    REQUIRE(is_same_as_feed(client, front));
    cluster.master_of("{holdfast:events}:place").kill9();
    trade(front, sku, 5);
    REQUIRE(wait_until_told(front, {sku}));
    // A replica may have missed the last of them: then they are written again, and those that read
    // them before have them twice. None is missing, and the first of each stand in order.
    std::vector<std::string> ids;
    for (auto const& event : read_feed(front))
        ids.push_back(event.at("id"));
    CHECK(eventually(30s, [&] { return ids_in(client) == ids; }));
}

} // namespace holdfast::test

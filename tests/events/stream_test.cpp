// SPDX-License-Identifier: Apache-2.0
// The stream of events (Server-Sent Events): as the feed has them, as they come, and on from where
// a client was.
#include "tests/http/raw_connection.hpp"
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/person.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// A client of the stream that reads what has come when it is asked.
class listener {
public:
    explicit listener(service_process const& service, std::string const& query = "",
                      std::optional<std::string> const& last_id = std::nullopt)
        : listener(service, query, last_id, service.admin_key())
    {}

    // With another key.
    listener(service_process const& service, std::string const& query,
             std::optional<std::string> const& last_id, std::string const& key)
        : connection_(service.port())
    {
        http_request asked{.target = "/v1/events/stream" + query};
        if (last_id)
            asked.headers.emplace_back("Last-Event-ID", *last_id);
        connection_.send(to_bytes(asked, key));
    }

    // By a person's browser.
    listener(service_process const& service, person const& who) : connection_(service.port())
    {
        connection_.send(to_bytes(
            {.target = "/v1/events/stream?after=now", .headers = {{"Cookie", who.cookie()}}}, ""));
    }

    [[nodiscard]] bool has_begun()
    {
        return eventually(20s, [&] {
            return !is_closed_within(10ms) && text().find("retry:") != std::string::npos;
        });
    }

    // Waits until the stream holds so many events, and returns them.
    std::vector<json> first(std::size_t count)
    {
        eventually(20s, [&] { return closes_or_has(count); });
        return events();
    }

    [[nodiscard]] std::string const& text() const { return connection_.unread(); }
    bool is_closed_within(std::chrono::milliseconds longest)
    {
        return connection_.is_closed_within(longest);
    }

private:
    bool closes_or_has(std::size_t count)
    {
        return connection_.is_closed_within(10ms) || events().size() >= count;
    }

    [[nodiscard]] std::vector<json> events() const
    {
        std::vector<json> all;
        constexpr std::string_view field = "data: ";
        auto const& come = text();
        for (auto at = come.find(field); at != std::string::npos; at = come.find(field, at)) {
            auto const end = come.find('\n', at);
            if (end == std::string::npos)
                break;
            all.push_back(json::parse(come.substr(at + field.size(), end - at - field.size())));
            at = end;
        }
        return all;
    }

    raw_connection connection_;
};

} // namespace

TEST_CASE("a stream begins at the beginning, or now, and brings what happens on every process")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    service_process const another({.database_url = db.connection_string()});
    shop front(service);
    shop other(another);
    auto const sku = front.item(5);
    REQUIRE(wait_until_told(front, {sku}));

    listener all(service, "?sku=" + sku);
    listener from_now(another, "?after=now&sku=" + sku);
    CHECK(all.first(1).size() == 1);
    CHECK(all.text().find("Content-Type: text/event-stream\r\n") != std::string::npos);
    CHECK(all.text().find("Content-Length") == std::string::npos);
    CHECK(all.text().find("\nevent: stock.adjusted\n") != std::string::npos);
    REQUIRE(eventually(20s, [&] {
        return !from_now.is_closed_within(10ms) &&
               from_now.text().find("retry:") != std::string::npos;
    }));
    other.release(front.hold({{sku, 5}}));

    auto const seen = all.first(5);
    CHECK(types_of(seen) == "adjusted held sold_out released back_in_stock");
    CHECK(types_of(from_now.first(4)) == "held sold_out released back_in_stock");
    // Exactly what the feed has, with the ids a client goes on from.
    CHECK(seen == read_feed(front, "", "&sku=" + sku));
    for (auto const& e : seen)
        CHECK(all.text().find("id: " + e.at("id").get<std::string>() + "\n") != std::string::npos);
    auto const half_way = seen[2].at("id").get<std::string>();
    listener again(another, "?sku=" + sku + "&after=now", half_way);
    auto const rest = again.first(2);
    REQUIRE(rest.size() == 2);
    CHECK(rest[0] == seen[3]);
    CHECK(rest[1] == seen[4]);
}

TEST_CASE("a stream is refused for what it asks, by whom, and when there are too many")
{
    database const db;
    service_process const service(
        {.database_url = db.connection_string(), .arguments = {"--event-streams-max", "2"}});
    shop front(service);
    http_client stranger(service.port());
    CHECK(stranger.send({.target = "/v1/events/stream"}).status == 401);
    CHECK(outcome(front.get("/v1/events/stream?after=evt_77_1_1_0")) == "410 events-expired");
    CHECK(pointers_in(front.get("/v1/events/stream?after=x&limit=5")) ==
          "/query/after /query/limit");
    auto const head = front.http().send({.method = "HEAD", .target = "/v1/events/stream"});
    CHECK(head.status == 200);

    auto const holding = [&] {
        return front.get("/metrics").body.find("holdfast_event_streams 2\n") != std::string::npos;
    };
    {
        listener const one(service);
        listener const two(service);
        REQUIRE(eventually(20s, holding));
        auto const refused = front.get("/v1/events/stream");
        CHECK(outcome(refused) == "503 overloaded");
        CHECK(refused.header("retry-after"));
    }
    // Those who are gone are noticed when they are told something.
    auto const sku = front.item(1);
    REQUIRE(wait_until_told(front, {sku}));
    CHECK(eventually(20s, [&] {
        front.reserve(sku);
        front.release(front.reservations("state=held&sku=" + sku).at(0).at("id"));
        return front.get("/metrics").body.find("holdfast_event_streams 0\n") != std::string::npos;
    }));
}

TEST_CASE("a stream that has nothing to tell says where it is, so that no place gets too old")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(5);
    REQUIRE(wait_until_told(front, {sku}));
    auto const sign = "\nid: " + end_of_feed(front) + "\n\n";
    listener other(service, "?sku=NEVER");
    REQUIRE(eventually(25s, [&] {
        return !other.is_closed_within(10ms) && other.text().find(sign) != std::string::npos;
    }));
    // A client that goes on from there has missed nothing.
    listener again(service, "?sku=" + sku, end_of_feed(front));
    front.reserve(sku);
    CHECK(types_of(again.first(1)) == "held");
}

TEST_CASE("a stream ends soon after its session does, or after its key is revoked")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto olga = new_person(service, db.connection_string(), "owner", "Olga");
    auto const staff_id = [](person& who) {
        return who.get("/v1/session").json().at("staff_id").get<std::string>();
    };
    auto anna = new_person(service, db.connection_string(), "viewer", "Anna");
    auto bert = new_person(service, db.connection_string(), "viewer", "Bert");
    auto cora = new_person(service, db.connection_string(), "viewer", "Cora");
    auto dora = new_person(service, db.connection_string(), "viewer", "Dora");
    auto const till = olga.call("POST", "/v1/keys", {{"name", "till"}, {"role", "viewer"}}).json();

    listener of_olga(service, olga);
    listener of_anna(service, anna);
    listener of_bert(service, bert);
    listener of_cora(service, cora);
    listener of_dora(service, dora);
    listener of_till(service, "?after=now", std::nullopt, till.at("key").get<std::string>());
    for (auto* each : {&of_olga, &of_anna, &of_bert, &of_cora, &of_dora, &of_till})
        REQUIRE(each->has_begun());

    // Signed out, disabled, given another password, too old, revoked.
    CHECK(outcome(anna.call("DELETE", "/v1/session", nullptr)) == "204");
    CHECK(outcome(olga.call("PATCH", "/v1/staff/" + staff_id(bert), {{"disabled", true}})) ==
          "200");
    CHECK(outcome(olga.call("POST", "/v1/staff/" + staff_id(cora) + "/password",
                            {{"password", "another horse battery staple"}})) == "204");
    db.session().run("UPDATE staff_session SET expires_at = now() FROM staff s"
                     " WHERE s.id = staff_id AND s.name = 'Dora'");
    CHECK(outcome(olga.call("DELETE", "/v1/keys/" + till.at("id").get<std::string>(), nullptr)) ==
          "204");
    for (auto* each : {&of_anna, &of_bert, &of_cora, &of_dora, &of_till})
        CHECK(each->is_closed_within(15s));
    CHECK_FALSE(of_olga.is_closed_within(6s));

    // To watch is not to work: a stream does not keep its session.
    db.session().run("UPDATE staff_session SET last_seen_at = now() - interval '13 hours'");
    CHECK(of_olga.is_closed_within(15s));
}

TEST_CASE("a service that drains ends its streams, so that clients go elsewhere")
{
    database const db;
    service_process service({.database_url = db.connection_string()});
    listener waiting(service, "?after=now");
    REQUIRE(eventually(20s, [&] {
        return !waiting.is_closed_within(10ms) &&
               waiting.text().find("retry:") != std::string::npos;
    }));
    CHECK(service.terminate() == 0);
    CHECK(waiting.is_closed_within(5s));
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// The Idempotency-Key over HTTP: how it may be written, what it is bound to, and what a client
// hears who sends a request again.
#include "tests/cli/command.hpp"
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

std::string lines_of(std::string const& sku, int quantity)
{
    return R"("lines":[{"sku":")" + sku + R"(","quantity":)" + std::to_string(quantity) + "}]";
}

std::string body_of(std::string const& sku, int quantity = 1)
{
    return '{' + lines_of(sku, quantity) + '}';
}

http_response post(http_client& client, std::string const& target, std::string body,
                   header_list headers)
{
    return client.send({.method = "POST",
                        .target = target,
                        .body = std::move(body),
                        .headers = std::move(headers)});
}

http_response reserve(http_client& client, std::string body, std::string const& key)
{
    return post(client, "/v1/reservations", std::move(body), {{"Idempotency-Key", key}});
}

// The requests that have to carry a key, each of them good otherwise.
struct keyed_request {
    std::string target;
    std::string body;
    std::string type = "application/json";
    int status = 201;
};

std::vector<keyed_request> keyed_requests(shop& front, std::string const& sku)
{
    auto const id = front.hold({{sku, 5}});
    front.confirm(id);
    return {
        {"/v1/reservations", body_of(sku)},
        {"/v1/reservations/" + id + "/returns", body_of(sku)},
        {"/v1/stock/" + sku + "/adjustments", R"({"delta":1,"reason":"found"})"},
        {"/v1/adjustments", R"({"rows":[{"sku":")" + sku + R"(","delta":1,"reason":"found"}]})"},
        {"/v1/transfers", R"({"sku":")" + sku + R"(","from":"main","to":"shelf","quantity":1})"},
        {"/v1/counts", R"({"name":"Shelf 4"})"},
        {"/v1/imports?mode=add", "sku,quantity\n" + sku + ",1\n", "text/csv", 200},
    };
}

} // namespace

TEST_CASE("what moves units needs a key that can be a key")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const requests = keyed_requests(front, front.item(100));
    auto const books = books_of(db);

    for (auto const& [each_target, body, type, status] : requests) {
        auto const& target = each_target;
        CAPTURE(target);
        header_list const headers{{"Content-Type", type}};
        CHECK(verdict(post(front.http(), target, body, headers)) == "400 idempotency-key-missing");
        for (auto const& key :
             {std::string(), std::string(256, 'k'), std::string("caf\xC3\xA9"), std::string("a\tb"),
              std::string("\"open"), std::string("\"a\"b"), std::string("\"\""),
              '"' + std::string(256, 'k') + '"', std::string("\"a\\b\"")}) {
            CAPTURE(key);
            auto with_key = headers;
            with_key.emplace_back("Idempotency-Key", key);
            auto const told = verdict(post(front.http(), target, body, with_key));
            CHECK((told == "400 validation-failed" || told == "400 idempotency-key-missing"));
        }
        auto with_two = headers;
        with_two.emplace_back("Idempotency-Key", "one");
        with_two.emplace_back("Idempotency-Key", "two");
        CHECK(verdict(post(front.http(), target, body, with_two)) == "400 validation-failed");
    }
    CHECK(books_of(db) == books);

    auto const sku = front.item(10);
    for (auto const& key : {std::string("k"), std::string(255, 'k'), std::string("a key, with ;=/"),
                            std::string("'; DROP TABLE reservation; --")}) {
        CAPTURE(key);
        CHECK(verdict(reserve(front.http(), body_of(sku), key)) == "201");
    }
    CHECK(front.level_of(sku).reserved == 4);
    CHECK(front.audit_ok());
}

TEST_CASE("a request sent again is answered again, and done once")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);

    for (auto const& [each_target, body, type, status] : keyed_requests(front, sku)) {
        auto const& target = each_target;
        CAPTURE(target);
        header_list const headers{{"Content-Type", type}, {"Idempotency-Key", unique("key")}};
        auto const first = post(front.http(), target, body, headers);
        CHECK(verdict(first) == std::to_string(status));
        CHECK(first.header("idempotent-replayed") == std::nullopt);
        auto const books = books_of(db);
        for (int i = 0; i < 3; ++i) {
            auto const again = post(front.http(), target, body, headers);
            CHECK(verdict(again) == std::to_string(status));
            CHECK(again.header("idempotent-replayed") == "true");
            CHECK(again.header("location") == first.header("location"));
        }
        CHECK(books_of(db) == books);
    }

    // With quotes and without, the same key; and white space or order make no other request.
    auto const first = reserve(front.http(), body_of(sku, 2), "key-1").json();
    for (auto const& [each_key, each_body] : std::vector<std::pair<std::string, std::string>>{
             {"\"key-1\"", body_of(sku, 2)},
             {"key-1", " {\n" + lines_of(sku, 2) + "\n} "},
             {"key-1", R"({"lines":[{"quantity":2,"sku":")" + sku + "\"}]}"}}) {
        auto const& body = each_body;
        auto const& key = each_key;
        CAPTURE(key);
        CAPTURE(body);
        auto const again = reserve(front.http(), body, key);
        CHECK(verdict(again) == "201");
        CHECK(again.header("idempotent-replayed") == "true");
        CHECK(again.json() == first);
    }

    // What a replay shows is the resource as it stands now.
    std::string const id = first.at("id");
    CHECK(verdict(front.confirm(id)) == "200");
    auto const late = reserve(front.http(), body_of(sku, 2), "key-1");
    CHECK(verdict(late) == "201");
    CHECK(late.json().at("state") == "confirmed");
    CHECK(late.json() == front.reservation(id));
    CHECK(front.audit_ok());
}

TEST_CASE("a key that was used for something else is refused, wherever it was used")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    auto const other = front.item(100);
    auto const requests = keyed_requests(front, sku);

    for (auto const& used : requests) {
        header_list const key{{"Idempotency-Key", unique("key")}};
        auto headers = key;
        headers.emplace_back("Content-Type", used.type);
        REQUIRE(verdict(post(front.http(), used.target, used.body, headers)) ==
                std::to_string(used.status));
        auto const books = books_of(db);
        for (auto const& wanted : requests) {
            if (wanted.target == used.target)
                continue;
            CAPTURE(used.target);
            CAPTURE(wanted.target);
            headers.back().second = wanted.type;
            CHECK(verdict(post(front.http(), wanted.target, wanted.body, headers)) ==
                  "422 idempotency-key-reused");
        }
        CHECK(books_of(db) == books);
    }

    REQUIRE(verdict(reserve(front.http(), body_of(sku), "mine")) == "201");
    auto const books = books_of(db);
    for (auto const& body :
         {body_of(sku, 2), body_of(other), '{' + lines_of(sku, 1) + R"(,"customer":"greta"})",
          '{' + lines_of(sku, 1) + R"(,"ttl_seconds":60})",
          '{' + lines_of(sku, 1) + R"(,"metadata":{"a":1}})"}) {
        CAPTURE(body);
        CHECK(verdict(reserve(front.http(), body, "mine")) == "422 idempotency-key-reused");
    }
    CHECK(verdict(front.http().send({.method = "POST",
                                     .target = "/v1/stock/" + other + "/adjustments",
                                     .body = R"({"delta":1,"reason":"found"})",
                                     .headers = {{"Idempotency-Key", "mine"}}})) ==
          "422 idempotency-key-reused");
    CHECK(books_of(db) == books);

    // The same key of another API key is another key.
    http_client second_shop(service.port(), create_key(db.connection_string(), "shop"));
    auto const theirs = reserve(second_shop, body_of(sku), "mine");
    CHECK(verdict(theirs) == "201");
    CHECK(theirs.header("idempotent-replayed") == std::nullopt);
    CHECK(front.audit_ok());
}

TEST_CASE("a refusal is not kept: the same request may be good later")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = unique("SKU");

    CHECK(verdict(reserve(front.http(), body_of(sku), "patient")) == "404 unknown-sku");
    REQUIRE(front.put_item(sku, {{"on_hand", 0}}).status == 201);
    CHECK(verdict(reserve(front.http(), body_of(sku), "patient")) == "409 insufficient-stock");
    // Nothing was done under this key yet, so it may still become another request's.
    CHECK(verdict(reserve(front.http(), body_of(sku, 2), "patient")) == "409 insufficient-stock");
    REQUIRE(front.adjust(sku, {{"delta", 1}, {"reason", "received"}}).status == 201);
    auto const made = reserve(front.http(), body_of(sku), "patient");
    CHECK(verdict(made) == "201");
    CHECK(made.header("idempotent-replayed") == std::nullopt);
    CHECK(verdict(reserve(front.http(), body_of(sku, 2), "patient")) ==
          "422 idempotency-key-reused");
    CHECK(front.level_of(sku).reserved == 1);
    CHECK(front.audit_ok());
}

TEST_CASE("while the first request still runs, its twin waits a little and is asked to come again")
{
    database const db;
    // The first runs on a service that is willing to wait long for a lock.
    service_process const patient({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_STATEMENT_TIMEOUT_MS", "60000"},
                                                   {"HOLDFAST_LOCK_TIMEOUT_MS", "55000"}}});
    service_process const usual({.database_url = db.connection_string()});
    shop front(patient);
    shop twin(usual);
    auto const sku = front.item(10);
    auto holder = db.session();
    auto watcher = db.session();
    holder.run("BEGIN");
    holder.run("UPDATE stock_level SET reserved = reserved WHERE sku = $1", {sku});

    auto const is_waited_for = [&] {
        return watcher.value("SELECT count(*) FROM pg_stat_activity"
                             " WHERE datname = current_database()"
                             "   AND wait_event_type = 'Lock'") != "0";
    };
    std::optional<http_response> early;
    steady_clock::duration waited{};
    auto const answers = run_together(2, [&](std::size_t i) {
        if (i == 0)
            return reserve(front.http(), body_of(sku), "twins");
        bool const has_begun = eventually(30s, is_waited_for);
        auto const began = steady_clock::now();
        early = reserve(twin.http(), body_of(sku), "twins");
        waited = steady_clock::now() - began;
        holder.run("ROLLBACK");
        return http_response{.status = has_begun ? 200 : 500};
    });

    CHECK(answers[1].status == 200);
    REQUIRE(early.has_value());
    CHECK(verdict(*early) == "409 idempotency-key-in-progress");
    CHECK(std::stoi(early->header("retry-after").value_or("0")) >= 1);
    CHECK(waited >= 1900ms);
    CHECK(waited < 10s);
    CHECK(verdict(answers[0]) == "201");

    auto const late = reserve(twin.http(), body_of(sku), "twins");
    CHECK(verdict(late) == "201");
    CHECK(late.header("idempotent-replayed") == "true");
    CHECK(late.json() == answers[0].json());
    CHECK(front.level_of(sku).reserved == 1);
    CHECK(front.audit_ok());
}

TEST_CASE("twenty who send the same request at once all hear of the same reservation")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 20);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        // One unit: a twin that came too late must not be told that it is sold out.
        auto const sku = front.item(1, {{"strategy", strategy}});
        auto const key = unique("key");
        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            return reserve(tills[i].http(), body_of(sku), key);
        });

        CHECK(tally(answers) == "20 x 201");
        int first_ones = 0;
        for (auto const& answer : answers) {
            CHECK(answer.json() == answers[0].json());
            first_ones += answer.header("idempotent-replayed") ? 0 : 1;
        }
        CHECK(first_ones == 1);
        CHECK(front.level_of(sku) == level{.on_hand = 1, .reserved = 1, .available = 0});
    }
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

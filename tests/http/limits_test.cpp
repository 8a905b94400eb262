// SPDX-License-Identifier: Apache-2.0
// What the service does when there is too much of something: requests of one caller, holds of one
// customer, connections, work for a database that stands still.
#include "tests/cli/command.hpp"
#include "tests/http/answers.hpp"
#include "tests/http/raw_connection.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

int retry_after(http_response const& answer)
{
    return std::stoi(answer.header("retry-after").value_or("0"));
}

// Sends the same request until it is refused as too many, at most fifty times. Returns the refusal.
std::optional<http_response> ask_until_limited(http_client& client, http_request const& request)
{
    for (int i = 0; i < 50; ++i) {
        auto with_key = request;
        with_key.headers.emplace_back("Idempotency-Key", unique("key"));
        auto answer = client.send(with_key);
        if (answer.status == 429)
            return answer;
        CHECK(objection_to(answer) == "");
    }
    return std::nullopt;
}

http_request reservation_of(std::string const& sku, std::string const& customer)
{
    auto const customer_member = customer.empty() ? "" : R"(,"customer":")" + customer + '"';
    return {.method = "POST",
            .target = "/v1/reservations",
            .body = R"({"lines":[{"sku":")" + sku + R"(","quantity":1}])" + customer_member + '}'};
}

// A session that has the row of an item locked until it is let go.
class locked_row {
public:
    locked_row(database const& db, std::string const& sku) : holder_(db.session())
    {
        holder_.run("BEGIN");
        holder_.run("UPDATE stock_level SET reserved = reserved WHERE sku = $1", {sku});
    }

    void let_go() { holder_.run("ROLLBACK"); }

private:
    sql_session holder_;
};

} // namespace

TEST_CASE("a key that asks too often hears when it may again, and no other key is made to wait")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_RATE_LIMIT_PER_KEY", "1"},
                                                   {"HOLDFAST_RATE_BURST_PER_KEY", "5"}}});
    auto const viewer = create_key(db.connection_string(), "viewer");
    http_client hasty(service.port(), viewer);
    http_client calm(service.port(), create_key(db.connection_string(), "viewer"));
    http_request const look{.target = "/v1/stock"};

    auto const began = steady_clock::now();
    int allowed = 0;
    auto answer = hasty.send(look);
    for (; answer.status == 200 && allowed < 50; answer = hasty.send(look)) {
        CHECK(answer.header("ratelimit-policy") == "\"key\";q=5;w=5");
        CHECK(answer.header("ratelimit").value_or("").starts_with("\"key\";r="));
        ++allowed;
    }
    auto const took = std::chrono::ceil<std::chrono::seconds>(steady_clock::now() - began);

    CHECK(allowed >= 5);
    CHECK(allowed <= 5 + took.count());
    CHECK(verdict(answer) == "429 rate-limited");
    CHECK(retry_after(answer) >= 1);
    CHECK(answer.header("ratelimit-policy") == "\"key\";q=5;w=5");
    CHECK(answer.header("ratelimit").value_or("").starts_with("\"key\";r=0;t="));
    CHECK(verdict(calm.send(look)) == "200");
    // Whoever watches over the service is not counted.
    for (int i = 0; i < 20; ++i)
        CHECK(verdict(hasty.send({.target = "/livez"})) == "200");
    CHECK(eventually(15s, [&] { return hasty.send(look).status == 200; }));
}

TEST_CASE("a customer who asks too often does not keep others from buying")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_RATE_LIMIT_PER_KEY", "1000"},
                                                   {"HOLDFAST_RATE_LIMIT_PER_CUSTOMER", "1"},
                                                   {"HOLDFAST_RATE_BURST_PER_CUSTOMER", "2"}}});
    shop front(service);
    auto const sku = front.item(1000);

    auto const limited = ask_until_limited(front.http(), reservation_of(sku, "greta"));
    REQUIRE(limited.has_value());
    CHECK(verdict(*limited) == "429 rate-limited");
    CHECK(retry_after(*limited) >= 1);
    // The limit that was met is told, whatever other limits there are.
    CHECK(limited->header("ratelimit").value_or("").find("\"customer\";r=0;t=") !=
          std::string::npos);
    CHECK(limited->header("ratelimit-policy").value_or("").find("\"customer\";q=2;w=2") !=
          std::string::npos);

    auto const reserved = front.level_of(sku).reserved;
    CHECK(reserved >= 2);
    CHECK(verdict(front.reserve({{sku}}, {{"customer", "hanna"}})) == "201");
    CHECK_FALSE(ask_until_limited(front.http(), reservation_of(sku, "")).has_value());
    CHECK(front.level_of(sku).reserved == reserved + 51);
    CHECK(eventually(15s, [&] {
        return front.reserve({{sku}}, {{"customer", "greta"}}).status == 201;
    }));
    CHECK(front.audit_ok());
}

TEST_CASE("nobody can hoard: a customer has so many open holds and no more")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_OPEN_HOLDS_PER_CUSTOMER", "2"}}});
    shop front(service);
    auto tills = shops(service, 10);
    auto const sku = front.item(1000);
    json const greta{{"customer", "greta"}};
    auto const is_full = [&] {
        return verdict(front.reserve({{sku}}, greta)) == "409 customer-limit";
    };

    for (int round = 0; round < 10; ++round) {
        auto const customer = unique("c");
        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            return tills[i].reserve({{sku}}, {{"customer", customer}});
        });
        CHECK(tally(answers) == "2 x 201, 8 x 409 customer-limit");
    }

    auto const first = front.hold({{sku}}, greta);
    auto const second = front.hold({{sku}}, greta);
    CHECK(is_full());
    CHECK(verdict(front.reserve({{sku}}, {{"customer", "hanna"}})) == "201");
    CHECK(verdict(front.reserve(sku)) == "201");
    // What is paid for at once, or takes the place of another, is no further open hold.
    CHECK(verdict(front.reserve({{sku}}, {{"customer", "greta"}, {"confirm", true}})) == "201");
    auto const instead = front.reserve({{sku}}, {{"customer", "greta"}, {"supersedes", first}});
    CHECK(verdict(instead) == "201");
    CHECK(is_full());
    CHECK(verdict(front.release(id_of(instead))) == "200");
    auto const brief = front.hold({{sku}}, {{"customer", "greta"}, {"ttl_seconds", 4}});
    CHECK(is_full());
    front.wait_until_expired(brief);
    front.hold({{sku}}, greta);
    CHECK(is_full());
    CHECK(verdict(front.confirm(second)) == "200");
    CHECK(verdict(front.reserve({{sku}}, greta)) == "201");
    CHECK(is_full());
    CHECK(front.audit_ok());
}

TEST_CASE("when the database stands still, who cannot be served soon is told so, and soon")
{
    constexpr std::size_t clients = 60;
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_DATABASE_SESSIONS", "1"},
                                                   {"HOLDFAST_QUEUE_LENGTH_MAX", "16"},
                                                   {"HOLDFAST_QUEUE_WAIT_MS", "500"},
                                                   {"HOLDFAST_LOCK_TIMEOUT_MS", "3000"}}});
    shop front(service);
    auto const sku = front.item(1000);
    auto tills = shops(service, clients);
    std::vector<steady_clock::duration> waits(clients);

    locked_row row(db, sku);
    auto const answers = run_together(clients, [&](std::size_t i) {
        auto const began = steady_clock::now();
        auto answer = tills[i].reserve(sku);
        waits[i] = steady_clock::now() - began;
        return answer;
    });

    CHECK(tally(answers) == std::to_string(clients) + " x 503 overloaded");
    std::size_t at_once = 0;
    for (std::size_t i = 0; i < clients; ++i) {
        CHECK(objection_to(answers[i]) == "");
        CHECK(retry_after(answers[i]) >= 1);
        CHECK(waits[i] < 15s);
        at_once += waits[i] < 2s ? 1 : 0;
    }
    // Sixteen may wait, and no more were taken from the queue to be served together; there is no
    // point in keeping the rest.
    CHECK(at_once >= clients - 2 * 16);
    CHECK(verdict(front.get("/livez")) == "200");

    row.let_go();
    CHECK(verdict(front.reserve(sku)) == "201");
    CHECK(front.level_of(sku).reserved == 1);
    CHECK(front.audit_ok());
}

TEST_CASE("whoever asks whether a busy service is ready does not have to queue for the answer")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_DATABASE_SESSIONS", "1"},
                                                   {"HOLDFAST_STATEMENT_TIMEOUT_MS", "60000"},
                                                   {"HOLDFAST_LOCK_TIMEOUT_MS", "50000"}}});
    shop front(service);
    shop office(service);
    auto const sku = front.item(10);
    locked_row row(db, sku);
    json const delivery{{"delta", 1}, {"reason", "received"}};
    auto booked = std::async(std::launch::async, [&] { return office.adjust(sku, delivery); });
    auto looker = db.session();
    REQUIRE(somebody_waits(looker));

    auto const began = steady_clock::now();
    for (int i = 0; i < 50; ++i)
        CHECK(verdict(front.get("/readyz")) == "200");
    CHECK(steady_clock::now() - began < 5s);

    row.let_go();
    CHECK(verdict(booked.get()) == "201");
}

TEST_CASE("however many ask for an audit, one runs, and the shop goes on selling")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_DATABASE_SESSIONS", "2"},
                                                   {"HOLDFAST_STATEMENT_TIMEOUT_MS", "60000"},
                                                   {"HOLDFAST_LOCK_TIMEOUT_MS", "50000"}}});
    shop front(service);
    shop office(service);
    auto const sku = front.item(10);
    // The audit is held up for as long as the test needs.
    auto holder = db.session();
    holder.run("BEGIN");
    holder.run("LOCK TABLE movement IN ACCESS EXCLUSIVE MODE");
    auto first = std::async(std::launch::async, [&] { return office.get("/v1/audit"); });
    auto looker = db.session();
    REQUIRE(somebody_waits(looker));

    auto const began = steady_clock::now();
    for (int i = 0; i < 5; ++i) {
        auto const another = front.get("/v1/audit");
        CHECK(verdict(another) == "503 overloaded");
        CHECK(retry_after(another) >= 1);
        CHECK(verdict(front.get("/v1/stock/" + sku)) == "200");
    }
    CHECK(steady_clock::now() - began < 10s);

    holder.run("ROLLBACK");
    CHECK(verdict(first.get()) == "200");
    CHECK(front.audit_ok());
}

TEST_CASE("when all connections are taken, one more hears so, and there is room again afterwards")
{
    database const db;
    service_process const service({.database_url = db.connection_string(),
                                   .environment = {{"HOLDFAST_CONNECTIONS_MAX", "8"}}});
    auto const livez = to_bytes({.target = "/livez"});
    std::vector<std::unique_ptr<raw_connection>> taken;
    for (int i = 0; i < 8; ++i) {
        taken.push_back(std::make_unique<raw_connection>(service.port()));
        taken.back()->send(livez);
        CHECK(verdict(taken.back()->receive()) == "200");
    }

    // Whether it sends little or a lot, it can read why it is not served.
    http_request const large{
        .method = "POST", .target = "/v1/reservations", .body = std::string(500'000, ' ')};
    for (auto const& request : {livez, to_bytes(large, service.admin_key())}) {
        raw_connection one_more(service.port());
        one_more.send(request);
        auto const told = one_more.receive();
        CHECK(verdict(told) == "503 overloaded");
        CHECK(retry_after(told.value()) >= 1);
        CHECK(told.value().header("connection") == "close");
        CHECK(one_more.is_closed_within(10s));
        CHECK_FALSE(one_more.was_reset());
    }
    // One that never asks is not kept, and of too many who wait to ask the next is just closed.
    raw_connection silent(service.port());
    CHECK(silent.is_closed_within(10s));
    CHECK(silent.unread().empty());
    CHECK(eventually(20s, [&] {
        std::vector<std::unique_ptr<raw_connection>> crowd;
        for (int i = 0; i < 64; ++i)
            crowd.push_back(std::make_unique<raw_connection>(service.port()));
        raw_connection beyond(service.port());
        beyond.send(livez);
        return verdict(beyond.receive()) == "closed";
    }));
    // Those who were in stay in.
    for (auto const& connection : taken) {
        connection->send(livez);
        CHECK(verdict(connection->receive()) == "200");
    }
    taken.pop_back();
    CHECK(eventually(10s, [&] {
        raw_connection next(service.port());
        next.send(livez);
        return verdict(next.receive()) == "200";
    }));
}

} // namespace holdfast::test

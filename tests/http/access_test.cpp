// SPDX-License-Identifier: Apache-2.0
// Who may do what: API keys, their roles, and what a stranger hears.
#include "tests/cli/command.hpp"
#include "tests/http/answers.hpp"
#include "tests/http/raw_connection.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::string_literals;

// In the order of what they may do.
constexpr std::array roles{"viewer", "shop", "admin"};

constexpr std::size_t no_role = roles.size(); // people only

struct operation {
    std::string method;
    std::string target;
    std::string body;
    std::size_t lowest_role; // index into roles
    std::string type = "application/json";
};

// Every address that needs a key. What is asked for is not there or not right: only the door
// matters.
std::vector<operation> const operations{
    {"POST", "/v1/reservations", "{}", 1},
    {"GET", "/v1/reservations", "", 0},
    {"GET", "/v1/reservations/nothing", "", 0},
    {"POST", "/v1/reservations/nothing/confirm", "{}", 1},
    {"POST", "/v1/reservations/nothing/release", "", 1},
    {"POST", "/v1/reservations/nothing/extend", "{}", 1},
    {"POST", "/v1/reservations/nothing/returns", "{}", 1},
    {"GET", "/v1/stock", "", 0},
    {"PUT", "/v1/stock/NOTHING", R"({"on_hand":-1})", 2},
    {"GET", "/v1/stock/NOTHING", "", 0},
    {"POST", "/v1/stock/NOTHING/adjustments", "{}", 2},
    {"GET", "/v1/stock/NOTHING/movements", "", 0},
    {"GET", "/v1/stock/NOTHING/why", "", 0},
    {"POST", "/v1/adjustments", "{}", 2},
    {"POST", "/v1/transfers", "{}", 2},
    {"POST", "/v1/counts", "{}", 2},
    {"GET", "/v1/counts", "", 0},
    {"GET", "/v1/counts/nothing", "", 0},
    {"PUT", "/v1/counts/nothing/entries", "{}", 2},
    {"POST", "/v1/counts/nothing/apply", "", 2},
    {"POST", "/v1/counts/nothing/cancel", "", 2},
    {"GET", "/v1/blocked-customers", "", 0},
    {"PUT", "/v1/blocked-customers/nobody", "{}", 2},
    {"DELETE", "/v1/blocked-customers/nobody", "", 2},
    {"GET", "/v1/trail", "", 2},
    {"GET", "/v1/session", "", 0},
    {"DELETE", "/v1/session", "", 0},
    {"GET", "/v1/keys", "", 2},
    {"POST", "/v1/keys", "{}", 2},
    {"DELETE", "/v1/keys/nothing", "", 2},
    {"GET", "/v1/staff", "", no_role},
    {"POST", "/v1/staff", "{}", no_role},
    {"PATCH", "/v1/staff/nothing", "{}", no_role},
    {"DELETE", "/v1/staff/nothing", "", no_role},
    {"POST", "/v1/staff/nothing/link", "", no_role},
    {"POST", "/v1/imports?mode=set", "no columns", 2, "text/csv"},
    {"GET", "/v1/imports", "", 0},
    {"GET", "/v1/imports/nothing", "", 0},
    {"POST", "/v1/imports/nothing/undo", "", 2},
    {"GET", "/v1/reports/low-stock", "", 0},
    {"GET", "/v1/reports/held-longest", "", 0},
    {"GET", "/v1/reports/movements", "", 0},
    {"GET", "/v1/audit", "", 0},
};

http_request request_of(operation const& what)
{
    return {.method = what.method,
            .target = what.target,
            .body = what.body,
            .headers = {{"Content-Type", what.type}}};
}

} // namespace

TEST_CASE("each role may do its own work and nothing beyond it")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    std::vector<std::string> keys;
    for (std::string const role : roles)
        keys.push_back(create_key(db.connection_string(), role));
    auto const books = books_of(db);

    for (std::size_t role = 0; role < roles.size(); ++role) {
        http_client client(service.port(), keys[role]);
        CAPTURE(roles[role]);
        for (auto const& what : operations) {
            CAPTURE(what.method);
            CAPTURE(what.target);
            auto const answer = client.send(request_of(what));
            if (role < what.lowest_role) {
                CHECK(verdict(answer) == "403 forbidden");
            } else {
                CHECK(objection_to(answer) == "");
                CHECK(answer.status != 401);
                CHECK(answer.status != 403);
                CHECK(answer.status < 500);
            }
        }
    }
    CHECK(books_of(db) == books);
}

TEST_CASE("a stranger is turned away, whatever he shows, before his body is read")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto const& key = service.admin_key();

    http_client nobody(service.port());
    for (auto const& what : operations) {
        CAPTURE(what.target);
        auto const answer = nobody.send(request_of(what));
        CHECK(verdict(answer) == "401 unauthenticated");
        CHECK(answer.header("www-authenticate").value_or("").starts_with("Bearer"));
    }
    for (auto const& shown :
         {""s, "Bearer"s, "Bearer "s, key, "Basic " + key, "Bearer" + key, "Bearer " + key + "x",
          "Bearer " + key.substr(1), "Bearer " + key + ", Bearer " + key, "Bearer \xFF\xFE\xFD"s,
          "Bearer ' OR 1=1 --"s, "Bearer " + std::string(600, 'k'),
          "Bearer " + std::string(12'000, 'k')}) {
        CAPTURE(shown);
        auto const answer =
            nobody.send({.target = "/v1/stock", .headers = {{"Authorization", shown}}});
        CHECK(verdict(answer) == "401 unauthenticated");
    }
    // The scheme's name has no case (RFC 9110), the key has.
    CHECK(verdict(nobody.send(
              {.target = "/v1/stock", .headers = {{"Authorization", "bearer " + key}}})) == "200");

    raw_connection loud(service.port());
    loud.send(to_bytes({.method = "POST",
                        .target = "/v1/reservations",
                        .body = std::string(2 << 20, ' '),
                        .headers = {{"Authorization", "Bearer nobodys-key-0123456789"}}}));
    CHECK(verdict(loud.receive()) == "401 unauthenticated");
    CHECK_FALSE(loud.was_reset());

    // What a load balancer and a browser ask for is open to everybody.
    for (std::string const target :
         {"/livez", "/readyz", "/metrics", "/openapi.json", "/docs", "/admin/"}) {
        CAPTURE(target);
        CHECK(verdict(nobody.send({.target = target})) == "200");
    }
}

TEST_CASE("no answer gives a key away, and no two answers have the same id")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto const& key = service.admin_key();
    http_client client(service.port(), key);
    std::vector<std::string> ids;

    for (auto const& what : operations) {
        auto const answer = client.send(request_of(what));
        CAPTURE(answer.body);
        CHECK(answer.body.find(key) == std::string::npos);
        ids.push_back(answer.header("x-request-id").value_or(""));
    }
    auto const metrics = client.send({.target = "/metrics"});
    CHECK(metrics.body.find(key) == std::string::npos);
    std::sort(ids.begin(), ids.end());
    CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
    CHECK(service.log_tail().find(key) == std::string::npos);
}

} // namespace holdfast::test

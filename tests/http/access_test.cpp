// SPDX-License-Identifier: Apache-2.0
// Who may do what: API keys, their roles, and what a stranger hears.
#include "service/caller.hpp"
#include "service/http/routes.hpp"
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
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::string_literals;

// In the order of what they may do.
constexpr std::array roles{"viewer", "shop", "admin"};

constexpr std::size_t no_role = roles.size(); // people only

constexpr std::optional<right> open_to_all;

struct operation {
    std::string method;
    std::string target;
    std::string body;
    std::size_t lowest_role; // index into roles
    std::string type = "application/json";
};

// What each role may do and not do. What is asked for is not there or not right: only the door
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

// What each address takes, once more and apart from the table of routes: whoever changes one has to
// mean it, and a new address has to be put down here.
std::map<std::string, std::optional<right>> const rights_of_routes{
    {"POST /v1/reservations", right::reserve},
    {"GET /v1/reservations", right::read},
    {"GET /v1/reservations/{id}", right::read},
    {"POST /v1/reservations/{id}/confirm", right::reserve},
    {"POST /v1/reservations/{id}/release", right::reserve},
    {"POST /v1/reservations/{id}/extend", right::reserve},
    {"POST /v1/reservations/{id}/returns", right::reserve},
    {"POST /v1/tokens", right::reserve},
    {"GET /v1/stock", right::read},
    {"PUT /v1/stock/{sku}", right::settings},
    {"GET /v1/stock/{sku}", right::read},
    {"GET /v1/stock/{sku}/why", right::read},
    {"POST /v1/stock/{sku}/adjustments", right::stock},
    {"GET /v1/stock/{sku}/movements", right::read},
    {"POST /v1/adjustments", right::stock},
    {"POST /v1/transfers", right::stock},
    {"POST /v1/imports", right::stock},
    {"GET /v1/imports", right::read},
    {"GET /v1/imports/{id}", right::read},
    {"POST /v1/imports/{id}/undo", right::approve},
    {"POST /v1/counts", right::stock},
    {"GET /v1/counts", right::read},
    {"GET /v1/counts/{id}", right::read},
    {"PUT /v1/counts/{id}/entries", right::stock},
    {"POST /v1/counts/{id}/apply", right::approve},
    {"POST /v1/counts/{id}/cancel", right::stock},
    {"GET /v1/reports/low-stock", right::read},
    {"GET /v1/reports/held-longest", right::read},
    {"GET /v1/reports/movements", right::read},
    {"GET /v1/blocked-customers", right::read},
    {"PUT /v1/blocked-customers/{customer}", right::settings},
    {"DELETE /v1/blocked-customers/{customer}", right::settings},
    {"GET /v1/fast-path", right::read},
    {"PUT /v1/fast-path/{sku}", right::settings},
    {"GET /v1/fast-path/{sku}", right::read},
    {"DELETE /v1/fast-path/{sku}", right::settings},
    {"POST /v1/reconciliations", right::settings},
    {"GET /v1/reconciliations", right::read},
    {"GET /v1/events", right::read},
    {"GET /v1/events/stream", right::read},
    {"POST /v1/webhooks", right::settings},
    {"GET /v1/webhooks", right::settings},
    {"GET /v1/webhooks/{id}", right::settings},
    {"PATCH /v1/webhooks/{id}", right::settings},
    {"DELETE /v1/webhooks/{id}", right::settings},
    {"POST /v1/webhooks/{id}/rotate", right::settings},
    {"POST /v1/webhooks/{id}/test", right::settings},
    {"POST /v1/webhooks/{id}/replay", right::settings},
    {"GET /v1/webhooks/{id}/deliveries", right::settings},
    {"POST /v1/webhooks/{id}/deliveries/{delivery}/resend", right::settings},
    {"POST /v1/session", open_to_all},
    {"GET /v1/session", right::read},
    {"DELETE /v1/session", right::read},
    {"GET /v1/staff", right::staff},
    {"POST /v1/staff", right::staff},
    {"POST /v1/staff/first", open_to_all},
    {"PATCH /v1/staff/{id}", right::staff},
    {"DELETE /v1/staff/{id}", right::staff},
    {"POST /v1/staff/{id}/password", right::read},
    {"POST /v1/staff/{id}/link", right::staff},
    {"DELETE /v1/staff/{id}/sessions", right::read},
    {"GET /v1/keys", right::keys},
    {"POST /v1/keys", right::keys},
    {"DELETE /v1/keys/{id}", right::keys},
    {"GET /v1/trail", right::settings},
    {"GET /v1/audit", right::read},
    {"GET /livez", open_to_all},
    {"GET /readyz", open_to_all},
    {"GET /metrics", open_to_all},
    {"GET /openapi.json", open_to_all},
    {"GET /docs", open_to_all},
    {"GET /admin", open_to_all},
    {"GET /admin/", open_to_all},
    {"GET /admin/{file}", open_to_all},
};

// "/v1/stock/{sku}/why" as "/v1/stock/nothing/why".
std::string without_names(std::string pattern)
{
    for (auto at = pattern.find('{'); at != std::string::npos; at = pattern.find('{'))
        pattern.replace(at, pattern.find('}', at) + 1 - at, "nothing");
    return pattern;
}

http_request request_of(operation const& what)
{
    return {.method = what.method,
            .target = what.target,
            .body = what.body,
            .headers = {{"Content-Type", what.type}}};
}

} // namespace

TEST_CASE("every route takes the right that is put down for it")
{
    std::map<std::string, std::optional<right>> found;
    for (auto const& r : http::routes()) {
        auto const name = std::string(r.method) + ' ' + std::string(r.pattern);
        CAPTURE(name);
        CHECK(found.emplace(name, r.needs).second); // once
        auto const put_down = rights_of_routes.find(name);
        REQUIRE(put_down != rights_of_routes.end());
        CHECK(put_down->second == r.needs);
    }
    CHECK(found.size() == rights_of_routes.size());
}

TEST_CASE("each role has the rights that are put down for it")
{
    std::map<std::string, std::string> const wanted{
        {"viewer", "read"},
        {"shop", "read reserve"},
        {"admin", "read reserve stock settings keys approve"},
        {"clerk", "read reserve stock"},
        {"manager", "read reserve stock settings approve"},
        {"owner", "read reserve stock settings keys staff approve"},
    };
    CHECK(wanted.size() == role_rules.size());
    for (auto const& rule : role_rules) {
        std::string found;
        for (std::size_t i = 0; i < right_names.size(); ++i)
            if ((rule.may & (1U << i)) != 0)
                found += (found.empty() ? "" : " ") + std::string(right_names.at(i));
        CAPTURE(rule.name);
        CHECK(found == wanted.at(std::string(rule.name)));
    }
}

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
    for (auto const& r : http::routes()) {
        CAPTURE(r.pattern);
        if (!r.needs)
            continue;
        auto const answer = nobody.send(
            {.method = std::string(r.method), .target = without_names(std::string(r.pattern))});
        CHECK(verdict(answer) == "401 unauthenticated");
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

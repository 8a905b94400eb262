// SPDX-License-Identifier: Apache-2.0
// People: how they become staff and sign in, what each may do, and what a page of somebody else's
// cannot make their browsers do.
#include "service/secrets.hpp"
#include "tests/cli/command.hpp"
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/person.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

constexpr std::array roles{"viewer", "clerk", "manager", "owner"};

json account(std::string_view name, std::string_view role)
{
    return {{"name", name}, {"role", role}, {"password", good_password}};
}

// What is asked for is not there or not right: only the door matters.
struct operation {
    std::string method;
    std::string target;
    std::size_t lowest_role; // index into roles
    json body = json::object();
};

std::vector<operation> const operations{
    {"GET", "/v1/stock", 0, nullptr},
    {"GET", "/v1/session", 0, nullptr},
    {"POST", "/v1/reservations", 1},
    {"POST", "/v1/reservations/nothing/release", 1},
    {"POST", "/v1/stock/NOTHING/adjustments", 1},
    {"POST", "/v1/adjustments", 1},
    {"POST", "/v1/counts", 1},
    {"POST", "/v1/counts/nothing/cancel", 1},
    {"POST", "/v1/counts/nothing/apply", 2},
    {"GET", "/v1/imports", 0, nullptr},
    {"POST", "/v1/imports/nothing/undo", 2},
    {"PUT", "/v1/stock/NOTHING", 2, {{"on_hand", -1}}},
    {"GET", "/v1/webhooks", 2, nullptr},
    {"PUT", "/v1/blocked-customers/nobody", 2},
    {"GET", "/v1/fast-path", 0, nullptr},
    {"GET", "/v1/trail", 2, nullptr},
    {"GET", "/v1/keys", 3, nullptr},
    {"POST", "/v1/keys", 3},
    {"GET", "/v1/staff", 3, nullptr},
    {"POST", "/v1/staff", 3},
    {"DELETE", "/v1/staff/nothing", 3, nullptr},
    {"POST", "/v1/staff/nothing/link", 3, nullptr},
};

std::string password_of(std::string const& id)
{
    return "/v1/staff/" + id + "/password";
}

} // namespace

TEST_CASE("a person signs in and out, and a wrong name is answered as a wrong password is")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "clerk", "Anna");
    auto const cookie = anna.cookie();

    person stranger(service);
    auto const set = stranger.sign_in("Anna").header("set-cookie").value_or("");
    for (std::string const part : {"HttpOnly", "SameSite=Strict", "Path=/"})
        CHECK(set.find(part) != std::string::npos);
    CHECK(set.find("Secure") == std::string::npos); // it comes from this machine
    auto const nobody = stranger.sign_in("Nobody");
    auto const wrong = stranger.sign_in("Anna", "wrong horse battery staple");
    CHECK(verdict(nobody) == "401 unauthenticated");
    CHECK(verdict(wrong) == "401 unauthenticated");
    CHECK(nobody.json().at("detail") == wrong.json().at("detail"));

    CHECK(verdict(anna.call("DELETE", "/v1/session", nullptr)) == "204");
    CHECK(verdict(anna.get("/v1/session")) == "401 unauthenticated");
    CHECK(verdict(anna.send(
              {.target = "/v1/stock", .headers = {{"Cookie", "holdfast_session=made-up"}}})) ==
          "401 unauthenticated");
    auto const stored = db.session().value("SELECT string_agg(hash::text, ' ') FROM staff_session");
    CHECK(stored.find(cookie.substr(cookie.find('=') + 1)) == std::string::npos);
}

TEST_CASE("over TLS the cookie has a name that browsers take from nobody else")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "clerk", "Anna");
    CHECK(anna.cookie().starts_with("holdfast_session="));
    std::pair<std::string, std::string> const tls{"X-Forwarded-Proto", "https"};
    http_client browser(service.port());
    auto const set = browser
                         .send({.method = "POST",
                                .target = "/v1/session",
                                .body = json{{"name", "Anna"}, {"password", good_password}}.dump(),
                                .headers = {tls}})
                         .header("set-cookie")
                         .value_or("");
    CHECK(set.starts_with("__Host-holdfast_session="));
    for (std::string const part : {"; Secure", "; Path=/;", "; HttpOnly", "; SameSite=Strict"})
        CHECK(set.find(part) != std::string::npos);
    CHECK(set.find("Domain") == std::string::npos);

    // Each is good on its own way only: over TLS a neighbour may have set the plain one.
    auto const secure = set.substr(0, set.find(';'));
    auto const shown = [&](std::string const& cookie, header_list headers) {
        headers.emplace_back("Cookie", cookie);
        return verdict(browser.send({.target = "/v1/stock", .headers = std::move(headers)}));
    };
    CHECK(shown(secure, {tls}) == "200");
    CHECK(shown(anna.cookie() + "; " + secure, {tls}) == "200");
    CHECK(shown(anna.cookie(), {tls}) == "401 unauthenticated");
    CHECK(shown(secure, {}) == "401 unauthenticated");
    CHECK(shown(anna.cookie(), {}) == "200");
}

TEST_CASE("passwords cannot be tried through")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    person thief(service);
    std::string last;
    for (int i = 0; i < 30 && !last.starts_with("429"); ++i) {
        auto const answer = thief.sign_in("Anna", "password number " + std::to_string(i));
        last = verdict(answer);
        CHECK(answer.header("retry-after").has_value() == last.starts_with("429"));
    }
    CHECK(last == "429 rate-limited");
    CHECK(verdict(thief.sign_in("aNNA")) == "429 rate-limited"); // the same name
    CHECK(verdict(thief.sign_in("Berta")) == "401 unauthenticated");
}

TEST_CASE("who tries passwords keeps nobody out of a browser that knows them")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "clerk", "Anna");
    http_client browser(service.port());
    auto const attempt = [&](std::string_view password, std::string const& cookie) {
        return browser.send({.method = "POST",
                             .target = "/v1/session",
                             .body = json{{"name", "Anna"}, {"password", password}}.dump(),
                             .headers = {{"Cookie", cookie}}});
    };
    auto const tries = [&](std::string const& cookie) {
        std::string last;
        for (int i = 0; i < 30 && !last.starts_with("429"); ++i)
            last = verdict(attempt("password number " + std::to_string(i), cookie));
        return last;
    };
    CHECK(tries("") == "429 rate-limited");
    CHECK(verdict(attempt(good_password, "")) == "429 rate-limited");
    // Nor does a made-up cookie help, or one of somebody else.
    CHECK(verdict(attempt(good_password, "holdfast_browser=made-up")) == "429 rate-limited");
    auto const bert = new_person(service, db.connection_string(), "clerk", "Bert");
    CHECK(verdict(attempt(good_password, bert.browser_cookie())) == "429 rate-limited");

    auto const again = attempt(good_password, anna.browser_cookie());
    CHECK(verdict(again) == "204");
    CHECK(again.header("set-cookie").value_or("").starts_with("holdfast_session="));
    CHECK(tries(anna.browser_cookie()) == "429 rate-limited"); // it may not try for ever, either
}

TEST_CASE("each role of people may do its own work and nothing beyond it")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    for (std::size_t role = 0; role < roles.size(); ++role) {
        CAPTURE(roles[role]);
        auto who =
            new_person(service, db.connection_string(), roles[role], "P" + std::to_string(role));
        for (auto const& what : operations) {
            CAPTURE(what.method);
            CAPTURE(what.target);
            auto const answer = who.call(what.method, what.target, what.body);
            CHECK(objection_to(answer) == "");
            CHECK((answer.status == 403) == (role < what.lowest_role));
            CHECK(answer.status != 401);
            CHECK(answer.status < 500);
        }
    }
    auto const admin = service.admin_key();
    http_client keys(service.port(), admin);
    CHECK(verdict(keys.send({.target = "/v1/staff"})) == "403 forbidden");
}

TEST_CASE("what changes something needs a page of ours, unless it shows a key")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "clerk", "Anna");
    shop front(service);
    auto const target = "/v1/stock/" + front.item(5) + "/adjustments";
    std::string const body = R"({"delta":1,"reason":"found"})";
    http_client browser(service.port());
    auto const with = [&](header_list headers) {
        headers.emplace_back("Cookie", "theme=dark; " + anna.cookie());
        headers.emplace_back("Idempotency-Key", unique("key"));
        return verdict(browser.send(
            {.method = "POST", .target = target, .body = body, .headers = std::move(headers)}));
    };
    std::pair<std::string, std::string> const token{"X-CSRF-Token", anna.csrf_token()};
    auto const here = "127.0.0.1:" + std::to_string(service.port());

    CHECK(with({}) == "403 forbidden");
    CHECK(with({token}) == "403 forbidden");
    CHECK(with({{"Sec-Fetch-Site", "same-origin"}}) == "403 forbidden");
    CHECK(with({{"X-CSRF-Token", "x"}, {"Sec-Fetch-Site", "same-origin"}}) == "403 forbidden");
    CHECK(with({token, {"Sec-Fetch-Site", "same-site"}}) == "403 forbidden");
    CHECK(with({token,
                {"Sec-Fetch-Site", "cross-site"},
                {"Host", here},
                {"Origin", "http://" + here}}) == "403 forbidden");
    CHECK(with({token, {"Host", here}, {"Origin", "http://evil.example"}}) == "403 forbidden");
    CHECK(with({token, {"Origin", "null"}}) == "403 forbidden");
    CHECK(with({token, {"Sec-Fetch-Site", "same-origin"}}) == "201");
    CHECK(with({token, {"Host", here}, {"Origin", "http://" + here}}) == "201");
    CHECK(with({{"Authorization", "Bearer " + service.admin_key()}}) == "201");
    CHECK(with({{"Authorization", "Bearer x"}, token, {"Sec-Fetch-Site", "same-origin"}}) ==
          "401 unauthenticated");

    // Another page may not sign its visitors in, either.
    CHECK(verdict(browser.send({.method = "POST",
                                .target = "/v1/session",
                                .body = json{{"name", "Anna"}, {"password", good_password}}.dump(),
                                .headers = {{"Sec-Fetch-Site", "cross-site"}}})) ==
          "403 forbidden");
    auto const line = front.movements(target.substr(10, target.find("/adj") - 10)).back();
    CHECK(line.at("on_hand") == 8);
}

TEST_CASE("what a person does stands under the name, and the same key means the person's own")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "manager", "Anna");
    shop front(service);
    auto const sku = front.item(5);
    http_request const found{.method = "POST",
                             .target = "/v1/stock/" + sku + "/adjustments",
                             .body = R"({"delta":1,"reason":"found"})",
                             .headers = {{"Idempotency-Key", "one"}}};
    CHECK(verdict(anna.send(found)) == "201");
    CHECK(anna.send(found).header("idempotent-replayed") == "true");
    CHECK(verdict(front.http().send(found)) == "201"); // the key's own
    CHECK(front.level_of(sku).on_hand == 7);
    CHECK(front.movements(sku).at(1).at("actor") == "staff:Anna");
    CHECK(verdict(anna.send({.method = "PUT",
                             .target = "/v1/stock/" + sku,
                             .body = R"({"low_stock_at":2})",
                             .headers = {{"If-Match", "*"}}})) == "200");
    auto const told = anna.get("/v1/trail?actor=staff:Anna&subject=item:" + sku).json();
    CHECK(told.at("data").size() == 1);
    CHECK(run_holdfast({.arguments = {"key", "create", "--role", "shop", "--name", "staff:Anna"},
                        .environment = {{"HOLDFAST_DATABASE_URL", db.connection_string()}}})
              .status == 2);
}

TEST_CASE("there is always an owner")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto const self = "/v1/staff/" + id_of(anna);
    CHECK(verdict(anna.call("PATCH", self, {{"role", "manager"}})) == "409 last-owner");
    CHECK(verdict(anna.call("PATCH", self, {{"disabled", true}})) == "409 last-owner");
    CHECK(verdict(anna.call("DELETE", self, nullptr)) == "409 last-owner");

    auto const made = anna.call("POST", "/v1/staff", account("Bert", "owner"));
    REQUIRE(verdict(made) == "201");
    CHECK(pointers_in(anna.call("POST", "/v1/staff", account("BERT", "clerk"))) == "/name");
    auto const bert = "/v1/staff/" + made.json().at("id").get<std::string>();
    CHECK(verdict(anna.call("PATCH", bert, {{"disabled", true}})) == "200");
    CHECK(verdict(anna.call("DELETE", self, nullptr)) == "409 last-owner");
    CHECK(verdict(anna.call("PATCH", bert, {{"disabled", false}, {"expect_revision", 1}})) ==
          "412 precondition-failed");
    CHECK(verdict(anna.call("PATCH", bert, {{"disabled", false}, {"expect_revision", 2}})) ==
          "200");
    CHECK(verdict(anna.call("DELETE", self, nullptr)) == "204");
    CHECK(verdict(anna.get("/v1/session")) == "401 unauthenticated");
}

TEST_CASE("a change that changes nothing leaves revision and trail as they are")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto bert = new_person(service, db.connection_string(), "clerk", "Bert");
    auto const account = "/v1/staff/" + id_of(bert);
    for (json const& same : {json::object(), json{{"role", "clerk"}}, json{{"disabled", false}},
                             json{{"role", "clerk"}, {"expect_revision", 1}}}) {
        CAPTURE(same.dump());
        auto const answer = anna.call("PATCH", account, same);
        CHECK(verdict(answer) == "200");
        CHECK(answer.json().at("revision") == 1);
    }
    CHECK(verdict(anna.call("PATCH", account, {{"expect_revision", 2}})) ==
          "412 precondition-failed");
    auto const told = anna.get("/v1/trail?subject=staff:" + id_of(bert)).body;
    CHECK(told.find("staff.changed") == std::string::npos);
    CHECK(anna.call("PATCH", account, {{"role", "viewer"}}).json().at("revision") == 2);
}

TEST_CASE("owners who demote, disable and remove each other at once leave one")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto const url = db.connection_string();
    std::vector<std::pair<std::string, json>> const ways{
        {"PATCH", {{"role", "viewer"}}}, {"PATCH", {{"disabled", true}}}, {"DELETE", nullptr}};
    for (std::size_t way = 0; way < ways.size(); ++way) {
        CAPTURE(way);
        db.session().run("DELETE FROM staff");
        std::vector<person> owners;
        std::vector<std::string> ids;
        for (std::string const name : {"Anna", "Bert", "Cora"}) {
            owners.push_back(new_person(service, url, "owner", name + std::to_string(way)));
            ids.push_back(id_of(owners.back()));
        }
        auto const& [method, body] = ways[way];
        (void)run_together(owners.size(), [&](std::size_t i) {
            std::string said;
            for (std::size_t other = 1; other < owners.size(); ++other)
                said += verdict(
                    owners[i].call(method, "/v1/staff/" + ids[(i + other) % ids.size()], body));
            return said;
        });
        CHECK(db.session().value("SELECT count(*) FROM staff"
                                 " WHERE role = 'owner' AND disabled_at IS NULL") != "0");
    }
}

TEST_CASE("a person is signed out everywhere by himself or by an owner")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto bert = new_person(service, db.connection_string(), "clerk", "Bert");
    person elsewhere(service);
    CHECK(verdict(elsewhere.sign_in("Bert")) == "204");
    auto const sessions_of = [](std::string const& id) { return "/v1/staff/" + id + "/sessions"; };
    auto const id = id_of(bert);
    CHECK(verdict(bert.call("DELETE", sessions_of(id_of(anna)), nullptr)) == "403 forbidden");
    CHECK(verdict(bert.call("DELETE", sessions_of(id), nullptr)) == "204");
    CHECK(verdict(bert.get("/v1/stock")) == "401 unauthenticated");
    CHECK(verdict(elsewhere.get("/v1/stock")) == "401 unauthenticated");
    CHECK(verdict(bert.sign_in("Bert")) == "204");
    CHECK(verdict(anna.call("DELETE", sessions_of(id), nullptr)) == "204");
    CHECK(verdict(bert.get("/v1/stock")) == "401 unauthenticated");
    CHECK(verdict(anna.get("/v1/stock")) == "200");
    auto const told = anna.get("/v1/trail?subject=staff:" + id + "&limit=1").json().at("data");
    CHECK(told.at(0).at("action") == "staff.signed_out");
    CHECK(told.at(0).at("detail").at("name") == "Bert");
}

TEST_CASE("who is disabled, or gets another password, is signed out at once")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto bert = new_person(service, db.connection_string(), "clerk", "Bert");
    auto const id = id_of(bert);
    CHECK(verdict(anna.call("PATCH", "/v1/staff/" + id, {{"disabled", true}})) == "200");
    CHECK(verdict(bert.get("/v1/stock")) == "401 unauthenticated");
    CHECK(verdict(bert.sign_in("Bert")) == "401 unauthenticated");
    CHECK(verdict(anna.call("PATCH", "/v1/staff/" + id, {{"disabled", false}})) == "200");
    CHECK(verdict(bert.get("/v1/stock")) == "401 unauthenticated"); // that session has ended
    CHECK(verdict(bert.sign_in("Bert")) == "204");

    std::string const next = "another horse battery staple";
    CHECK(pointers_in(bert.call("POST", password_of(id), {{"password", next}})) ==
          "/current_password");
    CHECK(verdict(bert.call("POST", password_of(id),
                            {{"password", next}, {"current_password", next}})) == "403 forbidden");
    CHECK(verdict(bert.call("POST", password_of(id_of(anna)), {{"password", next}})) ==
          "403 forbidden");
    person elsewhere(service);
    CHECK(verdict(elsewhere.sign_in("Bert")) == "204");
    CHECK(verdict(bert.call("POST", password_of(id),
                            {{"password", next}, {"current_password", good_password}})) == "204");
    CHECK(verdict(bert.get("/v1/stock")) == "200");
    CHECK(verdict(elsewhere.get("/v1/stock")) == "401 unauthenticated");
    CHECK(verdict(anna.call("POST", password_of(id), {{"password", good_password}})) == "204");
    CHECK(verdict(bert.get("/v1/stock")) == "401 unauthenticated");
    auto const trail = anna.get("/v1/trail?subject=staff:" + id).json().dump();
    CHECK(trail.find("staff.password_set") != std::string::npos);
    CHECK(trail.find("argon2") == std::string::npos);
    auto const entries = json::parse(trail);
    for (auto const& each : entries.at("data"))
        if (each.at("action") == "staff.password_set")
            CHECK(each.at("detail").at("name") == "Bert");
}

TEST_CASE("a session ends when it is not used, when it is old, and when there are too many")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "clerk", "Anna");
    auto sql = db.session();
    sql.run("UPDATE staff_session SET last_seen_at = now() - interval '11 hours'");
    CHECK(verdict(anna.get("/v1/stock")) == "200");
    CHECK(sql.value("SELECT last_seen_at > now() - interval '1 hour' FROM staff_session") == "t");
    sql.run("UPDATE staff_session SET last_seen_at = now() - interval '13 hours'");
    CHECK(verdict(anna.get("/v1/stock")) == "401 unauthenticated");
    sql.run("UPDATE staff_session SET last_seen_at = now(), expires_at = now()");
    CHECK(verdict(anna.get("/v1/stock")) == "401 unauthenticated");

    CHECK(verdict(anna.sign_in("Anna")) == "204");
    sql.run("INSERT INTO staff_session (hash, staff_id, expires_at)"
            " SELECT sha256(i::text::bytea), (SELECT id FROM staff), now() + interval '1 day'"
            "   FROM generate_series(1, 20) i");
    sql.run("UPDATE staff_session SET created_at = now() - interval '1 minute'");
    CHECK(verdict(anna.sign_in("Anna")) == "204");
    CHECK(sql.value("SELECT count(*) FROM staff_session") == "10");
    CHECK(verdict(anna.get("/v1/stock")) == "200");
}

TEST_CASE("keys are made and revoked over HTTP, by administrators and owners")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto const made = anna.call("POST", "/v1/keys", {{"name", "till"}, {"role", "shop"}});
    REQUIRE(verdict(made) == "201");
    http_client till(service.port(), made.json().at("key").get<std::string>());
    CHECK(verdict(till.send({.target = "/v1/stock"})) == "200");
    auto const id = made.json().at("id").get<std::string>();
    auto const all = anna.get("/v1/keys?limit=200").body;
    CHECK(all.find("\"id\":\"" + id + '"') != std::string::npos);
    CHECK(all.find(made.json().at("key").get<std::string>()) == std::string::npos);
    CHECK(pointers_in(anna.call("POST", "/v1/keys", {{"name", "staff:x"}, {"role", "owner"}})) ==
          "/name /role");
    CHECK(verdict(anna.call("DELETE", "/v1/keys/" + id, nullptr)) == "204");
    CHECK(verdict(anna.call("DELETE", "/v1/keys/" + id, nullptr)) == "404 not-found");
    CHECK(verdict(till.send({.target = "/v1/stock"})) == "401 unauthenticated");
    auto const told = anna.get("/v1/trail?subject=key:" + id).json().at("data");
    REQUIRE(told.size() == 2);
    CHECK(told.at(0).at("actor") == "staff:Anna");
    CHECK(told.at(0).at("action") == "key.revoked");
    CHECK(told.at(0).at("detail") == json{{"name", "till"}, {"role", "shop"}});
}

} // namespace holdfast::test

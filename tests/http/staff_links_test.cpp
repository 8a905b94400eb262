// SPDX-License-Identifier: Apache-2.0
// Links by which people become staff or get another password: good once, and only for as long as
// whoever made them could make them.
#include "service/secrets.hpp"
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/person.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

TEST_CASE("the first who has the link becomes the owner, and nobody after")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto sql = db.session();
    CHECK(sql.value("SELECT count(*) FROM staff_invitation") == "1"); // the one that was printed
    sql.run("UPDATE staff_invitation SET hash = decode($1, 'hex')",
            {to_hex(hash_api_key("the first"))});
    sql.run("INSERT INTO staff_invitation (hash, role, expires_at)"
            " VALUES (decode($1, 'hex'), 'owner', now() + interval '1 hour'),"
            "        (decode($2, 'hex'), 'owner', now() - interval '1 hour')",
            {to_hex(hash_api_key("the second")), to_hex(hash_api_key("an old one"))});

    person anna(service);
    auto const redeem = [&](std::string_view token, std::string_view name,
                            std::string_view password = good_password) {
        json body{{"token", token}, {"password", password}};
        if (!name.empty())
            body["name"] = name;
        return anna.call("POST", "/v1/staff/first", body);
    };
    CHECK(verdict(redeem("made up", "Anna")) == "403 forbidden");
    CHECK(verdict(redeem("an old one", "Anna")) == "403 forbidden");
    CHECK(pointers_in(redeem("the first", "Anna", "123456789")) == "/password");
    CHECK(pointers_in(redeem("the first", "")) == "/name");
    auto const made = redeem("the first", "Anna");
    REQUIRE(verdict(made) == "201");
    CHECK(made.json().at("role") == "owner");
    CHECK(verdict(redeem("the first", "Berta")) == "403 forbidden");
    CHECK(verdict(redeem("the second", "Berta")) == "403 forbidden");
    CHECK(verdict(anna.sign_in("ANNA")) == "204");
    CHECK(anna.get("/v1/session").json().at("actor") == "staff:Anna");

    // Later links name whom they are for.
    auto const link = invite(db.connection_string(), "clerk", "Bert");
    CHECK(pointers_in(redeem(link, "Berta")) == "/name");
    CHECK(redeem(link, "").json().at("name") == "Bert");
}

TEST_CASE("a link takes no members, and an unknown one is refused")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto bert = new_person(service, db.connection_string(), "clerk", "Bert");
    auto const link = "/v1/staff/" + id_of(bert) + "/link";
    CHECK(pointers_in(anna.call("POST", link, {{"lifetime", 5}})) == "/lifetime");
    CHECK(verdict(anna.call("POST", link, json::object())) == "201");
}

TEST_CASE("of the links for one name or account the last is good, and once")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto bert = new_person(service, db.connection_string(), "clerk", "Bert");
    person nobody(service);
    auto const redeem = [&](std::string const& token, std::string_view password) {
        return nobody.call("POST", "/v1/staff/first", {{"token", token}, {"password", password}});
    };
    auto const as_owner = invite(db.connection_string(), "owner", "Cora");
    auto const as_clerk = invite(db.connection_string(), "clerk", "cORA");
    CHECK(verdict(redeem(as_owner, good_password)) == "403 forbidden");
    CHECK(redeem(as_clerk, good_password).json().at("role") == "clerk");
    CHECK(verdict(redeem(as_clerk, good_password)) == "403 forbidden");

    auto const account = "/v1/staff/" + id_of(bert);
    auto const link = [&] {
        auto const made = anna.call("POST", account + "/link", nullptr);
        REQUIRE(verdict(made) == "201");
        return made.json().at("token").get<std::string>();
    };
    std::string const next = "another horse battery staple";
    CHECK(verdict(anna.call("POST", "/v1/staff/" + id_of(anna) + "/link", nullptr)) ==
          "403 forbidden");
    auto const first = link();
    auto const second = link();
    CHECK(verdict(redeem(first, next)) == "403 forbidden");
    CHECK(verdict(bert.get("/v1/stock")) == "200"); // nothing has happened yet
    auto const set = redeem(second, next);
    CHECK(verdict(set) == "200");
    CHECK(set.json().at("name") == "Bert");
    CHECK(verdict(redeem(second, next)) == "403 forbidden");
    CHECK(verdict(bert.get("/v1/stock")) == "401 unauthenticated");
    CHECK(verdict(bert.sign_in("Bert")) == "401 unauthenticated");
    CHECK(verdict(bert.sign_in("Bert", next)) == "204");

    // Another password by another way voids it, and for a disabled account it is good for nothing.
    auto const third = link();
    CHECK(verdict(bert.call("POST", account + "/password",
                            {{"password", good_password}, {"current_password", next}})) == "204");
    CHECK(verdict(redeem(third, next)) == "403 forbidden");
    auto const fourth = link();
    CHECK(verdict(anna.call("PATCH", account, {{"disabled", true}})) == "200");
    CHECK(verdict(redeem(fourth, next)) == "403 forbidden");
    auto const trail = anna.get("/v1/trail?subject=staff:" + account.substr(10)).json().dump();
    CHECK(trail.find("staff.link_made") != std::string::npos);
    CHECK(trail.find(fourth) == std::string::npos);
}

TEST_CASE("a link ends with the right of whoever made it")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto bert = new_person(service, db.connection_string(), "clerk", "Bert");
    person nobody(service);
    auto const redeem = [&](std::string const& token) {
        return verdict(nobody.call("POST", "/v1/staff/first",
                                   {{"token", token}, {"password", good_password}}));
    };
    auto const link_by = [&](person& maker) {
        auto const made = maker.call("POST", "/v1/staff/" + id_of(bert) + "/link", nullptr);
        REQUIRE(verdict(made) == "201");
        return made.json().at("token").get<std::string>();
    };
    std::vector<std::pair<std::string, json>> const ways{
        {"PATCH", {{"role", "manager"}}}, {"PATCH", {{"disabled", true}}}, {"DELETE", nullptr}};
    for (std::size_t way = 0; way < ways.size(); ++way) {
        CAPTURE(way);
        auto cora =
            new_person(service, db.connection_string(), "owner", "Cora" + std::to_string(way));
        auto const maker = "/v1/staff/" + id_of(cora);
        auto const token = link_by(cora);
        auto const& [method, body] = ways[way];
        CHECK(verdict(anna.call(method, maker, body)).starts_with("20"));
        if (method == "PATCH") { // the right comes back, and the link does not
            json const again{{"role", "owner"}, {"disabled", false}};
            CHECK(verdict(anna.call("PATCH", maker, again)) == "200");
        }
        CHECK(redeem(token) == "403 forbidden");
    }
    CHECK(verdict(bert.get("/v1/stock")) == "200"); // whose password nobody has set

    // Whatever changed the role of the maker: it is looked at when the link is opened.
    auto const token = link_by(anna);
    auto sql = db.session();
    sql.run("UPDATE staff SET role = 'viewer' WHERE name = 'Anna'");
    CHECK(redeem(token) == "403 forbidden");
    // Nobody made the links of the command line.
    CHECK(redeem(invite(db.connection_string(), "clerk", "Dora")) == "201");
}

TEST_CASE("of many who open one link at once, one gets in")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    auto anna = new_person(service, db.connection_string(), "owner", "Anna");
    auto bert = new_person(service, db.connection_string(), "clerk", "Bert");
    auto const made = anna.call("POST", "/v1/staff/" + id_of(bert) + "/link", nullptr);
    for (auto const& [token, wanted] :
         {std::pair(invite(db.connection_string(), "clerk", "Cora"), std::string("201")),
          std::pair(made.json().at("token").get<std::string>(), std::string("200"))}) {
        auto const answers = run_together(6, [&, &token = token](std::size_t i) {
            person one(service);
            auto const password = "password number " + std::to_string(i);
            return verdict(
                one.call("POST", "/v1/staff/first", {{"token", token}, {"password", password}}));
        });
        CHECK(std::ranges::count(answers, wanted) == 1);
        CHECK(std::ranges::count(answers, "403 forbidden") == 5);
    }
}

} // namespace holdfast::test

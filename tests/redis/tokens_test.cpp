// SPDX-License-Identifier: Apache-2.0
// Items that are sold with tokens: the line before them, what a token is good for, and that no
// token buys twice.
#include "tests/support/database.hpp"
#include "tests/support/fast_stage.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// An item that is only sold with a token.
std::string guarded_item(shop& till, std::int64_t on_hand, json settings = json::object())
{
    settings["admission"] = "token";
    return till.item(on_hand, std::move(settings));
}

http_response ask(shop& till, std::string const& sku, std::string const& customer)
{
    return till.http().send({.method = "POST",
                             .target = "/v1/tokens",
                             .body = json{{"sku", sku}, {"customer", customer}}.dump()});
}

// The token of somebody who is let in.
std::string token_of(http_response const& answer)
{
    REQUIRE(answer.status == 201);
    return answer.json().at("token");
}

// The place of somebody who waits; 0 for who is let in.
int place_of(http_response const& answer)
{
    if (answer.status == 201)
        return 0;
    REQUIRE(answer.status == 202);
    auto const shown = answer.json();
    CHECK(answer.header("Retry-After") ==
          std::to_string(shown.at("retry_after_seconds").get<int>()));
    CHECK(shown.at("waiting") >= shown.at("place"));
    return shown.at("place");
}

http_response buy(shop& till, std::string const& sku, std::string const& customer,
                  std::string const& token)
{
    return till.reserve({{sku}}, {{"customer", customer}, {"token", token}});
}

// Nobody can make such a token.
std::string forged(std::string token)
{
    token[30] = token[30] == 'A' ? 'B' : 'A';
    return token;
}

// The one key of the line of that name, as long as there is one item with a line.
std::string line_key(redis_server const& server, std::string const& name)
{
    auto const found = server.ask({"KEYS", "holdfast:line:*:" + name});
    REQUIRE(found.parts().size() == 1);
    return found.parts().front().text();
}

} // namespace

TEST_CASE("first come, first served: a pool of two, the others in line")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = guarded_item(till, 10, {{"admission_pool", 2}});
    CHECK(till.item_of(sku).at("admission") == "token");
    CHECK(till.item_of(sku).at("admission_pool") == 2);
    CHECK(till.item_of(sku).at("admission_ttl_seconds") == 300);

    auto const first = token_of(ask(till, sku, "c-1"));
    auto const second = token_of(ask(till, sku, "c-2"));
    CHECK(first != second);
    CHECK(place_of(ask(till, sku, "c-3")) == 1);
    CHECK(place_of(ask(till, sku, "c-4")) == 2);
    CHECK(place_of(ask(till, sku, "c-3")) == 1); // asking again changes nothing
    CHECK(token_of(ask(till, sku, "c-1")) == first);

    CHECK(outcome(buy(till, sku, "c-1", first)) == "201");
    // c-4 may ask before c-3, and is not let in before him.
    REQUIRE(eventually(soon, [&] { return place_of(ask(till, sku, "c-3")) == 0; }));
    CHECK(place_of(ask(till, sku, "c-4")) == 1);
    CHECK(place_of(ask(till, sku, "c-1")) == 2); // once more from the end
    CHECK(till.audit_ok());
}

TEST_CASE("nobody passes those who wait, however often he asks")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = guarded_item(till, 10, {{"admission_pool", 1}});
    auto const first = token_of(ask(till, sku, "c-1"));
    CHECK(place_of(ask(till, sku, "c-2")) == 1);
    auto const granted = line_key(place.server, "granted");
    CHECK(outcome(buy(till, sku, "c-1", first)) == "201");
    REQUIRE(eventually(soon, [&] {
        return place.server.ask({"EXISTS", granted}).number() == 0; // the slot is free
    }));
    for (int n = 0; n < 5; ++n)
        CHECK(place_of(ask(till, sku, "c-3")) == 2);
    CHECK(place_of(ask(till, sku, "c-2")) == 0);
    CHECK(place_of(ask(till, sku, "c-3")) == 1);
}

TEST_CASE("who stays away loses the place, and the line moves")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = guarded_item(till, 10, {{"admission_pool", 1}});
    static_cast<void>(token_of(ask(till, sku, "c-1")));
    CHECK(place_of(ask(till, sku, "c-2")) == 1);
    CHECK(place_of(ask(till, sku, "c-3")) == 2);
    // As if he had asked a long time ago.
    static_cast<void>(place.server.ask({"ZADD", line_key(place.server, "asked"), "1", "c-2"}));
    CHECK(place_of(ask(till, sku, "c-3")) == 1);
    CHECK(place_of(ask(till, sku, "c-2")) == 2);
}

TEST_CASE("a token that expires makes room, and buys nothing any more")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = guarded_item(till, 10, {{"admission_pool", 1}, {"admission_ttl_seconds", 1}});
    auto const first = ask(till, sku, "c-1");
    auto const token = token_of(first);
    CHECK(to_instant(first.json().at("expires_at")) > instant());
    CHECK(place_of(ask(till, sku, "c-2")) <= 1);
    REQUIRE(eventually(soon, [&] { return place_of(ask(till, sku, "c-2")) == 0; }));
    CHECK(outcome(buy(till, sku, "c-1", token)) == "409 token-expired");
    CHECK(till.level_of(sku).reserved == 0);
}

TEST_CASE("a token is needed, and good for one customer, one item and one reservation")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = guarded_item(till, 10);
    auto const other = guarded_item(till, 10);
    auto const plain = till.item(10);
    auto const token = token_of(ask(till, sku, "c-1"));

    CHECK(outcome(till.reserve({{sku}}, {{"customer", "c-1"}})) == "403 token-required");
    CHECK(outcome(buy(till, sku, "c-1", forged(token))) == "403 token-invalid");
    CHECK(outcome(buy(till, sku, "c-1", "nonsense")) == "403 token-invalid");
    CHECK(outcome(buy(till, sku, "c-2", token)) == "403 token-invalid");
    CHECK(outcome(buy(till, other, "c-1", token)) == "403 token-invalid");
    auto const pointer = [&](std::vector<line> const& lines, json const& more) {
        auto const answer = till.reserve(lines, more);
        CHECK(outcome(answer) == "400 validation-failed");
        return pointers_in(answer);
    };
    CHECK(pointer({{sku}}, {{"token", token}}) == "/customer");
    CHECK(pointer({{plain}}, {{"customer", "c-1"}, {"token", token}}) == "/token");
    CHECK(pointer({{sku}, {other}}, {{"customer", "c-1"}, {"token", token}}) == "/lines");
    CHECK(pointer({{sku}}, {{"customer", "c-1"}, {"token", std::string(201, 'A')}}) == "/token");
    CHECK(till.level_of(sku).reserved == 0);

    CHECK(outcome(till.reserve({{sku}, {plain, 2}}, {{"customer", "c-1"}, {"token", token}})) ==
          "201");
    CHECK(outcome(buy(till, sku, "c-1", token)) == "409 token-used");
    CHECK(till.level_of(sku).reserved == 1);
    CHECK(till.audit_ok());
}

TEST_CASE("a request that is repeated has its first answer, whatever has become of its token")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = guarded_item(till, 10);
    json const body{{"lines", {{{"sku", sku}, {"quantity", 1}}}},
                    {"customer", "c-1"},
                    {"token", token_of(ask(till, sku, "c-1"))}};
    auto const send = [&] {
        return till.http().send({.method = "POST",
                                 .target = "/v1/reservations",
                                 .body = body.dump(),
                                 .headers = {{"Idempotency-Key", "key-" + sku}}});
    };
    auto const made = send();
    REQUIRE(made.status == 201);
    auto const again = send();
    CHECK(id_of(again) == id_of(made));
    CHECK(again.header("Idempotent-Replayed") == "true");
}

TEST_CASE("twenty buyers with one token: one of them has it")
{
    fast_stage place;
    auto const sku = guarded_item(place.front, 50);
    auto const token = token_of(ask(place.front, sku, "c-1"));
    auto tills = shops(place.service, 20);
    auto const answers =
        run_together(tills.size(), [&](std::size_t i) { return buy(tills[i], sku, "c-1", token); });
    CHECK(count(answers, "201") == 1);
    CHECK(count(answers, "409 token-used") == 19);
    CHECK(place.front.level_of(sku).reserved == 1);
    CHECK(place.front.audit_ok());
}

TEST_CASE("a reservation that is refused leaves its token unspent")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = guarded_item(till, 1, {{"max_per_customer", 2}});
    auto const scarce = till.item(0);
    auto const token = token_of(ask(till, sku, "c-1"));
    json const with_token{{"customer", "c-1"}, {"token", token}};

    CHECK(outcome(till.reserve({{sku, 2}}, with_token)) == "409 insufficient-stock");
    CHECK(outcome(till.reserve({{sku, 3}}, with_token)) == "409 customer-limit");
    CHECK(outcome(till.reserve({{sku}, {scarce}}, with_token)) == "409 insufficient-stock");
    CHECK(till.put_item(sku, {{"on_sale", false}}).status == 200);
    CHECK(outcome(till.reserve({{sku}}, with_token)) == "409 not-on-sale");
    CHECK(till.put_item(sku, {{"on_sale", true}}).status == 200);
    CHECK(token_of(ask(till, sku, "c-1")) == token);
    auto const made = till.reserve({{sku}}, with_token);
    CHECK(outcome(made) == "201");

    // What takes the place of a hold needs a token of its own.
    auto instead = with_token;
    instead["supersedes"] = id_of(made);
    CHECK(outcome(till.reserve({{sku}}, instead)) == "409 token-used");
    CHECK(till.reservation(id_of(made)).at("state") == "held");
    instead["token"] = token_of(ask(till, sku, "c-1"));
    CHECK(outcome(till.reserve({{sku}}, instead)) == "201");
    CHECK(till.reservation(id_of(made)).at("state") == "released");
    CHECK(till.audit_ok());
}

TEST_CASE("a Redis that is emptied costs places, and no token")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = guarded_item(till, 10, {{"admission_pool", 1}});
    auto const token = token_of(ask(till, sku, "c-1"));
    CHECK(place_of(ask(till, sku, "c-2")) == 1);
    CHECK(place_of(ask(till, sku, "c-3")) == 2);
    static_cast<void>(place.server.ask({"FLUSHALL"}));
    CHECK(place_of(ask(till, sku, "c-3")) == 0); // the line begins anew
    CHECK(place_of(ask(till, sku, "c-2")) == 1);
    CHECK(outcome(buy(till, sku, "c-1", token)) == "201");
    CHECK(outcome(buy(till, sku, "c-1", token)) == "409 token-used");

    place.server.kill9();
    CHECK(outcome(ask(till, sku, "c-2")) == "503 overloaded");
    place.server.start();
    CHECK(eventually(soon, [&] { return ask(till, sku, "c-2").status == 201; }));
}

TEST_CASE("two processes share the line and the secret")
{
    fast_stage place;
    service_process const another(options_with(place.db, place.server.url()));
    shop there(another);
    auto& here = place.front;
    auto const sku = guarded_item(here, 10, {{"admission_pool", 1}});
    auto const token = token_of(ask(here, sku, "c-1"));
    CHECK(token_of(ask(there, sku, "c-1")) == token);
    CHECK(place_of(ask(there, sku, "c-2")) == 1);
    CHECK(place_of(ask(here, sku, "c-3")) == 2);
    CHECK(outcome(buy(there, sku, "c-1", token)) == "201");
    CHECK(outcome(buy(here, sku, "c-1", token)) == "409 token-used");
    CHECK(eventually(soon, [&] { return place_of(ask(here, sku, "c-2")) == 0; }));
}

TEST_CASE("a draw: of two hundred who come at once ten are let in, and ten buy")
{
    fast_stage place;
    auto const sku = guarded_item(place.front, 100, {{"admission_pool", 10}});
    auto tills = shops(place.service, 200);
    auto const answers = run_together(
        tills.size(), [&](std::size_t i) { return ask(tills[i], sku, "c-" + std::to_string(i)); });
    CHECK(count(answers, "201") == 10);
    CHECK(count(answers, "202") == 190);
    std::set<int> places;
    for (auto const& each : answers)
        if (each.status == 202)
            places.insert(place_of(each));
    CHECK(places.size() == 190);
    for (std::size_t i = 0; i < answers.size(); ++i)
        if (answers[i].status == 201)
            CHECK(outcome(buy(tills[i], sku, "c-" + std::to_string(i), token_of(answers[i]))) ==
                  "201");
    CHECK(place.front.level_of(sku).reserved == 10);
    auto const counted = place.front.get("/metrics").body;
    CHECK(counted.find("holdfast_token_requests_total{outcome=\"granted\"} 10") !=
          std::string::npos);
    CHECK(counted.find("holdfast_token_requests_total{outcome=\"waiting\"} 190") !=
          std::string::npos);
}

TEST_CASE("an item with a fast path can ask for tokens as well")
{
    fast_stage place;
    auto& till = place.front;
    auto const sku = place.item(1, {{"admission", "token"}, {"admission_pool", 2}});
    auto const first = token_of(ask(till, sku, "c-1"));
    auto const second = token_of(ask(till, sku, "c-2"));
    CHECK(outcome(till.reserve({{sku}}, {{"customer", "c-1"}})) == "403 token-required");
    CHECK(outcome(buy(till, sku, "c-1", first)) == "201");
    CHECK(eventually(soon, [&] { return place.has(sku, 0); }));
    CHECK(outcome(buy(till, sku, "c-2", second)) == "409 insufficient-stock");
    CHECK(till.audit_ok());
}

TEST_CASE("who asks for what cannot be had is told why")
{
    fast_stage place;
    auto& till = place.front;
    service_process const plain({.database_url = place.db.connection_string()});
    shop without_redis(plain);
    auto const sku = guarded_item(till, 1, {{"sale_starts_at", "2999-01-01T00:00:00Z"}});
    auto const over = guarded_item(till, 1, {{"sale_ends_at", "2020-01-01T00:00:00Z"}});
    auto const paused = guarded_item(till, 1, {{"on_sale", false}});

    CHECK(ask(till, sku, "c-1").status == 201); // one may come before the sale
    CHECK(outcome(ask(till, over, "c-1")) == "409 not-on-sale");
    CHECK(outcome(ask(till, paused, "c-1")) == "409 not-on-sale");
    CHECK(outcome(ask(till, "no-such-item", "c-1")) == "404 unknown-sku");
    CHECK(pointers_in(ask(till, till.item(1), "c-1")) == "/sku");
    CHECK(outcome(ask(without_redis, sku, "c-1")) == "400 validation-failed");
    for (auto const* wrong :
         {R"({})", R"({"sku":"A"})", R"({"customer":"c"})", R"([])", R"({"sku":"A","customer":""})",
          R"({"sku":"A","customer":null})", R"({"sku":"A","customer":"c","more":1})"})
        CHECK_MESSAGE(outcome(till.post_text("/v1/tokens", wrong)) == "400 validation-failed",
                      wrong);
    for (auto const* wrong :
         {R"({"admission":"lottery"})", R"({"admission":1})", R"({"admission_pool":0})",
          R"({"admission_pool":1000001})", R"({"admission_pool":null})",
          R"({"admission_ttl_seconds":0})", R"({"admission_ttl_seconds":86401})"})
        CHECK_MESSAGE(outcome(till.put_item(sku, json::parse(wrong))) == "400 validation-failed",
                      wrong);
    CHECK(till.put_item(paused, {{"admission", nullptr}, {"on_sale", true}}).status == 200);
    CHECK(outcome(till.reserve(paused)) == "201");
}

} // namespace holdfast::test

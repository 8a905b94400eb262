// SPDX-License-Identifier: Apache-2.0
// Asynchronous mode: what Redis accepts is answered at once, and committed a moment later, whatever
// happens in between.
#include "redis/client.hpp"
#include "service/fast_path/bucket.hpp"
#include "service/fast_path/queued_request.hpp"
#include "tests/support/database.hpp"
#include "tests/support/fast_stage.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

json make_async(shop& front, std::string const& sku, int buckets = 1)
{
    auto const made =
        front.http().send({.method = "PUT",
                           .target = "/v1/fast-path/" + sku,
                           .body = json{{"mode", "async"}, {"buckets", buckets}}.dump()});
    REQUIRE(made.status == 200);
    REQUIRE(made.json().at("state") == "live");
    return made.json();
}

// While this lives reservations can be read and none can be written: what is accepted stays in the
// queue.
class halted_commits {
public:
    explicit halted_commits(database const& db) : session_(db.session())
    {
        session_.run("BEGIN");
        session_.run("LOCK TABLE reservation IN EXCLUSIVE MODE");
    }
    ~halted_commits() { session_.run("ROLLBACK"); }
    halted_commits(halted_commits const&) = delete;
    halted_commits& operator=(halted_commits const&) = delete;

private:
    sql_session session_;
};

http_response reserve_by(shop& front, std::string const& key, json const& body)
{
    return front.http().send({.method = "POST",
                              .target = "/v1/reservations",
                              .body = body.dump(),
                              .headers = {{"Idempotency-Key", key}}});
}

json one_of(std::string const& sku, std::int64_t quantity = 1)
{
    return {{"lines", {{{"sku", sku}, {"quantity", quantity}}}},
            {"reference", "order-1"},
            {"metadata", {{"gift", true}}}};
}

std::string state_of(shop& front, std::string const& id)
{
    auto const answer = front.get("/v1/reservations/" + id);
    return answer.status == 200 ? answer.json().at("state").get<std::string>()
                                : std::to_string(answer.status);
}

bool is_soon(shop& front, std::string const& id, std::string const& state)
{
    return eventually(20s, [&] { return state_of(front, id) == state; });
}

// Reservations a rush was promised: 202 or 201.
std::vector<std::string> promised(std::vector<http_response> const& answers)
{
    std::vector<std::string> ids;
    for (auto const& each : answers)
        if (each.status == 202 || each.status == 201)
            ids.push_back(id_of(each));
    return ids;
}

fast_path::queued_request request_for(std::string const& sku_text, units quantity)
{
    sku const item(sku_text);
    auto const id = uuid::make_v7(hint_of(item));
    reserve_command command{.key = {.api_key_id = 1, .key = unique("by-hand-")},
                            .actor = "x",
                            .lines = {{{item, location("main")}, quantity}},
                            .id = id};
    command.notes.push_back({item, 1});
    return {id, timestamp{}, std::move(command)};
}

void queue_by_hand(redis_server const& server, std::string const& sku, std::string const& id,
                   std::string const& text)
{
    auto const to = fast_path::bucket_of("holdfast", sku, 0).queue;
    static_cast<void>(server.ask({"XADD", to, "*", "id", id, "request", text}));
}

} // namespace

TEST_CASE("a queued request is read as it was written, and nothing else is one")
{
    auto const written = request_for("TEE-M", 3);
    auto const text = to_text(written);
    auto const read = fast_path::parse_queued(text);
    REQUIRE(read);
    CHECK(read->id == written.id);
    CHECK(read->command.is_accepted);
    CHECK(read->command.lines.front().quantity == 3);
    CHECK(read->command.key.key == written.command.key.key);
    CHECK(to_text(*read) == text);
    for (std::size_t length = 0; length < text.size(); ++length)
        CHECK_FALSE(fast_path::parse_queued(text.substr(0, length)));
    auto changed = json::parse(text);
    for (json const& quantity : {json(0), json(-1), json("3"), json(2'000'000'000)}) {
        changed["lines"][0][1] = quantity;
        CHECK_FALSE(fast_path::parse_queued(changed.dump()));
    }
    changed = json::parse(text);
    changed["metadata"] = "[1";
    CHECK_FALSE(fast_path::parse_queued(changed.dump()));
}

TEST_CASE("Redis accepts nothing of a customer who is blocked")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const sku = front.item(100'000);
    make_async(front, sku);
    auto mine = one_of(sku);
    mine["customer"] = "c-1";
    CHECK(reserve_by(front, "before", mine).status == 202);
    auto const blocked = front.http().send({.method = "PUT",
                                            .target = "/v1/blocked-customers/c-1",
                                            .body = R"({"reason":"chargebacks"})"});
    CHECK(blocked.status == 201);
    // Every process knows of it within a second; what it has accepted till then is refused later.
    int asked = 0;
    CHECK(eventually(soon, [&] {
        auto const answer = reserve_by(front, "after-" + std::to_string(asked++), mine);
        return outcome(answer) == "403 customer-blocked";
    }));
    mine["customer"] = "c-2";
    CHECK(reserve_by(front, "other", mine).status == 202);
}

TEST_CASE("what is accepted can be read at once, and is held a moment later")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const sku = front.item(5);
    auto const shown = make_async(front, sku);
    CHECK(shown.at("mode") == "async");
    CHECK(shown.at("queue").at("length") == 0);
    CHECK(shown.at("queue").at("appendfsync") == "off");
    CHECK(front.item_of(sku).at("fast_path").at("mode") == "async");

    std::string id;
    {
        halted_commits const halt(shop_floor.db);
        auto const made = reserve_by(front, "k-" + sku, one_of(sku, 2));
        REQUIRE(made.status == 202);
        id = id_of(made);
        CHECK(made.header("Location") == "/v1/reservations/" + id);
        auto const seen = front.reservation(id);
        CHECK(seen.at("state") == "pending");
        CHECK(seen.at("lines").at(0).at("quantity") == 2);
        CHECK(seen.at("expires_at") == nullptr);
        CHECK(seen.at("metadata") == json{{"gift", true}});
        CHECK(shop_floor.fast_path(sku).at("queue").at("length") == 1);

        auto const again = reserve_by(front, "k-" + sku, one_of(sku, 2));
        CHECK(again.status == 202);
        CHECK(again.header("Idempotent-Replayed") == "true");
        CHECK(id_of(again) == id);
        CHECK(outcome(reserve_by(front, "k-" + sku, one_of(sku, 1))) ==
              "422 idempotency-key-reused");
        CHECK(front.level_of(sku).reserved == 0);
    }
    CHECK(is_soon(front, id, "held"));
    auto const held = front.reservation(id);
    CHECK(held.at("reference") == "order-1");
    CHECK(held.at("metadata") == json{{"gift", true}});
    auto const later = reserve_by(front, "k-" + sku, one_of(sku, 2));
    CHECK(later.status == 201);
    CHECK(id_of(later) == id);
    CHECK(front.level_of(sku) == level{5, 2, 3});
    CHECK(eventually(soon, [&] { return shop_floor.has(sku, 3); }));
    CHECK(front.audit_ok());
}

TEST_CASE("a rush in asynchronous mode sells every unit once, in one bucket or several")
{
    fast_stage shop_floor;
    for (int const buckets : {1, 4}) {
        auto const sku = shop_floor.front.item(60);
        make_async(shop_floor.front, sku, buckets);
        auto tills = shops(shop_floor.service, 12);
        std::vector<std::vector<http_response>> answers(tills.size());
        run_together(tills.size(), [&](std::size_t i) {
            for (int n = 0; n < 15; ++n)
                answers[i].push_back(tills[i].reserve(sku));
            return 0;
        });
        std::set<std::string> ids;
        for (auto const& each : answers) {
            for (auto const& answer : each)
                CHECK((answer.status < 300 || outcome(answer) == "409 insufficient-stock"));
            for (auto const& id : promised(each))
                CHECK(ids.insert(id).second);
        }
        CHECK(ids.size() == 60);
        for (auto const& id : ids)
            CHECK(is_soon(shop_floor.front, id, "held"));
        CHECK(shop_floor.front.level_of(sku) == level{60, 60, 0});
        CHECK(eventually(soon, [&] { return shop_floor.has(sku, 0); }));
    }
    CHECK(shop_floor.reconcile().at("differences").empty());
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("what is accepted can be confirmed, released and extended before it is held")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const sku = front.item(9);
    make_async(front, sku);
    // What comes back is for sale after the next comparison.
    auto const reserve_soon = [&](std::int64_t quantity) {
        http_response made;
        REQUIRE(eventually(soon, [&] {
            made = front.reserve(sku, quantity);
            return made.status == 202 || made.status == 201;
        }));
        return made;
    };
    for (int round = 0; round < 30; ++round) {
        auto const made = reserve_soon(3);
        CHECK(outcome(front.extend(id_of(made), 600)) == "200");
        CHECK(outcome(front.release(id_of(made))) == "200");
        CHECK(state_of(front, id_of(made)) == "released");
    }
    auto const bought = reserve_soon(4);
    CHECK(outcome(front.confirm(id_of(bought))) == "200");
    CHECK(front.level_of(sku) == level{5, 0, 5});
    CHECK(eventually(soon, [&] { return shop_floor.has(sku, 5); }));
    CHECK(front.audit_ok());
}

TEST_CASE("a customer's limit holds in asynchronous mode")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const sku = front.item(100, {{"max_per_customer", 2}});
    make_async(front, sku, 3);
    auto tills = shops(shop_floor.service, 10);
    auto const answers = run_together(tills.size(), [&](std::size_t i) {
        return tills[i].reserve({{sku}}, {{"customer", "c-1"}});
    });
    auto const ids = promised(answers);
    CHECK(ids.size() == 2);
    for (auto const& id : ids)
        CHECK(is_soon(front, id, "held"));
    CHECK(outcome(front.reserve(sku)) == "400 validation-failed");
    CHECK(front.audit_ok());
}

TEST_CASE("baskets, requests that confirm at once and those that supersede are committed at once")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const sku = front.item(10);
    auto const other = front.item(10);
    make_async(front, sku);
    CHECK(outcome(front.reserve({{sku}, {other}})) == "201");
    CHECK(outcome(front.reserve({{sku}}, {{"confirm", true}})) == "201");
    auto const first = front.reserve(sku);
    CHECK(outcome(first) == "202");
    CHECK(is_soon(front, id_of(first), "held"));
    CHECK(outcome(front.reserve({{sku}}, {{"supersedes", id_of(first)}})) == "201");
    CHECK(front.audit_ok());
}

TEST_CASE("what cannot be carried out is parked or refused, and stops nobody")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const sku = front.item(3);
    make_async(front, sku);
    auto const garbage = uuid::make_v7(hint_of(holdfast::sku(sku))).str();
    queue_by_hand(shop_floor.server, sku, garbage, "{not json");
    queue_by_hand(shop_floor.server, sku, "no id", "");
    auto const too_many = request_for(sku, 4);
    queue_by_hand(shop_floor.server, sku, too_many.id.str(), to_text(too_many));
    auto const of_another = request_for(front.item(9), 1);
    queue_by_hand(shop_floor.server, sku, of_another.id.str(), to_text(of_another));
    auto const under_another_id = uuid::make_v7(hint_of(holdfast::sku(sku))).str();
    queue_by_hand(shop_floor.server, sku, under_another_id, to_text(request_for(sku, 1)));
    auto of_a_taken_id = request_for(sku, 1);
    of_a_taken_id.id = *uuid::parse(id_of(front.reserve({{sku}}, {{"confirm", true}})));
    of_a_taken_id.command.id = of_a_taken_id.id;
    queue_by_hand(shop_floor.server, sku, of_a_taken_id.id.str(), to_text(of_a_taken_id));
    auto const good = front.reserve(sku);
    CHECK(outcome(good) == "202");
    CHECK(is_soon(front, id_of(good), "held"));
    CHECK(is_soon(front, garbage, "refused"));
    CHECK(is_soon(front, of_another.id.str(), "refused"));
    CHECK(is_soon(front, under_another_id, "refused"));
    CHECK(outcome(front.confirm(garbage)) == "404 unknown-reservation");
    CHECK(front.confirm(garbage).json().at("detail").get<std::string>().find("parked") !=
          std::string::npos);
    CHECK(front.reservation(garbage).at("code") == "parked");
    CHECK(is_soon(front, too_many.id.str(), "refused"));
    auto const refused = front.reservation(too_many.id.str());
    CHECK(refused.at("code") == "insufficient-stock");
    CHECK(refused.at("lines").at(0).at("quantity") == 4);
    // What may be a passing fault is tried five times, five seconds apart.
    CHECK(eventually(60s, [&] { return shop_floor.fast_path(sku).at("queue").at("length") == 0; }));
    CHECK(front.reservation(of_a_taken_id.id.str()).at("state") == "confirmed");
    CHECK(outcome(front.get("/v1/reservations/" + uuid::make_v7().str())) ==
          "404 unknown-reservation");
    CHECK(front.audit_ok());
}

TEST_CASE("what is in the way of one item's queue is in the way of no other")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const broken = front.item(5);
    auto const locked = front.item(5);
    auto const sound = front.item(5);
    for (auto const& sku : {broken, locked, sound})
        make_async(front, sku);
    auto const queue = fast_path::bucket_of("holdfast", broken, 0).queue;
    static_cast<void>(shop_floor.server.ask({"SET", queue, "x"}));
    auto holder = shop_floor.db.session();
    holder.run("BEGIN");
    holder.run("SELECT FROM stock_level WHERE sku = $1 FOR UPDATE", {locked});
    auto const waits = front.reserve(locked);
    CHECK(outcome(waits) == "202");
    for (int i = 0; i < 3; ++i) {
        auto const made = front.reserve(sound);
        CHECK(outcome(made) == "202");
        CHECK(is_soon(front, id_of(made), "held"));
    }
    CHECK(state_of(front, id_of(waits)) == "pending");
    holder.run("ROLLBACK");
    CHECK(is_soon(front, id_of(waits), "held"));
    static_cast<void>(shop_floor.server.ask({"DEL", queue}));
    CHECK(eventually(soon, [&] { return shop_floor.has(broken, 5); }));
    auto const mended = front.reserve(broken);
    CHECK(is_soon(front, id_of(mended), "held"));
}

TEST_CASE("nothing is promised that PostgreSQL would see otherwise")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    SUBCASE("at the edge of the sale")
    {
        auto const in = [](std::chrono::milliseconds later) {
            return to_rfc3339(std::chrono::floor<std::chrono::microseconds>(
                std::chrono::system_clock::now() + later));
        };
        auto const sku = front.item(3, {{"sale_starts_at", in(4s)}, {"sale_ends_at", in(60s)}});
        make_async(front, sku);
        std::vector<std::string> ids;
        CHECK(eventually(soon, [&] {
            auto const answer = front.reserve(sku);
            if (answer.status < 300)
                ids.push_back(id_of(answer));
            else
                CHECK(outcome(answer) == "409 not-on-sale");
            return ids.size() == 3;
        }));
        for (auto const& id : ids)
            CHECK(is_soon(front, id, "held"));
    }
    SUBCASE("to a customer who has some already")
    {
        auto const sku = front.item(50, {{"max_per_customer", 1}});
        CHECK(outcome(front.reserve({{sku}}, {{"customer", "c-1"}})) == "201");
        make_async(front, sku);
        for (int i = 0; i < 3; ++i)
            CHECK(outcome(front.reserve({{sku}}, {{"customer", "c-1"}})) == "409 customer-limit");
    }
    SUBCASE("to a customer who has as many holds as anybody may have")
    {
        auto const sku = front.item(50);
        make_async(front, sku);
        auto options = options_with(shop_floor.db, shop_floor.server.url());
        options.environment.emplace_back("HOLDFAST_OPEN_HOLDS_PER_CUSTOMER", "2");
        service_process const strict(options);
        shop other(strict);
        for (auto const* expected : {"201", "201", "409 customer-limit"})
            CHECK(outcome(other.reserve({{sku}}, {{"customer", "c-1"}})) == expected);
    }
    SUBCASE("without the token that the item wants")
    {
        auto const sku = front.item(50, {{"admission", "token"}});
        make_async(front, sku);
        CHECK(outcome(front.reserve({{sku}}, {{"customer", "c-1"}})) == "403 token-required");
        auto const token = front.post("/v1/tokens", {{"sku", sku}, {"customer", "c-1"}}).json();
        json const mine{{"customer", "c-1"}, {"token", token.at("token")}};
        CHECK(outcome(front.reserve({{sku}}, mine)) == "201");
        CHECK(outcome(front.reserve({{sku}}, mine)) == "409 token-used");
    }
    CHECK(front.audit_ok());
}

TEST_CASE("a request that was refused and is repeated is refused for the same reason")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const sku = front.item(50, {{"max_per_customer", 1}});
    make_async(front, sku);
    json body = one_of(sku);
    body["customer"] = "c-1";
    auto const first = reserve_by(front, "first-" + sku, body);
    CHECK(outcome(first) == "202");
    CHECK(is_soon(front, id_of(first), "held"));
    CHECK(outcome(front.release(id_of(first))) == "200");
    // He may have others as far as Redis can tell, so PostgreSQL says.
    auto const second = reserve_by(front, "second-" + sku, body);
    CHECK(outcome(second) == "201");
    CHECK(outcome(reserve_by(front, "third-" + sku, body)) == "409 customer-limit");
    CHECK(outcome(reserve_by(front, "third-" + sku, body)) == "409 customer-limit");
    CHECK(id_of(reserve_by(front, "second-" + sku, body)) == id_of(second));
    front.put_item(sku, {{"on_sale", false}, {"max_per_customer", 1}});
    CHECK(eventually(soon, [&] {
        return outcome(reserve_by(front, "fourth-" + sku, body)) == "409 not-on-sale";
    }));
    CHECK(outcome(reserve_by(front, "third-" + sku, body)) == "409 not-on-sale");
    CHECK(id_of(reserve_by(front, "second-" + sku, body)) == id_of(second));
    CHECK(front.audit_ok());
}

TEST_CASE("what a killed process had accepted is carried out by another one")
{
    fast_stage shop_floor;
    auto const sku = shop_floor.front.item(20);
    make_async(shop_floor.front, sku);
    std::optional<service_process> other(std::in_place,
                                         options_with(shop_floor.db, shop_floor.server.url()));
    std::vector<std::string> ids;
    {
        halted_commits const halt(shop_floor.db);
        shop till(*other);
        for (int i = 0; i < 10; ++i) {
            auto const made = till.reserve(sku);
            REQUIRE(made.status == 202);
            ids.push_back(id_of(made));
        }
        other->kill9();
    }
    for (auto const& id : ids)
        CHECK(is_soon(shop_floor.front, id, "held"));
    CHECK(shop_floor.front.level_of(sku) == level{20, 10, 10});
    CHECK(eventually(soon, [&] { return shop_floor.has(sku, 10); }));
    CHECK(shop_floor.front.audit_ok());
}

TEST_CASE("switched off, to durable or to fewer buckets, what was accepted is carried out first")
{
    fast_stage shop_floor;
    auto& front = shop_floor.front;
    auto const sku = front.item(100);
    auto const put = [&](json const& body) {
        return front.http()
            .send({.method = "PUT", .target = "/v1/fast-path/" + sku, .body = body.dump()})
            .status;
    };
    auto tills = shops(shop_floor.service, 8);
    std::vector<std::string> ids;
    auto const rush = [&] {
        auto const answers =
            run_together(tills.size(), [&](std::size_t i) { return tills[i].reserve(sku); });
        auto const some = promised(answers);
        CHECK(some.size() == tills.size());
        ids.insert(ids.end(), some.begin(), some.end());
    };
    make_async(front, sku, 8);
    rush();
    CHECK(put({{"mode", "async"}, {"buckets", 1}}) == 200);
    rush();
    CHECK(put({{"mode", "durable"}}) == 200);
    CHECK(outcome(front.reserve(sku)) == "201");
    CHECK(put({{"mode", "async"}}) == 200);
    rush();
    CHECK(front.http().send({.method = "DELETE", .target = "/v1/fast-path/" + sku}).status == 204);
    for (auto const& id : ids)
        CHECK(state_of(front, id) == "held");
    CHECK(front.item_of(sku).at("fast_path") == nullptr);
    CHECK(front.level_of(sku) == level{100, 25, 75});
    auto const left = shop_floor.server.ask({"KEYS", "holdfast:1:*queue*"});
    CHECK(left.parts().empty());
    CHECK(front.audit_ok());
}

TEST_CASE("an append-only file brings back what was accepted before Redis was killed")
{
    database const db;
    redis_server server({"--appendonly", "yes", "--appendfsync", "always"});
    service_process const service(options_with(db, server.url()));
    shop front(service);
    auto const sku = front.item(50);
    CHECK(make_async(front, sku).at("queue").at("appendfsync") == "always");
    std::vector<std::string> ids;
    {
        halted_commits const halt(db);
        for (int i = 0; i < 20; ++i) {
            auto const made = front.reserve(sku);
            REQUIRE(made.status == 202);
            ids.push_back(id_of(made));
        }
        server.kill9();
        // Nobody can know now whether it is there.
        CHECK(eventually(soon, [&] { return state_of(front, ids.front()) == "503"; }));
        server.start();
    }
    for (auto const& id : ids)
        CHECK(is_soon(front, id, "held"));
    CHECK(front.level_of(sku) == level{50, 20, 30});
    CHECK(eventually(soon, [&] {
        auto const shown = json::parse(front.get("/v1/fast-path/" + sku).body);
        return shown.at("state") == "live" && shown.at("available") == 30;
    }));
    CHECK(outcome(front.reserve(sku)) == "202");
    CHECK(front.audit_ok());
}

TEST_CASE("asynchronous mode works on a cluster")
{
    database const db;
    redis_cluster cluster;
    cluster.wait_until_settled();
    service_process const service(options_with(db, cluster.url()));
    shop front(service);
    auto const sku = front.item(40);
    make_async(front, sku, 6);
    auto tills = shops(service, 10);
    std::vector<std::vector<http_response>> answers(tills.size());
    run_together(tills.size(), [&](std::size_t i) {
        for (int n = 0; n < 10; ++n)
            answers[i].push_back(tills[i].reserve(sku));
        return 0;
    });
    std::size_t count = 0;
    for (auto const& each : answers)
        for (auto const& id : promised(each)) {
            ++count;
            CHECK(is_soon(front, id, "held"));
        }
    CHECK(count == 40);
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

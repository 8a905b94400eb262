// SPDX-License-Identifier: Apache-2.0
// Redis is killed, emptied and replaced in the middle of a drill. Afterwards every promise is
// looked up.
#include "service/cli/answer.hpp"
#include "service/cli/client.hpp"
#include "service/cli/rush.hpp"
#include "service/fast_path/bucket.hpp"
#include "tests/chaos/redis_state.hpp"
#include "tests/support/database.hpp"
#include "tests/support/fast_stage.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <future>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t clients = 200;

// One item with a fast path, at a service of its own.
struct sale {
    sale(std::string const& redis_url, std::size_t stock, std::string const& mode)
        : units(stock), service(options_with(db, redis_url)), front(service),
          sku(front.item(static_cast<std::int64_t>(stock)))
    {
        auto const made = front.http().send({.method = "PUT",
                                             .target = "/v1/fast-path/" + sku,
                                             .body = json{{"mode", mode}, {"buckets", 1}}.dump()});
        REQUIRE_MESSAGE(made.status == 200, made.body);
        REQUIRE(is_live(front, sku));
    }

    // The reservations that hold a unit, by PostgreSQL.
    [[nodiscard]] std::set<std::string> held() const
    {
        std::set<std::string> ids;
        for (auto const& row : db.session().run(
                 "SELECT r.id FROM reservation r JOIN reservation_line l ON l.reservation_id = r.id"
                 " WHERE l.sku = $1 AND r.state = 'held'",
                 {sku}))
            ids.insert(row.at(0).value());
        return ids;
    }

    std::size_t units;
    database db;
    service_process service;
    shop front;
    std::string sku;
};

std::string head_of(service_process const& service, std::string const& method_and_target)
{
    return method_and_target + " HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " +
           service.admin_key() + "\r\n";
}

// Customers who take "not now" for an answer a hundred times, and come again sooner than they are
// asked to, so that the drill ends soon.
cli::rush_plan plan_of(service_process const& service, std::size_t requests)
{
    return {
        .where = cli::parse_url(service.url()),
        .requests = requests,
        .clients = clients,
        .rate = std::nullopt,
        .retry = {.tries_max = 100, .time_max = 60s, .pause_max = 500ms, .retry_after_max = 250ms}};
}

// What the customers of a drill were told in the end.
struct told {
    std::vector<std::string> made;     // 201
    std::vector<std::string> accepted; // 202: what comes of it has to be asked
    std::size_t refused = 0;
    std::size_t served_at_first_refusal = 0;
    std::map<std::string, std::size_t> failures;
};

// Everybody wants one unit, from the start on. What happens meanwhile is the test's business, and
// happens in its own thread: a program ends with the thread that has started it.
class drill {
public:
    drill(sale const& of, std::size_t requests) : of_(of), requests_(requests)
    {
        rushing_ = std::async(std::launch::async, [this] { return rush(); });
    }

    [[nodiscard]] std::size_t served() const noexcept { return served_; }
    [[nodiscard]] bool is_over() const noexcept { return answered_ == requests_; }
    [[nodiscard]] std::size_t requests() const noexcept { return requests_; }

    // Waits for the last answer.
    [[nodiscard]] told end() { return rushing_.get(); }

private:
    told rush()
    {
        json const wanted{{"lines", {{{"sku", of_.sku}, {"quantity", 1}}}}, {"ttl_seconds", 86400}};
        auto const body = wanted.dump();
        auto const head =
            head_of(of_.service, "POST /v1/reservations") +
            "Content-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
            "\r\nIdempotency-Key: " + of_.sku + '-';
        told heard;
        auto plan = plan_of(of_.service, requests_);
        plan.write_request = [&](std::uint64_t index, std::string& to) {
            to += head + std::to_string(index) + "\r\n\r\n" + body;
        };
        plan.on_settled = [&](cli::settled_request const& one) {
            note(heard, one);
            ++answered_;
            return cli::next_step::go_on;
        };
        static_cast<void>(cli::run_rush(plan)); // whoever it gave up has no answer, which is seen
        return heard;
    }

    void note(told& heard, cli::settled_request const& one)
    {
        if (one.status == 201 || one.status == 202) {
            auto& ids = one.status == 201 ? heard.made : heard.accepted;
            ids.push_back(json::parse(one.body).at("id"));
            ++served_;
        } else if (cli::problem_code(one.body) == "insufficient-stock") {
            if (heard.refused++ == 0)
                heard.served_at_first_refusal = served_;
        } else {
            auto const why = one.status == 0 ? one.trouble : cli::problem_code(one.body);
            ++heard.failures[std::to_string(one.status) + ' ' + std::string(why)];
        }
    }

    sale const& of_;
    std::size_t requests_;
    std::atomic<std::size_t> served_ = 0;
    std::atomic<std::size_t> answered_ = 0;
    std::future<told> rushing_;
};

void check_healed(sale& of)
{
    CHECK(of.front.audit_ok());
    CHECK(eventually(60s, [&] { return is_in_line(of.front, of.sku); }));
    CHECK(differences(of.front) == "[]");
}

// There are more requests than units, so all units are sold, each once, and before anybody is
// refused, but for those whose answers were under way then.
void check_sold_out(sale& of, drill& rush)
{
    auto const heard = rush.end();
    std::set<std::string> const made(heard.made.begin(), heard.made.end());
    CHECK(text_of(heard.failures) == "");
    CHECK(heard.made.size() == of.units);
    CHECK(heard.accepted.empty());
    CHECK(heard.refused == rush.requests() - of.units);
    CHECK(heard.served_at_first_refusal + clients >= of.units);
    CHECK(made.size() == heard.made.size());
    CHECK((made == of.held()));
    check_healed(of);
}

// How many of these reservations read as what, once nothing is pending any more.
std::map<std::string, std::size_t> states_of(sale const& of, std::vector<std::string> ids)
{
    std::map<std::string, std::size_t> states;
    CHECK(eventually(60s, [&] {
        std::vector<std::string> pending;
        auto plan = plan_of(of.service, ids.size());
        plan.write_request = [&](std::uint64_t index, std::string& to) {
            to += head_of(of.service, "GET /v1/reservations/" + ids[index]) + "\r\n";
        };
        plan.on_settled = [&](cli::settled_request const& one) {
            auto const state = one.status == 200
                                   ? json::parse(one.body).at("state").get<std::string>()
                                   : std::to_string(one.status);
            if (state == "pending")
                pending.push_back(ids[one.index]);
            else
                ++states[state];
            return cli::next_step::go_on;
        };
        static_cast<void>(cli::run_rush(plan));
        ids = std::move(pending);
        return ids.empty();
    }));
    return states;
}

// What was accepted is held or refused in the end; none of it is lost, and no unit is held twice.
void check_accepted(sale& of, drill& rush)
{
    auto const heard = rush.end();
    auto states = states_of(of, heard.accepted);
    auto const held = of.held();
    MESSAGE(heard.made.size(), " made at once, accepted: ", text_of(states));
    CHECK(text_of(heard.failures) == "");
    CHECK(!heard.accepted.empty()); // else this was a drill like the others
    CHECK(states["held"] + states["refused"] == heard.accepted.size());
    CHECK(held.size() == heard.made.size() + states["held"]);
    CHECK(held.size() <= of.units);
    check_healed(of);
}

} // namespace

TEST_CASE("a drill through a Redis that loses everything twice sells all there is, each unit once")
{
    redis_server redis;
    sale drop(redis.url(), 10'000, "durable");
    drill rush(drop, 50'000);
    REQUIRE(eventually(60s, [&] { return rush.served() >= 1000; }));
    redis.kill9();
    redis.start();
    // A Redis that is not asked yet would not be missed.
    REQUIRE(eventually(60s, [&] { return is_live(drop.front, drop.sku); }));
    CHECK(!rush.is_over());
    MESSAGE("FLUSHALL when ", rush.served(), " were sold");
    static_cast<void>(redis.ask({"FLUSHALL"}));
    check_sold_out(drop, rush);
}

TEST_CASE("a drill on a cluster whose master dies sells all there is, each unit once")
{
    redis_cluster cluster;
    sale drop(cluster.url(), 4000, "durable");
    drill rush(drop, 20'000);
    REQUIRE(eventually(60s, [&] { return rush.served() >= 500; }));
    cluster.master_of(fast_path::bucket_of("holdfast", drop.sku, 0).state).kill9();
    check_sold_out(drop, rush);
}

TEST_CASE(
    "what an asynchronous drill accepted before Redis was killed is held or refused, not lost")
{
    // What it has answered, it has on disk.
    redis_server redis({"--appendonly", "yes", "--appendfsync", "always"});
    sale drop(redis.url(), 10'000, "async");
    drill rush(drop, 50'000);
    REQUIRE(eventually(60s, [&] { return rush.served() >= 1000; }));
    redis.kill9();
    redis.start();
    check_accepted(drop, rush);
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// SIGTERM in the middle of business: whoever has asked is answered, nobody new is let in, and the
// process ends with status 0.
#include "tests/http/answers.hpp"
#include "tests/http/raw_connection.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// What one client saw until the service let it go.
struct shift {
    std::vector<std::string> ids = {};        // of reservations it was promised
    std::map<std::string, int> outcomes = {}; // how often each came
    int unanswered = 0;                       // requests that were sent and never answered
};

// Buys without a pause until it is told that the connection ends.
shift buy_until_sent_home(shop& till, std::string const& sku, std::atomic<int>& answered)
{
    shift seen;
    try {
        while (true) {
            auto const answer = till.reserve(sku);
            ++answered;
            ++seen.outcomes[verdict(answer)];
            if (answer.status == 201)
                seen.ids.push_back(id_of(answer));
            if (answer.header("connection") == "close")
                return seen;
        }
    } catch (connection_lost const& lost) {
        // Whoever finds the door closed has not asked anything yet.
        seen.unanswered += std::string_view(lost.what()).starts_with("connect") ? 0 : 1;
    }
    return seen;
}

// Whether a process of ours has ended; its status is left for whoever waits for it.
bool has_ended(pid_t pid)
{
    std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(in, text);
    auto const after_name = text.rfind(") ");
    return after_name == std::string::npos || text[after_name + 2] == 'Z';
}

bool is_refused(std::uint16_t port)
{
    try {
        raw_connection const connection(port);
        return false;
    } catch (connection_lost const&) {
        return true;
    }
}

} // namespace

TEST_CASE("a service that is stopped in mid-rush answers every request it was sent")
{
    constexpr std::size_t clients = 16;
    database const db;

    for (int round = 0; round < 5; ++round) {
        CAPTURE(round);
        service_process service({.database_url = db.connection_string()});
        shop front(service);
        auto const sku = front.item(1'000'000);
        auto tills = shops(service, clients);
        std::atomic<int> answered{0};
        int status = -1;

        auto const shifts = run_together(clients + 1, [&](std::size_t i) {
            if (i < clients)
                return buy_until_sent_home(tills[i], sku, answered);
            eventually(60s, [&] { return answered >= 200 + 37 * round; });
            status = service.terminate();
            return shift{};
        });

        CHECK(status == 0);
        CHECK(answered >= 200);
        std::size_t promised = 0;
        for (std::size_t i = 0; i < clients; ++i) {
            CAPTURE(i);
            CHECK(shifts[i].unanswered == 0);
            promised += shifts[i].ids.size();
            for (auto const& [each_kind, each_times] : shifts[i].outcomes) {
                auto const& kind = each_kind;
                auto const& times = each_times;
                INFO(kind << " came " << times << " times");
                CHECK((kind == "201" || kind == "503 overloaded"));
            }
        }
        CHECK(is_refused(service.port()));
        // What was promised is there, and nothing that nobody was told of.
        CHECK(db.session().value("SELECT count(*) FROM reservation_line WHERE sku = $1", {sku}) ==
              std::to_string(promised));
    }
    service_process const next({.database_url = db.connection_string()});
    CHECK(shop(next).audit_ok());
}

TEST_CASE("while it stops, a service says that it is not ready and finishes what it has begun")
{
    database const db;
    service_process service({.database_url = db.connection_string(),
                             .environment = {{"HOLDFAST_STATEMENT_TIMEOUT_MS", "60000"},
                                             {"HOLDFAST_LOCK_TIMEOUT_MS", "55000"},
                                             {"HOLDFAST_DRAIN_SECONDS", "60"}}});
    shop front(service);
    auto const sku = front.item(10);
    // Asked on connections that are there already: new ones are not let in any more.
    auto const readyz = to_bytes({.target = "/readyz"});
    std::vector<std::unique_ptr<raw_connection>> watchers;
    for (int i = 0; i < 4; ++i) {
        watchers.push_back(std::make_unique<raw_connection>(service.port()));
        watchers.back()->send(readyz);
        REQUIRE(verdict(watchers.back()->receive()) == "200");
    }
    auto holder = db.session();
    holder.run("BEGIN");
    holder.run("UPDATE stock_level SET reserved = reserved WHERE sku = $1", {sku});
    raw_connection buyer(service.port(), 60s);
    buyer.send(to_bytes({.method = "POST",
                         .target = "/v1/reservations",
                         .body = R"({"lines":[{"sku":")" + sku + R"(","quantity":1}]})",
                         .headers = {{"Idempotency-Key", unique("key")}}},
                        service.admin_key()));
    auto looker = db.session();
    REQUIRE(eventually(30s, [&] {
        return looker.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                            " AND datname = current_database()") != "0";
    }));

    ::kill(service.pid(), SIGTERM);
    std::optional<http_response> last;
    CHECK(eventually(10s, [&] {
        watchers.back()->send(readyz);
        last = watchers.back()->receive();
        if (last && last->status != 200)
            return true;
        // Ready until a moment ago, and the last answer on this connection.
        if (!last || last->header("connection") == "close")
            watchers.pop_back();
        return watchers.empty();
    }));
    REQUIRE(verdict(last) == "503 overloaded");
    CHECK_FALSE(last.value().json().at("reasons").empty());
    CHECK(last.value().header("connection") == "close");
    CHECK(eventually(10s, [&] { return is_refused(service.port()); }));
    CHECK_FALSE(has_ended(service.pid()));

    holder.run("ROLLBACK");
    auto const answer = buyer.receive();
    CHECK(verdict(answer) == "201");
    CHECK(eventually(20s, [&] { return has_ended(service.pid()); }));
    CHECK(service.terminate() == 0);
    CHECK(db.session().value("SELECT reserved FROM stock_level WHERE sku = $1", {sku}) == "1");
}

TEST_CASE("a request that never ends does not keep a service from stopping")
{
    database const db;
    service_process service(
        {.database_url = db.connection_string(),
         .environment = {{"HOLDFAST_DRAIN_SECONDS", "1"}, {"HOLDFAST_LOCK_TIMEOUT_MS", "4000"}}});
    shop front(service);
    auto const sku = front.item(10);
    auto holder = db.session();
    holder.run("BEGIN");
    holder.run("UPDATE stock_level SET reserved = reserved WHERE sku = $1", {sku});
    raw_connection buyer(service.port());
    buyer.send(to_bytes({.method = "POST",
                         .target = "/v1/reservations",
                         .body = R"({"lines":[{"sku":")" + sku + R"(","quantity":1}]})",
                         .headers = {{"Idempotency-Key", unique("key")}}},
                        service.admin_key()));
    // Others hang on to the service as well, one of them in the middle of a request.
    raw_connection const silent(service.port());
    raw_connection half_way(service.port());
    half_way.send("GET /livez HTTP/1.1\r\nHost: x\r\n");
    auto looker = db.session();
    REQUIRE(eventually(30s, [&] {
        return looker.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                            " AND datname = current_database()") != "0";
    }));

    auto const began = steady_clock::now();
    CHECK(service.terminate() == 0);
    CHECK(steady_clock::now() - began < 20s);
    holder.run("ROLLBACK");
    CHECK(db.session().value("SELECT reserved FROM stock_level WHERE sku = $1", {sku}) == "0");
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// Power cuts, as near as a test can come: the service, the database and the line between them are
// killed in mid-rush, and afterwards every promise is looked up.
#include "tests/cli/command.hpp"
#include "tests/http/answers.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/tcp_gate.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/types.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using std::chrono::steady_clock;

constexpr std::size_t clients = 16;
constexpr std::int64_t stock = 1'000'000; // so that a refusal is never right

int rounds()
{
    auto const* wish = std::getenv("HOLDFAST_CHAOS_ROUNDS");
    return wish != nullptr ? std::atoi(wish) : 5;
}

// One reservation a client asked for, and what it heard of it.
struct order {
    std::string key;
    std::string sku;
    std::int64_t quantity = 1;
    std::string id = {};           // empty: it was asked for, and no answer came
    std::string state = {};        // the last one that was acknowledged
    std::string wanted_state = {}; // of a verb whose answer never came
};

http_response ask(http_client& client, order const& what)
{
    return client.send({.method = "POST",
                        .target = "/v1/reservations",
                        .body = R"({"lines":[{"sku":")" + what.sku + R"(","quantity":)" +
                                std::to_string(what.quantity) + R"(}],"reference":")" + what.key +
                                R"(","ttl_seconds":86400})",
                        .headers = {{"Idempotency-Key", what.key}}});
}

// A till that buys, pays and gives up at random, and keeps its receipts.
class buyer {
public:
    buyer(service_process const& service, std::vector<std::string> skus, std::uint64_t random_seed)
        : client_(service.port(), service.admin_key(), 60s), skus_(std::move(skus)),
          random_(random_seed)
    {}

    // Until it is told to stop, or nobody is there to be asked.
    void run(std::atomic<bool> const& is_over, std::atomic<int>& answered)
    {
        try {
            while (!is_over) {
                buy();
                ++answered;
            }
        } catch (connection_lost const&) {
            return; // The service is gone; what it acknowledged before is what counts.
        }
    }

    [[nodiscard]] std::vector<order> const& orders() const { return orders_; }
    [[nodiscard]] std::map<std::string, int> const& outcomes() const { return outcomes_; }

private:
    // A new order, or once more the one that was not answered.
    void buy()
    {
        if (orders_.empty() || !orders_.back().id.empty())
            orders_.push_back({.key = unique("chaos"),
                               .sku = skus_[random_() % skus_.size()],
                               .quantity = static_cast<std::int64_t>(random_() % 3 + 1)});
        auto& made = orders_.back();
        auto const answer = ask(client_, made);
        ++outcomes_[verdict(answer)];
        if (answer.status != 201) {
            // Who is asked to come again later does not come back at once.
            std::this_thread::sleep_for(20ms);
            return;
        }
        made.id = id_of(answer);
        made.state = "held";
        auto const dice = random_() % 3;
        if (dice < 2)
            settle(made, dice == 0 ? "confirm" : "release");
    }

    void settle(order& made, std::string const& verb)
    {
        made.wanted_state = verb == "confirm" ? "confirmed" : "released";
        auto const answer =
            client_.send({.method = "POST", .target = "/v1/reservations/" + made.id + '/' + verb});
        ++outcomes_[verdict(answer)];
        if (answer.status != 200)
            return;
        made.state = std::exchange(made.wanted_state, "");
    }

    http_client client_;
    std::vector<std::string> skus_;
    std::mt19937_64 random_;
    std::vector<order> orders_;
    std::map<std::string, int> outcomes_;
};

// What may be answered while the world breaks down: done, or a clear "not now".
bool is_honest(std::string_view outcome)
{
    return outcome == "200" || outcome == "201" || outcome == "503 database-unavailable" ||
           outcome == "503 outcome-unknown" || outcome == "503 overloaded" ||
           outcome == "409 idempotency-key-in-progress";
}

// A rush of all buyers; once `answers` have come, `disaster` strikes. Returns the receipts.
std::vector<order> rush(service_process const& service, std::vector<std::string> const& skus,
                        int answers, std::function<void()> const& disaster)
{
    std::vector<std::unique_ptr<buyer>> buyers;
    for (std::size_t i = 0; i < clients; ++i)
        buyers.push_back(std::make_unique<buyer>(service, skus, seed() + i));
    std::atomic<bool> is_over{false};
    std::atomic<int> answered{0};
    run_together(clients + 1, [&](std::size_t i) {
        if (i < clients) {
            buyers[i]->run(is_over, answered);
            return 0;
        }
        eventually(120s, [&] { return answered >= answers; });
        disaster();
        is_over = true;
        return 0;
    });

    CHECK(answered >= answers);
    std::vector<order> all;
    for (auto const& each : buyers) {
        all.insert(all.end(), each->orders().begin(), each->orders().end());
        for (auto const& [each_kind, each_times] : each->outcomes()) {
            auto const& kind = each_kind;
            auto const& times = each_times;
            INFO(kind << " came " << times << " times");
            CHECK(is_honest(kind));
        }
    }
    return all;
}

// Every acknowledged order is as it was acknowledged, or as the unanswered verb wanted it.
void look_up(shop& front, order const& made)
{
    CAPTURE(made.key);
    CAPTURE(made.id);
    auto const found = front.reservation(made.id);
    CAPTURE(found.dump());
    auto const& state = found.at("state");
    CHECK((state == made.state || (!made.wanted_state.empty() && state == made.wanted_state)));
    CHECK(found.at("reference") == made.key);
    CHECK(found.at("lines").at(0).at("sku") == made.sku);
    CHECK(found.at("lines").at(0).at("quantity") == made.quantity);
}

// An order whose answer was lost, sent again with its key, exists once.
void send_again(shop& front, order const& made)
{
    CAPTURE(made.key);
    http_response answer;
    // What was begun before the disaster may still be ending.
    eventually(20s, [&] {
        answer = ask(front.http(), made);
        return answer.status == 201;
    });
    CHECK(verdict(answer) == "201");
    auto const again = ask(front.http(), made);
    CHECK(verdict(again) == "201");
    CHECK(again.header("idempotent-replayed") == "true");
    CHECK(id_of(again) == id_of(answer));
    CHECK(front.reservations("reference=" + made.key).size() == 1);
}

// The level of an item is what its reservations add up to, and nothing is there that nobody
// ordered.
void add_up(shop& front, std::string const& sku, std::vector<order> const& orders)
{
    CAPTURE(sku);
    std::int64_t held = 0;
    std::int64_t sold = 0;
    std::size_t found = 0;
    for (auto const& reservation : front.reservations("sku=" + sku)) {
        ++found;
        auto const& line = reservation.at("lines").at(0);
        held += reservation.at("state") == "held" ? line.at("quantity").get<std::int64_t>() : 0;
        sold += line.at("confirmed").get<std::int64_t>();
    }
    CHECK(found ==
          static_cast<std::size_t>(std::count_if(
              orders.begin(), orders.end(), [&](auto const& made) { return made.sku == sku; })));
    CHECK(front.level_of(sku) ==
          level{.on_hand = stock - sold, .reserved = held, .available = stock - sold - held});
    CHECK(front.ledger_of(sku) == front.level_of(sku));
}

void check_promises(shop& front, std::vector<std::string> const& skus,
                    std::vector<order> const& orders)
{
    std::size_t lost = 0;
    for (auto const& made : orders) {
        if (!made.id.empty()) {
            look_up(front, made);
            continue;
        }
        ++lost;
        send_again(front, made);
    }
    MESSAGE(orders.size() << " orders, " << lost << " of them without an answer");
    for (auto const& sku : skus)
        add_up(front, sku, orders);
    CHECK(front.audit_ok());
}

// One item for each strategy.
std::vector<std::string> items_of_every_strategy(shop& front)
{
    std::vector<std::string> skus;
    for (std::string const strategy : strategies)
        skus.push_back(front.item(stock, {{"strategy", strategy}}));
    return skus;
}

// A data directory with the private cluster in it. Whatever a failed test left running ends with
// it.
class data_directory {
public:
    data_directory() = default;
    data_directory(data_directory const&) = delete;
    data_directory& operator=(data_directory const&) = delete;

    ~data_directory()
    {
        for (auto const pid : server_processes())
            ::kill(pid, SIGKILL);
        eventually(10s, [&] { return server_processes().empty(); });
    }

    [[nodiscard]] fs::path path() const { return place_.path() / "data"; }

    // The first process of the PostgreSQL server, or 0.
    [[nodiscard]] pid_t postmaster() const
    {
        std::ifstream in(path() / "postgres" / "cluster" / "postmaster.pid");
        pid_t pid = 0;
        in >> pid;
        return pid;
    }

    // Every process that works in this cluster.
    [[nodiscard]] std::vector<pid_t> server_processes() const
    {
        std::vector<pid_t> found;
        auto const cluster = fs::weakly_canonical(path() / "postgres" / "cluster");
        for (auto const& entry : fs::directory_iterator("/proc")) {
            std::error_code gone;
            auto const at = fs::read_symlink(entry.path() / "cwd", gone);
            if (!gone && at == cluster)
                found.push_back(std::stoi(entry.path().filename().string()));
        }
        return found;
    }

private:
    temporary_directory place_;
};

std::unique_ptr<service_process> start_on(data_directory const& data)
{
    return std::make_unique<service_process>(
        service_options{.environment = {{"HOLDFAST_STATEMENT_TIMEOUT_MS", "2000"},
                                        {"HOLDFAST_LOCK_TIMEOUT_MS", "1000"}},
                        .data_directory = data.path()});
}

// Readiness may be half a second old; what is read is read now.
bool is_ready(shop& front)
{
    return front.get("/readyz").status == 200 && front.get("/v1/stock?limit=1").status == 200;
}

// Waits until a service says that it is not ready, and why. False after a while.
bool is_found_not_ready(shop& front)
{
    return eventually(15s, [&] {
        auto const answer = front.get("/readyz");
        return verdict(answer) == "503 database-unavailable" &&
               !answer.json().at("reasons").empty() &&
               std::stoi(answer.header("retry-after").value_or("0")) >= 1;
    });
}

} // namespace

TEST_CASE("after kill -9 of the service in mid-rush, everything that was promised is there")
{
    data_directory const data;
    auto service = start_on(data);
    for (int round = 0; round < rounds(); ++round) {
        CAPTURE(round);
        shop before(*service);
        auto const skus = items_of_every_strategy(before);

        auto const orders = rush(*service, skus, 150 + 31 * round, [&] { service->kill9(); });
        service = start_on(data);
        shop front(*service);

        check_promises(front, skus, orders);
    }
    CHECK(service->terminate() == 0);
    CHECK(data.server_processes().empty());
}

TEST_CASE("after kill -9 of PostgreSQL in mid-rush, the service heals and every promise is kept")
{
    data_directory const data;
    auto const service = start_on(data);
    for (int round = 0; round < rounds(); ++round) {
        CAPTURE(round);
        shop front(*service);
        auto const skus = items_of_every_strategy(front);
        bool is_back = false;

        auto const orders = rush(*service, skus, 150 + 31 * round, [&] {
            auto const killed = data.postmaster();
            ::kill(killed, SIGKILL);
            shop watcher(*service);
            // The rush goes on until the server is another one and answers.
            is_back =
                eventually(120s, [&] { return data.postmaster() != killed && is_ready(watcher); });
        });

        CHECK(is_back);
        check_promises(front, skus, orders);
    }
}

TEST_CASE("after kill -9 of both at once, the next start recovers and every promise is kept")
{
    data_directory const data;
    auto service = start_on(data);
    for (int round = 0; round < rounds(); ++round) {
        CAPTURE(round);
        shop before(*service);
        auto const skus = items_of_every_strategy(before);

        auto const orders = rush(*service, skus, 150 + 31 * round, [&] {
            for (auto const pid : data.server_processes())
                ::kill(pid, SIGKILL);
            service->kill9();
        });
        service = start_on(data);
        shop front(*service);

        check_promises(front, skus, orders);
    }
}

TEST_CASE("a line to the database that breaks at every turn costs patience, and no promise")
{
    database const db;
    tcp_gate gate(db.connection_string());
    service_process const service({.database_url = gate.connection_string()});
    for (int round = 0; round < rounds(); ++round) {
        CAPTURE(round);
        shop front(service);
        auto const skus = items_of_every_strategy(front);
        std::mt19937_64 random(seed() + static_cast<std::uint64_t>(round));
        auto const cuts_before = gate.cuts();

        auto const orders = rush(service, skus, 100, [&] {
            for (int cut = 1; cut <= 25; ++cut) {
                switch (random() % 3) {
                case 0: gate.cut_before("COMMIT"); break;
                case 1: gate.cut_after("COMMIT"); break;
                default: gate.cut_after_bytes(random() % 3000); break;
                }
                eventually(10s, [&] { return gate.cuts() >= cuts_before + cut; });
            }
            gate.open();
        });

        CHECK(gate.cuts() >= cuts_before + 20);
        CHECK(eventually(60s, [&] { return is_ready(front); }));
        check_promises(front, skus, orders);
    }
}

TEST_CASE("without its database a service says so at once, and goes on when it is back")
{
    database const db;
    tcp_gate gate(db.connection_string());
    service_process const service({.database_url = gate.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    auto const id = front.hold({{sku}});

    for (int round = 0; round < 3; ++round) {
        CAPTURE(round);
        gate.shut();
        for (auto const& answer : {front.reserve(sku), front.confirm(id), front.release(id),
                                   front.get("/v1/reservations/" + id), front.get("/v1/audit"),
                                   front.get("/v1/stock")}) {
            CHECK(verdict(answer) == "503 database-unavailable");
            CHECK(std::stoi(answer.header("retry-after").value_or("0")) >= 1);
        }
        CHECK(verdict(front.get("/livez")) == "200");
        CHECK(is_found_not_ready(front));
        // A key that was never seen cannot be looked up; that must not read as "unknown key".
        http_client stranger(service.port(), "nobodys-key-0123456789");
        CHECK(verdict(stranger.send({.target = "/v1/stock"})) == "503 database-unavailable");

        gate.open();
        CHECK(eventually(60s, [&] { return is_ready(front); }));
        CHECK(verdict(front.reserve(sku)) == "201");
    }
    CHECK(front.reservation(id).at("state") == "held");
    CHECK(front.level_of(sku).reserved == 4);
    CHECK(front.audit_ok());
}

TEST_CASE("a database that hangs keeps nobody waiting for ever, and nothing is done twice")
{
    data_directory const data;
    auto const service = start_on(data);
    shop front(*service);
    auto const skus = items_of_every_strategy(front);
    std::vector<steady_clock::duration> waits(clients);

    auto const orders = rush(*service, skus, 200, [&] {
        ::kill(data.postmaster(), SIGSTOP); // so that it makes no new ones
        auto const frozen = data.server_processes();
        for (auto const pid : frozen)
            ::kill(pid, SIGSTOP);
        auto tills = shops(*service, clients);
        auto const answers = run_together(clients, [&](std::size_t i) {
            auto const began = steady_clock::now();
            auto answer = tills[i].get("/v1/stock/" + skus[0]);
            waits[i] = steady_clock::now() - began;
            return answer;
        });
        shop watcher(*service);
        CHECK(is_found_not_ready(watcher));
        for (auto const pid : frozen)
            ::kill(pid, SIGCONT);
        for (auto const& answer : answers) {
            CHECK(objection_to(answer) == "");
            CHECK(answer.status == 503);
        }
        CHECK(eventually(60s, [&] { return is_ready(watcher); }));
    });

    for (auto const& wait : waits)
        CHECK(wait < 25s);
    check_promises(front, skus, orders);
}

} // namespace holdfast::test

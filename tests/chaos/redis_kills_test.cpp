// SPDX-License-Identifier: Apache-2.0
// Redis, services and the database die in turn, a hundred times. Afterwards every promise is looked
// up.
#include "db/embedded_cluster.hpp"
#include "tests/chaos/redis_state.hpp"
#include "tests/cli/command.hpp"
#include "tests/http/answers.hpp"
#include "tests/support/caretaker.hpp"
#include "tests/support/fast_stage.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t sites = 4;
constexpr int rounds_at_each = 25;
constexpr std::size_t buyers_at_each = 3;
constexpr std::int64_t plenty = 1'000'000; // so that a refusal is never right

using ports = std::array<std::atomic<std::uint16_t>, 2>; // of the two services, as they are now

// What a buyer asked for, and what was acknowledged of it.
struct order {
    std::string key;
    std::string sku;
    std::string wanted;     // the state it is to have in the end
    std::string id = {};    // empty: nobody has said that it was made
    std::string state = {}; // the last one that was acknowledged
};

http_response ask(http_client& client, order const& what)
{
    json const wanted{{"lines", {{{"sku", what.sku}, {"quantity", 1}}}}, {"ttl_seconds", 86400}};
    return client.send({.method = "POST",
                        .target = "/v1/reservations",
                        .body = wanted.dump(),
                        .headers = {{"Idempotency-Key", what.key}}});
}

// Reserves, pays and gives up at random, at either service and, where no answer comes, at the other
// one, and keeps the receipts.
class buyer {
public:
    buyer(ports const& where, std::string key, std::array<std::string, 2> skus, std::uint64_t luck)
        : where_(where), key_(std::move(key)), skus_(std::move(skus)),
          luck_(luck), tills_{till(0), till(1)}
    {}

    int run(std::atomic<bool> const& is_over)
    {
        while (!is_over) {
            step();
            std::this_thread::sleep_for(std::chrono::milliseconds(luck_() % 15)); // thinks
        }
        return 0;
    }

    [[nodiscard]] std::vector<order> const& orders() const noexcept { return orders_; }
    [[nodiscard]] std::map<std::string, std::size_t> const& answers() const noexcept
    {
        return answers_;
    }

private:
    [[nodiscard]] http_client till(std::size_t which) const
    {
        return http_client(where_[which], key_, 20s);
    }

    // The next thing there is to ask, or once more what was not answered.
    void step()
    {
        if (orders_.empty() || orders_.back().state == orders_.back().wanted)
            begin();
        auto& made = orders_.back();
        try {
            if (made.id.empty())
                reserve(made);
            else
                settle(made);
        } catch (connection_lost const&) {
            tills_[at_] = till(at_); // it will have another port when it is back
            at_ = 1 - at_;
        }
    }

    void begin()
    {
        static constexpr std::array<char const*, 3> ends{"held", "confirmed", "released"};
        orders_.push_back({.key = unique("buyer"),
                           .sku = skus_[luck_() % skus_.size()],
                           .wanted = ends[luck_() % ends.size()]});
        at_ = luck_() % tills_.size();
    }

    void reserve(order& made)
    {
        auto const answer = ask(tills_[at_], made);
        ++answers_[verdict(answer)];
        if (answer.status != 201)
            return;
        made.id = id_of(answer);
        made.state = "held";
    }

    void settle(order& made)
    {
        std::string const verb = made.wanted == "confirmed" ? "/confirm" : "/release";
        auto const answer =
            tills_[at_].send({.method = "POST", .target = "/v1/reservations/" + made.id + verb});
        ++answers_[verdict(answer)];
        if (answer.status == 200)
            made.state = made.wanted;
    }

    ports const& where_;
    std::string key_;
    std::array<std::string, 2> skus_;
    std::mt19937_64 luck_;
    std::array<http_client, 2> tills_;
    std::size_t at_ = 0;
    std::vector<order> orders_;
    std::map<std::string, std::size_t> answers_;
};

// What may be answered while the world breaks down: done, or a clear "not now".
bool is_honest(std::string_view answer)
{
    return answer == "200" || answer == "201" || answer == "503 database-unavailable" ||
           answer == "503 outcome-unknown" || answer == "503 overloaded" ||
           answer == "409 idempotency-key-in-progress";
}

// Buyers who go on until they are sent home.
class crowd {
public:
    crowd(ports const& where, std::string const& key, std::array<std::string, 2> const& skus,
          std::mt19937_64& luck)
    {
        for (std::size_t i = 0; i < buyers_at_each; ++i)
            buyers_.push_back(std::make_unique<buyer>(where, key, skus, luck()));
        for (auto const& each : buyers_)
            running_.push_back(std::async(std::launch::async,
                                          [this, one = each.get()] { return one->run(is_over_); }));
    }
    crowd(crowd const&) = delete;
    crowd& operator=(crowd const&) = delete;
    ~crowd() { is_over_ = true; }

    std::vector<order> send_home()
    {
        is_over_ = true;
        for (auto& each : running_)
            each.get();
        std::vector<order> all;
        for (auto const& each : buyers_) {
            all.insert(all.end(), each->orders().begin(), each->orders().end());
            for (auto const& [kind, times] : each->answers())
                CHECK_MESSAGE(is_honest(kind), times, " x ", kind);
        }
        return all;
    }

private:
    std::vector<std::unique_ptr<buyer>> buyers_;
    std::atomic<bool> is_over_ = false;
    std::vector<std::future<int>> running_;
};

bool sells(service_process const& service, std::string const& sku)
{
    try {
        shop till(service);
        auto const made = till.reserve(sku);
        return made.status == 201 && till.release(id_of(made)).status == 200;
    } catch (connection_lost const&) {
        return false;
    }
}

// Two services, a PostgreSQL and a Redis, each of which can be killed and comes back. One item has
// a fast path, the other one has none. For one thread: what it starts ends with that thread.
class site {
public:
    explicit site(std::uint64_t luck) : luck_(luck)
    {
        for (std::size_t i = 0; i < services_.size(); ++i)
            start_service(i);
        shop front(*services_[0]);
        skus_ = {front.item(plenty), front.item(plenty)};
        fast_stage::make_fast(front, fast(), 1);
    }

    // Kills one of them at a moment by chance, and waits until everything is sold everywhere. The
    // next blow falls while Redis is being loaded, or when it is live.
    void play_round()
    {
        std::this_thread::sleep_for(std::chrono::milliseconds(luck_() % 80)); // by chance
        strike();
        REQUIRE(eventually(30s, [&] { return is_well(); }));
        check_books();
        shorten_pause();
        if (luck_() % 2 == 0)
            return;
        shop front(*services_[0]);
        CHECK(eventually(20s, [&] { return is_live(front, fast()); }));
    }

    void check_promises(std::vector<order> const& orders)
    {
        shop front(*services_[0]);
        for (auto const& each : orders)
            if (each.id.empty())
                send_again(front, each);
        CHECK(broken_promises(orders) == "");
        // Units of requests that a kill cut short are under way for half a minute at most.
        CHECK(eventually(60s, [&] { return is_in_line(front, fast()); }));
        CHECK(differences(front) == "[]");
        check_books();
    }

    [[nodiscard]] crowd open() { return {ports_, services_[0]->admin_key(), skus_, luck_}; }
    [[nodiscard]] std::map<std::string, std::size_t> const& blows() const noexcept
    {
        return blows_;
    }

private:
    [[nodiscard]] std::string const& fast() const { return skus_[0]; }

    // What a killed PostgreSQL had written is in the kernel, so nothing has to wait for the disk.
    db::embedded_cluster start_cluster()
    {
        db::cluster_options options;
        options.directory = place_.path() / "cluster";
        options.settings = {
            {"fsync", "off"}, {"full_page_writes", "off"}, {"shared_buffers", "16MB"}};
        std::scoped_lock const alone(starting_);
        auto started = db::embedded_cluster::start(std::move(options));
        look_after(started);
        return started;
    }

    // A caretaker inherits what is open when it is made. That must not be the lock of a database
    // that is started elsewhere, so no two are started at once.
    void look_after(db::embedded_cluster const& cluster)
    {
        std::vector<std::filesystem::path> const leftovers{place_.path()};
        in_case_of_death_.emplace(cluster.postmaster_pid(), leftovers);
    }

    void start_service(std::size_t which)
    {
        services_[which] = std::make_unique<service_process>(
            service_options{.database_url = cluster_.connection_string(),
                            .arguments = {},
                            .environment = {{"HOLDFAST_REDIS_URL", redis_.url()},
                                            {"HOLDFAST_STATEMENT_TIMEOUT_MS", "2000"},
                                            {"HOLDFAST_LOCK_TIMEOUT_MS", "1000"}}});
        ports_[which] = services_[which]->port();
    }

    void strike()
    {
        switch (luck_() % 3) {
        case 0: kill_redis(); break;
        case 1: kill_service(); break;
        default: kill_database(); break;
        }
    }

    // It comes back with its data and without them, in turn.
    void kill_redis()
    {
        forgets_ = !forgets_;
        ++blows_[forgets_ ? "Redis, empty" : "Redis"];
        redis_.kill9();
        if (forgets_)
            redis_.forget();
        redis_.start();
    }

    void kill_service()
    {
        ++blows_["service"];
        auto const which = luck_() % services_.size();
        services_[which]->kill9();
        start_service(which);
    }

    // It is started again as a service does it for its own, without a pause between two looks.
    void kill_database()
    {
        ++blows_["PostgreSQL"];
        std::scoped_lock const alone(starting_);
        auto const killed = cluster_.postmaster_pid();
        ::kill(killed, SIGKILL);
        REQUIRE(eventually(60s, [&] {
            cluster_.supervise();
            return cluster_.postmaster_pid() != killed && cluster_.is_running();
        }));
        look_after(cluster_);
    }

    bool is_well()
    {
        cluster_.supervise();
        for (auto const& service : services_)
            for (auto const& sku : skus_)
                if (!sells(*service, sku))
                    return false;
        return true;
    }

    void check_books()
    {
        sql_session books(cluster_.connection_string());
        for (auto const& sku : skus_)
            CHECK(books.value("SELECT sum(l.confirmed) + COALESCE(sum(l.quantity)"
                              "         FILTER (WHERE l.held_until IS NOT NULL), 0)"
                              "       + (SELECT on_hand - reserved FROM stock_level WHERE sku = $1)"
                              "  FROM reservation_line l WHERE l.sku = $1",
                              {sku}) == std::to_string(plenty));
        shop front(*services_[0]);
        CHECK(front.audit_ok());
    }

    // The pause before Redis is loaded again grows with each mishap, and would leave most rounds
    // without a fast path.
    void shorten_pause()
    {
        sql_session(cluster_.connection_string())
            .run("UPDATE item SET fast_pause_ms = 0, fast_not_before = now() WHERE sku = $1",
                 {fast()});
    }

    // What nobody has answered exists once when it is asked for again.
    static void send_again(shop& front, order const& made)
    {
        http_response answer;
        CHECK(eventually(20s, [&] {
            answer = ask(front.http(), made);
            return answer.status == 201;
        }));
        auto const again = ask(front.http(), made);
        CHECK(again.header("idempotent-replayed") == "true");
        CHECK(id_of(again) == id_of(answer));
    }

    // The first orders that are not there as they were acknowledged, or as a verb without an answer
    // may have left them.
    [[nodiscard]] std::string broken_promises(std::vector<order> const& orders) const
    {
        constexpr std::size_t shown_max = 2000;
        std::map<std::string, std::pair<std::string, std::string>> found; // id and state, by key
        for (auto const& row : sql_session(cluster_.connection_string())
                                   .run("SELECT idempotency_key, id, state FROM reservation"))
            found[row.at(0).value()] = {row.at(1).value(), row.at(2).value()};
        std::string broken;
        for (auto const& made : orders) {
            auto const& [id, state] = found[made.key];
            bool const is_kept =
                made.id.empty() || (id == made.id && (state == made.state || state == made.wanted));
            if (!is_kept && broken.size() < shown_max)
                broken += made.key + " was " + made.id + ' ' + made.state + ", is " + id + ' ' +
                          state + '\n';
        }
        return broken;
    }

    inline static std::mutex starting_;

    std::mt19937_64 luck_;
    temporary_directory place_;
    std::optional<caretaker> in_case_of_death_; // goes after the server it would stop
    db::embedded_cluster cluster_ = start_cluster();
    redis_server redis_{{"--appendonly", "yes"}};
    std::array<std::unique_ptr<service_process>, 2> services_;
    ports ports_{};
    std::array<std::string, 2> skus_;
    bool forgets_ = false;
    std::map<std::string, std::size_t> blows_;
};

// Returns what happened, in words.
std::string play_rounds(std::uint64_t luck)
{
    site place(luck);
    std::vector<order> orders;
    {
        auto buyers = place.open();
        for (int round = 0; round < rounds_at_each; ++round) {
            CAPTURE(round);
            place.play_round();
        }
        orders = buyers.send_home();
    }
    place.check_promises(orders);
    return std::to_string(orders.size()) + " orders through " + text_of(place.blows());
}

} // namespace

TEST_CASE("a hundred kills of Redis, services and PostgreSQL break no promise")
{
    // A round is mostly waiting, so four places have theirs at the same time.
    for (auto const& happened :
         run_together(sites, [](std::size_t i) { return play_rounds(seed() + i); }))
        MESSAGE(happened);
}

} // namespace holdfast::test

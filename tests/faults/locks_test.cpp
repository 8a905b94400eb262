// SPDX-License-Identifier: Apache-2.0
// Faults I: locks, load, and processes that die holding locks. Each test is named after its row in
// the list of faults that shops really suffered.
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

std::chrono::seconds soak_duration()
{
    auto const* wish = std::getenv("HOLDFAST_SOAK_SECONDS");
    return wish != nullptr ? std::chrono::seconds(std::atoi(wish)) : 20s;
}

// What may be answered in a rush: done, or a clear no. Everything else is the service's fault.
bool is_plain_answer(std::string_view outcome)
{
    constexpr std::array plain{
        std::string_view("200"),
        std::string_view("201"),
        std::string_view("409 insufficient-stock"),
        std::string_view("409 customer-limit"),
        std::string_view("409 already-confirmed"),
        std::string_view("409 already-released"),
        std::string_view("409 reservation-expired"),
        std::string_view("409 would-go-negative"),
        std::string_view("409 would-be-short"),
    };
    return std::find(plain.begin(), plain.end(), outcome) != plain.end();
}

// Everything a shop can do, at random, at one till, with a few items.
class bustle {
public:
    bustle(shop& till, std::vector<std::string> skus, std::uint64_t random_seed)
        : till_(till), skus_(std::move(skus)), random_(random_seed)
    {}

    void run_until(steady_clock::time_point end)
    {
        while (steady_clock::now() < end) {
            auto const dice = upto(100);
            if (dice < 45)
                reserve();
            else if (dice < 60)
                confirm();
            else if (dice < 75)
                note(till_.release(some_hold().id));
            else if (dice < 82)
                note(till_.extend(some_hold().id, upto(2) == 0 ? 1 : 600));
            else if (dice < 88)
                give_back();
            else if (dice < 97)
                adjust();
            else if (dice < 99)
                import();
            else
                note(till_.put_item(some_sku(), {{"strategy", strategies[upto(3)]}}));
        }
    }

    // How often each outcome came.
    [[nodiscard]] std::map<std::string, int> const& outcomes() const { return outcomes_; }

    // Units that adjustments and imports added to an item, by what the service said.
    [[nodiscard]] std::int64_t added(std::string const& sku) const
    {
        auto const found = added_.find(sku);
        return found == added_.end() ? 0 : found->second;
    }

private:
    struct hold {
        std::string id = "01890a5d-ac96-774b-bcce-b302099a8057"; // of nothing, until there is one
        line first = {};
    };

    std::uint64_t upto(std::uint64_t n) { return random_() % n; }

    std::string const& some_sku() { return skus_[upto(skus_.size())]; }

    hold const& some_hold()
    {
        if (holds_.empty())
            reserve();
        static hold const none;
        return holds_.empty() ? none : holds_[upto(holds_.size())];
    }

    void note(http_response const& answer) { ++outcomes_[outcome(answer)]; }

    void reserve()
    {
        std::vector<line> lines;
        for (auto n = upto(3) + 1; n > 0; --n)
            lines.push_back({some_sku(), static_cast<std::int64_t>(upto(3) + 1)});
        json more{{"customer", "c-" + std::to_string(upto(8))},
                  {"ttl_seconds", upto(4) == 0 ? 1 : 900}};
        if (upto(8) == 0)
            more["confirm"] = true;
        if (upto(8) == 0 && !holds_.empty())
            more["supersedes"] = some_hold().id;
        auto const answer = till_.reserve(lines, more);
        note(answer);
        if (answer.status != 201)
            return;
        // The newest few are enough to meet holds in every state.
        if (holds_.size() == 20)
            holds_.erase(holds_.begin());
        holds_.push_back({id_of(answer), lines[0]});
    }

    void confirm()
    {
        auto const& chosen = some_hold();
        json body = json::object();
        if (upto(4) == 0)
            body["if_expired"] = "reserve_again";
        if (upto(4) == 0)
            body["lines"] = json::array({{{"sku", chosen.first.sku}, {"quantity", 1}}});
        note(till_.confirm(chosen.id, body));
    }

    void give_back()
    {
        auto const& chosen = some_hold();
        auto const answer = till_.give_back(chosen.id, {{chosen.first.sku}});
        // More than was bought cannot come back, and this till does not keep count.
        if (outcome(answer) != "400 validation-failed")
            note(answer);
    }

    void adjust()
    {
        auto const& sku = some_sku();
        auto const change = static_cast<std::int64_t>(upto(20)) - 8;
        auto const answer = upto(10) == 0 || change == 0
                                ? till_.adjust(sku, {{"set_to", 20 + upto(60)},
                                                     {"expect_on_hand", nullptr},
                                                     {"reason", "count"}})
                                : till_.adjust(sku, {{"delta", change}, {"reason", "correction"}});
        note(answer);
        if (answer.status == 201)
            added_[sku] += answer.json().at("movement").at("on_hand_delta").get<std::int64_t>();
    }

    void import()
    {
        std::string csv = "sku,quantity\n";
        for (auto const& sku : skus_)
            csv += sku + ",1\n";
        auto const answer = till_.import_csv("add", csv);
        note(answer);
        if (answer.status == 200)
            for (auto const& sku : skus_)
                ++added_[sku];
    }

    shop& till_;
    std::vector<std::string> skus_;
    std::mt19937_64 random_;
    std::vector<hold> holds_;
    std::map<std::string, int> outcomes_;
    std::map<std::string, std::int64_t> added_;
};

// What the reservations of one item add up to.
struct sums {
    std::int64_t held = 0;
    std::int64_t sold = 0; // and not brought back
    std::map<std::string, std::int64_t> by_customer;
};

sums sums_of(shop& front, std::string const& sku)
{
    sums total;
    for (auto const& reservation : front.reservations("sku=" + sku)) {
        bool const is_held = reservation.at("state") == "held";
        for (auto const& each : reservation.at("lines")) {
            if (each.at("sku") != sku)
                continue;
            auto const sold =
                each.at("confirmed").get<std::int64_t>() - each.at("returned").get<std::int64_t>();
            auto const held = is_held ? each.at("quantity").get<std::int64_t>() : 0;
            total.held += held;
            total.sold += sold;
            total.by_customer[reservation.at("customer")] += held + sold;
        }
    }
    return total;
}

bool is_possible(http_response const& item)
{
    if (item.status != 200)
        return false;
    auto const seen = item.json();
    return seen.at("on_hand") >= 0 && seen.at("reserved") >= 0 && seen.at("available") >= 0;
}

// Looks at levels and audit while others work. Returns what it saw that must never be seen.
std::vector<std::string> impossible_sights(shop& watcher, std::vector<std::string> const& skus,
                                           steady_clock::time_point end)
{
    std::vector<std::string> sights;
    while (steady_clock::now() < end) {
        for (int look = 0; look < 20; ++look)
            for (auto const& sku : skus)
                if (auto const item = watcher.get("/v1/stock/" + sku); !is_possible(item))
                    sights.push_back(item.body);
        auto const audit = watcher.get("/v1/audit");
        if (audit.status != 200 || audit.json().at("ok") != true)
            sights.push_back(audit.body);
    }
    return sights;
}

// How often the database had to break a deadlock. Sessions tell by the time they end, so the
// services have to be stopped before.
std::string deadlocks(database const& db)
{
    return db.session().value(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
}

// Buys single units until none is left or the service is gone. Returns the ids.
std::vector<std::string> buy_all(shop& till, std::string const& sku, std::atomic<int>& bought)
{
    std::vector<std::string> ids;
    try {
        for (auto answer = till.reserve(sku); answer.status == 201; answer = till.reserve(sku)) {
            ids.push_back(id_of(answer));
            ++bought;
        }
    } catch (connection_lost const&) {
        return ids; // What was acknowledged before is what counts.
    }
    return ids;
}

} // namespace

TEST_CASE("I1: baskets with the same items in opposite order never trip over each other")
{
    constexpr std::int64_t baskets_each = 42;
    database const db;
    service_process service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, 12);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        std::vector<std::string> skus;
        for (int i = 0; i < 3; ++i)
            skus.push_back(front.item(1'000'000, {{"strategy", strategy}}));

        auto const answers = run_together(tills.size(), [&](std::size_t i) {
            std::vector<line> basket{{skus[0]}, {skus[1]}};
            if (i % 4 >= 2)
                basket.push_back({skus[2]});
            if (i % 2 == 1)
                std::reverse(basket.begin(), basket.end());
            std::vector<http_response> heard;
            for (std::int64_t n = 0; n < baskets_each; ++n) {
                heard.push_back(tills[i].reserve(basket));
                if (heard.back().status == 201 && n % 2 == 1) {
                    auto const id = id_of(heard.back());
                    heard.push_back(n % 4 == 1 ? tills[i].release(id) : tills[i].confirm(id));
                }
            }
            return heard;
        });

        for (auto const& heard : answers)
            CHECK(tally(heard) == "21 x 200, 42 x 201");
        // Of each till's 42 baskets 21 are held still, 10 were paid for, 11 released.
        std::int64_t const tills_count = 12;
        CHECK(front.level_of(skus[0]).reserved == tills_count * 21);
        CHECK(front.level_of(skus[1]).on_hand == 1'000'000 - tills_count * 10);
        CHECK(front.level_of(skus[2]).reserved == tills_count / 2 * 21);
    }
    CHECK(front.audit_ok());
    CHECK(service.terminate() == 0);
    CHECK(deadlocks(db) == "0");
}

TEST_CASE("I2: everything at once on five items for a while, and every unit accounted for")
{
    constexpr std::size_t tills_count = 12;
    constexpr std::int64_t start = 60;
    constexpr std::int64_t limit = 25;
    database const db;
    service_process service({.database_url = db.connection_string()});
    shop front(service);
    auto tills = shops(service, tills_count + 1);
    std::vector<std::string> skus;
    for (std::size_t i = 0; i < 5; ++i) {
        json settings{{"strategy", strategies[i % strategies.size()]}};
        if (i < 3)
            settings["max_per_customer"] = limit;
        skus.push_back(front.item(start, settings));
    }
    MESSAGE("seed: HOLDFAST_SEED=" << seed());

    std::vector<bustle> bustles;
    for (std::size_t i = 0; i < tills_count; ++i)
        bustles.emplace_back(tills[i], skus, seed() + i);
    auto const end = steady_clock::now() + soak_duration();
    auto const sights = run_together(tills_count + 1, [&](std::size_t i) {
        if (i == tills_count)
            return impossible_sights(tills[i], skus, end);
        bustles[i].run_until(end);
        return std::vector<std::string>{};
    });

    for (auto const& sight : sights.back())
        FAIL_CHECK(sight);
    std::map<std::string, int> outcomes;
    for (auto const& each : bustles)
        for (auto const& [kind, times] : each.outcomes())
            outcomes[kind] += times;
    for (auto const& [each_kind, each_times] : outcomes) {
        auto const& kind = each_kind;
        auto const& times = each_times;
        INFO(kind << " came " << times << " times");
        CHECK(is_plain_answer(kind));
    }
    CHECK(outcomes["201"] > 100);
    for (auto const& sku : skus) {
        CAPTURE(sku);
        // Holds of a second may still be lapsing: the level and the list agree once they have.
        CHECK(eventually(10s,
                         [&] { return front.level_of(sku).reserved == sums_of(front, sku).held; }));
        auto const total = sums_of(front, sku);
        auto on_hand = start - total.sold;
        for (auto const& each : bustles)
            on_hand += each.added(sku);
        CHECK(front.level_of(sku).on_hand == on_hand);
        if (!front.item_of(sku).at("max_per_customer").is_null())
            for (auto const& [customer, units] : total.by_customer)
                CHECK(units <= limit);
    }
    CHECK(front.audit_ok());
    CHECK(service.terminate() == 0);
    CHECK(deadlocks(db) == "0");
}

TEST_CASE("I3: when a process dies that holds locks, the others go on within seconds")
{
    database const db;
    // Nobody's patience is what ends the waiting.
    service_options const options{.database_url = db.connection_string(),
                                  .arguments = {},
                                  .environment = {{"HOLDFAST_STATEMENT_TIMEOUT_MS", "60000"},
                                                  {"HOLDFAST_LOCK_TIMEOUT_MS", "30000"},
                                                  {"HOLDFAST_QUEUE_WAIT_MS", "30000"}}};
    service_process const first(options);
    shop front(first);
    auto tills = shops(first, 4);

    // Somebody's session has the row locked, and is gone while all buyers wait for it.
    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        auto const sku = front.item(10, {{"strategy", strategy}});
        auto holder = db.session();
        holder.run("BEGIN");
        holder.run("UPDATE stock_level SET reserved = 10 WHERE sku = $1", {sku});
        auto watcher = db.session();

        auto const began = steady_clock::now();
        auto const answers = run_together(tills.size() + 1, [&](std::size_t i) {
            if (i < tills.size())
                return tills[i].reserve(sku);
            bool const is_waited_for = eventually(15s, [&] {
                return watcher.value("SELECT count(*) FROM pg_stat_activity"
                                     " WHERE datname = current_database()"
                                     "   AND wait_event_type = 'Lock'") != "0";
            });
            holder.cut();
            return http_response{.status = is_waited_for ? 201 : 500};
        });

        CHECK(tally(answers) == "5 x 201");
        CHECK(steady_clock::now() - began < 5s);
        CHECK(front.level_of(sku) == level{.on_hand = 10, .reserved = 4, .available = 6});
    }

    // One of two services is killed in mid-rush.
    constexpr int units = 600;
    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        auto const sku = front.item(units, {{"strategy", strategy}});
        service_process second(options);
        auto others = shops(second, 4);
        std::atomic<int> bought{0};

        auto const ids = run_together(9, [&](std::size_t i) {
            if (i < 4)
                return buy_all(tills[i], sku, bought);
            if (i < 8)
                return buy_all(others[i - 4], sku, bought);
            eventually(10s, [&] { return bought >= 100; });
            second.kill9();
            return std::vector<std::string>{};
        });
        auto const began = steady_clock::now();
        auto const next = front.reserve(sku);
        CHECK(steady_clock::now() - began < 5s);

        // Sold out to the last unit, each acknowledged hold among them.
        CHECK(outcome(next) == "409 insufficient-stock");
        CHECK(front.reservations("state=held&sku=" + sku).size() == units);
        for (auto const& of_one_till : ids)
            for (auto const& id : of_one_till)
                CHECK(front.reservation(id).at("state") == "held");
    }
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

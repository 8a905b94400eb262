// SPDX-License-Identifier: Apache-2.0
// Commands that share a lane: done together, answered each for itself, bounded, and never two
// different truths.
#include "service/lanes.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/tcp_gate.hpp"
#include "tests/support/workbench.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <future>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;

using reserved = result<holdfast::outcome<reservation>>;

// What a process of the service has: lanes, workers beside them, and a thread that waits for
// answers.
class process {
public:
    explicit process(workbench& bench, lane_options options = {})
        : bench_(bench),
          workers_({.session = session_of(bench, options), .threads = 2}, bench.counters),
          lanes_(with_session(bench, std::move(options)), bench.reservations, workers_,
                 bench.counters)
    {}

    ~process()
    {
        lanes_.stop();
        workers_.stop();
        guard_.reset();
    }

    std::future<reserved> reserve(reserve_command c)
    {
        return asio::co_spawn(context_,
                              run_reserve(std::make_unique<reserve_command>(std::move(c))),
                              asio::use_future);
    }

    std::future<result<reservation>> settle(settle_command c)
    {
        return asio::co_spawn(context_, run_settle(std::make_unique<settle_command>(std::move(c))),
                              asio::use_future);
    }

private:
    static db::session_options session_of(workbench const& bench, lane_options const& options)
    {
        auto session = options.session.connection.empty() ? bench.link.options() : options.session;
        session.lock_timeout = 30s; // a lane waits here until the test lets it go
        session.statement_timeout = 60s;
        return session;
    }

    static lane_options with_session(workbench const& bench, lane_options options)
    {
        options.session = session_of(bench, options);
        return options;
    }

    asio::awaitable<reserved> run_reserve(std::unique_ptr<reserve_command> c)
    {
        co_return co_await lanes_.run(*c);
    }

    asio::awaitable<result<reservation>> run_settle(std::unique_ptr<settle_command> c)
    {
        co_return co_await lanes_.run(*c);
    }

    workbench& bench_;
    worker_pool workers_;
    lanes lanes_;
    asio::io_context context_{1};
    std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard_{
        context_.get_executor()};
    std::jthread thread_{[this] { context_.run(); }};
};

reserve_command wish_for(level_key const& at, units quantity = 1)
{
    reserve_command c;
    c.key = new_key();
    c.actor = "till";
    c.lines = {{at, quantity}};
    return c;
}

// Holds a level's row, so that a lane that wants it waits until this is gone.
class obstacle {
public:
    obstacle(migrated_database const& place, level_key const& at) : session_(place.session())
    {
        session_.run("BEGIN");
        session_.run("SELECT FROM stock_level WHERE sku = $1 FOR UPDATE", {at.sku.str()});
    }
    ~obstacle() { session_.run("ROLLBACK"); }
    obstacle(obstacle const&) = delete;
    obstacle& operator=(obstacle const&) = delete;

private:
    sql_session session_;
};

// Waits until so many commands stand in the lanes' queues.
bool are_queued(workbench const& bench, int commands)
{
    auto const line = "\nholdfast_queue_length " + std::to_string(commands) + "\n";
    return eventually(20s, [&] { return bench.counters.text().find(line) != std::string::npos; });
}

// A command that is on its way and kept from its end, so that what comes after it queues up.
struct queue_head {
    queue_head(migrated_database const& place, workbench& bench, process& service,
               level_key const& at)
        : in_the_way(std::make_unique<obstacle>(place, at)), first(service.reserve(wish_for(at)))
    {
        if (!somebody_waits(bench.sql))
            throw std::runtime_error("the lane does not wait");
    }

    void let_go() { in_the_way.reset(); }

    std::unique_ptr<obstacle> in_the_way;
    std::future<reserved> first;
};

template <class Future>
bool is_overloaded(Future& answer)
{
    try {
        (void)answer.get();
        return false;
    } catch (overloaded const&) {
        return true;
    }
}

} // namespace

TEST_CASE(
    "what queues up while a transaction runs is done in the next one, first come first served")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(17);
    process service(bench, {.lanes = 1});
    queue_head head(place, bench, service, at);
    std::vector<std::future<reserved>> answers;
    for (int i = 0; i < 32; ++i)
        answers.push_back(service.reserve(wish_for(at)));
    CHECK(are_queued(bench, 32));

    head.let_go();

    CHECK(word_of(head.first.get()) == "ok");
    std::string words;
    std::set<timestamp> transactions;
    for (auto& each : answers) {
        auto const answer = each.get();
        words += answer ? 'y' : 'n';
        if (answer)
            transactions.insert(answer->value.created_at);
        else
            CHECK(answer.error().items.at(0).available == 0);
    }
    CHECK(words == std::string(16, 'y') + std::string(16, 'n'));
    CHECK(transactions.size() == 1);
    CHECK(bench.row(at) == stock_level{17, 17, 18});
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("a batch may hold every verb, and each command has the answer it would have had alone")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(4);
    auto const paid = bench.hold(at, 1);
    auto const given_up = bench.hold(at, 1);
    auto const kept = bench.hold(at, 1);
    process service(bench, {.lanes = 1});
    queue_head head(place, bench, service, at); // takes the last unit
    auto twice = wish_for(at);
    auto first = service.reserve(twice);
    auto again = service.reserve(twice);
    auto late = service.reserve(wish_for(at));
    auto nowhere = service.reserve(wish_for({new_sku(), location()}));
    auto confirmed = service.settle(confirm_command{.id = paid, .actor = "till", .lines = {}});
    auto confirmed_again =
        service.settle(confirm_command{.id = paid, .actor = "till", .lines = {}});
    auto released = service.settle(release_command{given_up, "till"});
    auto too_late = service.settle(confirm_command{.id = given_up, .actor = "till", .lines = {}});
    auto extended = service.settle(extend_command{kept, 3600s});
    auto unknown = service.settle(release_command{uuid::make_v7(hint_of(at.sku)), "till"});
    CHECK(are_queued(bench, 10));

    head.let_go();

    CHECK(word_of(confirmed.get()) == "ok");
    CHECK(word_of(confirmed_again.get()) == "ok");
    CHECK(word_of(released.get()) == "ok");
    CHECK(word_of(too_late.get()) == "already_released");
    CHECK(word_of(extended.get()) == "ok");
    CHECK(word_of(unknown.get()) == "unknown_reservation");
    auto const made = first.get();
    auto const repeated = again.get();
    REQUIRE(word_of(made) == "ok"); // the unit that was released
    REQUIRE(word_of(repeated) == "ok");
    CHECK(made->value.id == repeated->value.id);
    CHECK_FALSE(made->is_replay);
    CHECK(repeated->is_replay);
    CHECK(word_of(late.get()) == "insufficient_stock");
    CHECK(word_of(nowhere.get()) == "unknown_sku");
    CHECK(word_of(head.first.get()) == "ok");
    CHECK(bench.row(at).on_hand == 3);
    CHECK(bench.row(at).reserved == 3);
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("a command that breaks its batch ends up alone, and the others are done")
{
    migrated_database const place;
    workbench bench(place);
    bench.sql.run("CREATE FUNCTION choke() RETURNS trigger LANGUAGE plpgsql AS"
                  " $$ BEGIN RAISE EXCEPTION 'poison'; END $$");
    bench.sql.run("CREATE TRIGGER choke BEFORE INSERT ON reservation FOR EACH ROW"
                  " WHEN (NEW.metadata LIKE '%poison%') EXECUTE FUNCTION choke()");
    auto const at = bench.item(100);
    process service(bench, {.lanes = 1});
    queue_head head(place, bench, service, at);
    std::vector<std::future<reserved>> answers;
    for (int i = 0; i < 32; ++i) {
        auto c = wish_for(at);
        if (i == 13)
            c.metadata = R"({"poison":true})";
        answers.push_back(service.reserve(std::move(c)));
    }
    CHECK(are_queued(bench, 32));

    head.let_go();

    for (std::size_t i = 0; i < answers.size(); ++i) {
        CAPTURE(i);
        if (i == 13)
            CHECK_THROWS_AS(answers[i].get(), db::error);
        else
            CHECK(word_of(answers[i].get()) == "ok");
    }
    CHECK(bench.row(at).reserved == 32);
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("what somebody else took since the look is not counted on")
{
    migrated_database const place;
    workbench bench(place);
    process service(bench, {.lanes = 1});
    for (auto const& [each_on_hand, answer] :
         {std::pair<units, std::string>{1, "insufficient_stock"}, {2, "ok"}}) {
        auto const& on_hand = each_on_hand;
        CAPTURE(on_hand);
        auto const at = bench.item(on_hand);
        auto clerk = place.session();
        clerk.run("BEGIN");
        clerk.run("UPDATE stock_level SET on_hand = on_hand - 1, version = version + 1"
                  " WHERE sku = $1",
                  {at.sku.str()});
        clerk.run("INSERT INTO movement (sku, location, version, kind, on_hand_delta,"
                  " reserved_delta, on_hand, reserved, actor, reason)"
                  " SELECT sku, location, version, 'adjusted', -1, 0, on_hand, reserved, 'clerk',"
                  " 'lost' FROM stock_level WHERE sku = $1",
                  {at.sku.str()});
        clerk.run("INSERT INTO outbox (sku, location, first_version, last_version)"
                  " SELECT sku, location, version, version FROM stock_level WHERE sku = $1",
                  {at.sku.str()});
        auto wanted = service.reserve(wish_for(at));
        REQUIRE(somebody_waits(bench.sql));
        clerk.run("COMMIT");

        CHECK(word_of(wanted.get()) == answer);
        CHECK(bench.row(at).on_hand == on_hand - 1);
        CHECK(bench.row(at).reserved == on_hand - 1);
    }
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("a full lane turns people away at once, and who waited too long is not served any more")
{
    migrated_database const place;
    workbench bench(place);
    auto const at = bench.item(100);
    process service(bench, {.lanes = 1, .queue_length_max = 20, .queue_wait_max = 300ms});
    queue_head head(place, bench, service, at);
    std::vector<std::future<reserved>> waiting;
    for (int i = 0; i < 20; ++i)
        waiting.push_back(service.reserve(wish_for(at)));
    auto one_too_many = service.reserve(wish_for(at));
    CHECK(is_overloaded(one_too_many));
    auto const began = std::chrono::steady_clock::now();
    CHECK(eventually(5s, [&] { return std::chrono::steady_clock::now() - began > 400ms; }));

    head.let_go();

    for (auto& each : waiting)
        CHECK(is_overloaded(each));
    CHECK(word_of(head.first.get()) == "ok");
    CHECK(bench.row(at).reserved == 1);
}

TEST_CASE("a batch whose commit was never answered is looked up, not done twice")
{
    migrated_database const place;
    workbench bench(place);
    constexpr auto batch_till = "the till of the batch";
    tcp_gate gate(place.connection_string());
    for (bool const was_done : {false, true}) {
        CAPTURE(was_done);
        auto const at = bench.item(100);
        auto const paid = bench.hold(at, 1);
        lane_options options{.lanes = 1};
        options.session.connection = gate.connection_string();
        process service(bench, options);
        queue_head head(place, bench, service, at);
        std::vector<std::future<reserved>> answers;
        for (int i = 0; i < 30; ++i) {
            auto c = wish_for(at);
            c.actor = batch_till;
            answers.push_back(service.reserve(std::move(c)));
        }
        auto confirmed = service.settle(confirm_command{.id = paid, .actor = "till", .lines = {}});
        CHECK(are_queued(bench, 31));

        // The till stands in the ledger lines, which travel with the COMMIT.
        if (was_done)
            gate.cut_after(batch_till);
        else
            gate.cut_before(batch_till);
        head.let_go();

        CHECK(word_of(head.first.get()) == "ok");
        std::set<uuid> ids;
        for (auto& each : answers) {
            auto const answer = each.get();
            REQUIRE(word_of(answer) == "ok");
            CHECK(answer->is_replay == was_done);
            ids.insert(answer->value.id);
        }
        CHECK(ids.size() == 30);
        CHECK(word_of(confirmed.get()) == "ok");
        CHECK(bench.row(at).on_hand == 99);
        CHECK(bench.row(at).reserved == 31);
    }
    CHECK(gate.cuts() == 2);
    CHECK(bench.audit_findings() == "");
}

// As the queue's committer does and a person who asks for it, the second a little later each time.
TEST_CASE("what two processes carry out at once under one id is done once, and both are told")
{
    constexpr int rounds = 600;
    migrated_database const place;
    workbench bench(place);
    workbench other(place);
    auto const at = bench.item(rounds);
    for (int round = 0; round < rounds; ++round) {
        auto wish = wish_for(at, 1);
        wish.id = uuid::make_v7();
        auto const told = run_together(2, [&](std::size_t n) {
            auto& mine = n == 0 ? bench : other;
            auto const begin = std::chrono::steady_clock::now() + n * (round % 200) * 10us;
            while (std::chrono::steady_clock::now() < begin)
                std::this_thread::yield();
            auto const* const one = &wish;
            auto answer =
                mine.reservations.reserve(mine.link, std::span(&one, 1), company::many).front();
            return word_of(answer ? *answer : mine.reservations.reserve(mine.link, wish));
        });
        REQUIRE(told == std::vector<std::string>{"ok", "ok"});
    }
    CHECK(bench.row(at).reserved == rounds);
    CHECK(bench.audit_findings() == "");
}

TEST_CASE("whatever two processes do at once through their lanes, every unit is accounted for")
{
    constexpr int people = 24;
    constexpr int rounds = 40;
    migrated_database const place;
    workbench bench(place);
    workbench other(place);
    std::vector<level_key> levels;
    for (int i = 0; i < 4; ++i)
        levels.push_back(bench.item(60));
    auto limited = change_of(levels[0].sku);
    limited.max_per_customer.emplace(7);
    REQUIRE(word_of(bench.catalogue.put(bench.link, limited)) == "ok");
    process here(bench, {.lanes = 2, .batch_max = 8});
    process there(other, {.lanes = 2, .batch_max = 8});
    INFO("HOLDFAST_SEED=", seed());

    // Each person buys, pays, gives up and extends, two at a time, and must always have an answer.
    auto const person = [&](std::size_t n) {
        std::mt19937_64 luck(seed() + n);
        auto const pick = [&](std::size_t k) { return static_cast<std::size_t>(luck() % k); };
        std::vector<uuid> mine;
        std::set<std::string> words;
        for (int i = 0; i < rounds; ++i) {
            auto& service = pick(2) == 0 ? here : there;
            auto c = wish_for(levels[pick(4)], static_cast<units>(1 + pick(3)));
            c.customer = "c-" + std::to_string(n % 6);
            if (pick(3) == 0) {
                c.lines.push_back({levels[pick(4)], 1});
                c.lines = merged(std::move(c.lines));
            }
            auto const id = mine.empty() ? uuid::make_v7() : mine[pick(mine.size())];
            auto const choice = pick(3);
            auto settled =
                choice == 0 ? service.settle(release_command{id, "till"})
                : choice == 1
                    ? service.settle(extend_command{id, 60s})
                    : service.settle(confirm_command{.id = id, .actor = "till", .lines = {}});
            auto const made = service.reserve(std::move(c)).get();
            words.insert(word_of(made));
            words.insert(word_of(settled.get()));
            if (made)
                mine.push_back(made->value.id);
        }
        return words;
    };
    std::set<std::string> words;
    for (auto const& each : run_together(people, person))
        words.insert(each.begin(), each.end());

    std::set<std::string> const fair{"ok",
                                     "insufficient_stock",
                                     "customer_limit",
                                     "already_confirmed",
                                     "already_released",
                                     "unknown_reservation"};
    for (auto const& word : words) {
        CAPTURE(word);
        CHECK(fair.contains(word));
    }
    CHECK(bench.audit_findings() == "");
}

} // namespace holdfast::test

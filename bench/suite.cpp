// SPDX-License-Identifier: Apache-2.0
#include "bench/suite.hpp"

#include "bench/fast_suite.hpp"
#include "bench/number.hpp"
#include "bench/pgbench.hpp"
#include "bench/recorder.hpp"
#include "bench/trial.hpp"
#include "bench/trial_figures.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <optional>

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;

constexpr double mebibyte = 1024 * 1024;

// The bystanders are items of the other half, so many that they meet every lane.
constexpr item_range all_items{1, items_max};
constexpr item_range storm_spread{1, items_max / 2};
constexpr item_range bystanders{items_max / 2 + 1, items_max / 2};
constexpr double bystander_rate = 200;
constexpr std::size_t bystander_connections = 32;

constexpr double comfortable_share = 0.7;
constexpr double overload_share = 1.5;

constexpr double soak_rate = 2000; // more than a million reservations in ten minutes

// Descriptors that are no connections of the load, here and in the service.
constexpr std::size_t other_descriptors = 512;

constexpr std::string_view open_loop =
    "Open loop on the hot SKU: requests leave on schedule; figures are of those accepted";

class suite {
public:
    suite(stage& on, plan const& what, std::ostream& progress)
        : stage_(on), plan_(what), progress_(progress)
    {
        results_.subject = what.subject;
        results_.machine = describe_machine(on.data_directory(), on.administration());
    }

    results run()
    {
        if (plan_.soak) {
            soak(*plan_.soak);
            return std::move(results_);
        }
        fast_.emplace(recorder_, plan_, results_); // now, so that a missing Redis is told at once
        without_database();
        compare({.name = "hot",
                 .section = "Hot SKU: every request wants the same one",
                 .items = hot_item});
        compare({.name = "cold",
                 .section = "10 000 SKUs: each request wants one of them",
                 .items = all_items});
        look_further();
        fast_->try_pool_sizes();
        add_ratios();
        fast_->add_ratios();
        return std::move(results_);
    }

private:
    struct comparison {
        std::string name;
        std::string section;
        item_range items;
    };

    trial_outcome play(std::string_view what, trial_plan const& how)
    {
        return recorder_.play(what, how);
    }

    void note(load_name name, std::vector<figure> figures)
    {
        recorder_.note(std::move(name), std::move(figures));
    }

    [[nodiscard]] trial_plan subject_with(std::vector<trial_stream> streams) const
    {
        return recorder_.subject_with(std::move(streams));
    }

    void without_database();
    void compare(comparison const&);
    void look_further();
    void on_schedule();
    void under_overload();
    void when_sold_out();
    void beside_a_storm();
    void beside_a_reader();
    void refused_by_redis() { fast_->refuse(); }
    void sold_behind_redis() { fast_->sell(fast_mode::durable); }
    void queued_in_redis() { fast_->sell(fast_mode::async); }
    void soak(std::chrono::seconds);

    void play_pgbench(comparison const&, std::uint32_t clients);
    void play_strategy(comparison const&, load_name const&, std::string const& strategy);
    void play_bystanders(item_range const& storm, load_name const&);

    [[nodiscard]] std::string hot_subject() const { return "hot." + plan_.subject; }
    [[nodiscard]] double capacity() const;
    [[nodiscard]] std::size_t overload_connections() const;
    [[nodiscard]] std::optional<double> best_pgbench(std::string const& field) const;

    void add_ratios();

    stage& stage_;
    plan const& plan_;
    std::ostream& progress_;
    results results_;
    recorder recorder_{stage_, plan_, progress_, results_};
    std::optional<fast_suite> fast_;
    clock::time_point began_ = clock::now();
};

void suite::without_database()
{
    std::string const section = "HTTP without a database";
    auto nothing = subject_with(
        {{.kind = request_kind::nothing, .items = hot_item, .connections = plan_.connections}});
    nothing.accepted_as = {200};
    note({section, "GET /livez", "http.noop"},
         figures_of(play("http.noop", nothing), &tally::accepted));

    auto invalid = nothing;
    invalid.streams.front().kind = request_kind::refuse;
    invalid.refused_as = 400;
    note({section, "an invalid reservation, refused 400", "http.invalid"},
         figures_of(play("http.invalid", invalid), &tally::refused));
}

void suite::compare(comparison const& in)
{
    for (auto const clients : plan_.pgbench_clients)
        play_pgbench(in, clients);
    for (auto const& strategy : plan_.strategies)
        play_strategy(in, {.suffix = "", .clients = plan_.connections}, strategy);
    for (auto const number : plan_.other_connections)
        play_strategy(in, {.suffix = std::to_string(number), .clients = number}, plan_.subject);
}

void suite::play_pgbench(comparison const& in, std::uint32_t clients)
{
    auto const prefix = in.name + ".pgbench";
    progress_ << "bench: " << prefix << ' ' << clients << std::flush;
    auto const outcome =
        run_pgbench(stage_, {.clients = clients, .items = in.items.count, .timing = plan_.timing});
    progress_ << fmt::format("  {:.0f}/s", outcome.per_second) << std::endl;
    note({.section = in.section,
          .label = "pgbench, " + counted(clients, "client"),
          .prefix = prefix,
          .suffix = std::to_string(clients),
          .clients = clients},
         figures_of(outcome));
}

void suite::play_strategy(comparison const& in, load_name const& partial,
                          std::string const& strategy)
{
    auto name = partial;
    name.section = in.section;
    name.label = strategy + ", " + counted(name.clients, "connection");
    name.prefix = in.name + "." + strategy;
    auto how = subject_with({{.items = in.items, .connections = name.clients}});
    how.strategy = strategy;
    auto const outcome = play(fmt::format("{} {}", name.prefix, name.clients), how);
    note(std::move(name), figures_of(outcome, &tally::accepted));
}

void suite::look_further()
{
    static constexpr void (suite::*looks[])() = {
        &suite::on_schedule,       &suite::under_overload,  &suite::when_sold_out,
        &suite::beside_a_storm,    &suite::beside_a_reader, &suite::refused_by_redis,
        &suite::sold_behind_redis, &suite::queued_in_redis};
    for (auto const look : looks) {
        if (plan_.budget && clock::now() - began_ > *plan_.budget) {
            progress_ << "bench: the rest is left out for lack of time" << std::endl;
            return;
        }
        (this->*look)();
    }
}

// At least so much that an open loop has a schedule.
double suite::capacity() const
{
    return std::max(1.0, results_.at(hot_subject() + ".rps").value());
}

void suite::on_schedule()
{
    auto const rate = capacity() * comfortable_share;
    auto const prefix = hot_subject() + ".at70";
    auto const outcome = play(
        prefix,
        subject_with({{.items = hot_item, .connections = plan_.open_connections, .rate = rate}}));
    note({std::string(open_loop), fmt::format("{}, 70 %: {}/s due", plan_.subject, grouped(rate)),
          prefix},
         figures_of(outcome, &tally::accepted));
}

std::size_t suite::overload_connections() const
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    auto const allowed = static_cast<std::size_t>(limit.rlim_cur);
    return std::min(plan_.overload_connections,
                    allowed > 2 * other_descriptors ? allowed - other_descriptors : allowed / 2);
}

void suite::under_overload()
{
    auto const rate = capacity() * overload_share;
    auto const prefix = hot_subject() + ".overload";
    auto const outcome = play(
        prefix,
        subject_with({{.items = hot_item, .connections = overload_connections(), .rate = rate}}));
    auto figures = figures_of(outcome, &tally::accepted);
    figures.push_back({"due_per_second", rate});
    note({std::string(open_loop), fmt::format("{}, 150 %: {}/s due", plan_.subject, grouped(rate)),
          prefix},
         std::move(figures));
}

void suite::when_sold_out()
{
    auto how = subject_with({{.items = {scarce_item, 1}, .connections = plan_.connections}});
    how.refused_as = 409;
    auto const outcome = play("hot.soldout", how);
    require_sold_out(outcome);
    note({"A SKU that is sold out", plan_.subject + ", refused 409", "hot.soldout"},
         figures_of(outcome, &tally::refused));
}

// What a storm on one SKU does to the others, beside what as many requests do that meet on no row.
void suite::beside_a_storm()
{
    std::string const section = "Bystanders: 200 requests a second for other SKUs";
    play_bystanders(hot_item, {section, "beside a storm on one SKU", "bystander.storm"});
    play_bystanders(storm_spread,
                    {section, "beside the same load on 5 000 SKUs", "bystander.spread"});
}

void suite::play_bystanders(item_range const& storm, load_name const& name)
{
    auto const outcome = play(
        name.prefix,
        subject_with(
            {{.items = bystanders, .connections = bystander_connections, .rate = bystander_rate},
             {.items = storm, .connections = plan_.connections}}));
    auto figures = figures_of(outcome, &tally::accepted);
    auto const& beside = outcome.tallies.back();
    figures.push_back({"storm_rps", beside.per_second(beside.accepted)});
    note(name, std::move(figures));
}

void suite::beside_a_reader()
{
    auto how = subject_with({{.items = hot_item, .connections = plan_.connections}});
    how.reader = long_reader::open;
    auto const prefix = hot_subject() + ".reader";
    auto const outcome = play(prefix, how);
    note({"Hot SKU beside a transaction that stays open", plan_.subject + ", beside a reader",
          prefix},
         figures_of(outcome, &tally::accepted));
}

void suite::soak(std::chrono::seconds duration)
{
    auto how = subject_with(
        {{.items = all_items, .connections = plan_.open_connections, .rate = soak_rate}});
    how.timing.measured = duration;
    auto const outcome = play("soak", how);
    auto figures = figures_of(outcome, &tally::accepted);
    auto const mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / mebibyte; };
    auto const& resident = outcome.resident;
    figures.push_back({"reservations", static_cast<double>(outcome.reservations)});
    figures.push_back({"resident_first_mib", mib(resident.front())});
    figures.push_back({"resident_half_mib", mib(resident[resident.size() / 2])});
    figures.push_back({"resident_max_mib", mib(*std::ranges::max_element(resident))});
    note({"Soak",
          fmt::format("{}, {:.0f} due a second for {} s", plan_.subject, soak_rate,
                      duration.count()),
          "soak"},
         std::move(figures));
}

std::optional<double> suite::best_pgbench(std::string const& field) const
{
    std::optional<double> best;
    for (auto const clients : plan_.pgbench_clients)
        best = std::max(best, results_.at(fmt::format("{}.pgbench.tps.{}", field, clients)));
    return best;
}

void suite::add_ratios()
{
    auto const at = [&](std::string const& key) { return results_.at(key); };
    for (std::string const field : {"hot", "cold"}) {
        auto const own = field + "." + plan_.subject;
        results_.add_ratio({own + ".pgbench_64", own + ", 64 connections / pgbench, 64 clients",
                            at(own + ".rps"), at(field + ".pgbench.tps.64")});
        results_.add_ratio({own + ".pgbench_best", own + ", 64 connections / pgbench's best number",
                            at(own + ".rps"), best_pgbench(field)});
        results_.add_ratio({own + ".pgbench_best.256",
                            own + ", 256 connections / pgbench's best number", at(own + ".rps.256"),
                            best_pgbench(field)});
    }
    auto const own = hot_subject();
    results_.add_ratio({own + ".single_p50", "p50 of one client / p50 of one pgbench client",
                        at(own + ".p50_ms.1"), at("hot.pgbench.p50_ms.1")});
    results_.add_ratio({own + ".overload", "accepted at 150 % / accepted in the closed loop",
                        at(own + ".overload.rps"), at(own + ".rps")});
    results_.add_ratio({"soldout.noop", "refusals when sold out / GET /livez",
                        at("hot.soldout.rps"), at("http.noop.rps")});
    results_.add_ratio({"bystander.p99", "p99 of bystanders beside a storm / beside a spread load",
                        at("bystander.storm.p99_ms"), at("bystander.spread.p99_ms")});
    results_.add_ratio({own + ".reader", "hot SKU beside an open transaction / without one",
                        at(own + ".reader.rps"), at(own + ".rps")});
}

} // namespace

results run_suite(stage& on, plan const& what, std::ostream& progress)
{
    return suite(on, what, progress).run();
}

} // namespace holdfast::bench

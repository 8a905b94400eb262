// SPDX-License-Identifier: Apache-2.0
#include "bench/trial.hpp"

#include "bench/interruption.hpp"
#include "service/audit.hpp"
#include "service/cli/client.hpp"
#include "tests/support/service_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto patience = 120s; // for one statement of ours beside the service
constexpr std::size_t violations_shown_max = 10;

constexpr std::string_view batch_metric = "holdfast_lane_batch_commands";

request_text text_of(trial_stream const& stream, std::size_t number,
                     test::service_process const& service)
{
    auto const host = fmt::format("Host: 127.0.0.1:{}\r\n", service.port());
    if (stream.kind == request_kind::nothing)
        return request_text("GET /livez HTTP/1.1\r\n" + host + "\r\n");
    auto const body = fmt::format(R"({{"lines":[{{"sku":"SKU-@@@@@","quantity":{}}}]}})",
                                  stream.kind == request_kind::refuse ? 0 : 1);
    return request_text(fmt::format("POST /v1/reservations HTTP/1.1\r\n{}"
                                    "Authorization: Bearer {}\r\n"
                                    "Content-Type: application/json\r\n"
                                    "Idempotency-Key: bench-{}-############\r\n"
                                    "Content-Length: {}\r\n\r\n{}",
                                    host, service.admin_key(), number, body.size(), body));
}

std::vector<stream_plan> plans_of(trial_plan const& plan, test::service_process const& service)
{
    std::vector<stream_plan> plans;
    for (auto const& each : plan.streams)
        plans.push_back({.request = text_of(each, plans.size(), service),
                         .items = each.items,
                         .connections = each.connections,
                         .rate = each.rate});
    return plans;
}

// A connection of its own each time: one that stayed open would hold up the service's stop.
std::string metrics_of(test::service_process const& service)
{
    cli::client http(cli::parse_url(service.url()), service.admin_key());
    auto answer = http.send({.target = "/metrics"});
    cli::require_status(answer, 200, "read the metrics");
    return std::move(answer.body);
}

std::string fast_sku_of(trial_plan const& plan)
{
    return sku_of(plan.streams.front().items.first);
}

std::int64_t count_of(std::vector<tally> const& tallies, int status)
{
    std::uint64_t count = 0;
    for (auto const& each : tallies)
        count += each.statuses.at(static_cast<std::size_t>(status));
    return static_cast<std::int64_t>(count);
}

void check_statuses(trial_plan const& plan, std::vector<tally> const& tallies)
{
    for (int status = 0; status <= static_cast<int>(tally::status_max); ++status) {
        bool const is_expected =
            std::ranges::find(plan.accepted_as, status) != plan.accepted_as.end() ||
            status == plan.refused_as || status == 503;
        if (auto const count = count_of(tallies, status); count > 0 && !is_expected)
            throw broken_promise(
                fmt::format("{} requests of {} were answered {}", count, plan.strategy, status));
    }
}

// Holds a snapshot from now on.
class open_report {
public:
    open_report(trial_database const& base, long_reader wanted)
    {
        if (wanted == long_reader::none)
            return;
        session_.emplace(db::session_options{.connection = base.connection()});
        session_->execute("BEGIN ISOLATION LEVEL REPEATABLE READ", "bench.report_begin");
        session_->execute("SELECT count(*) FROM stock_level", "bench.report_read");
    }

    void close() { session_.reset(); }

private:
    std::optional<db::session> session_;
};

// What the service wrote says more than a broken connection does.
std::vector<tally> load(test::service_process const& service, trial_plan const& plan,
                        load_watch const& watch)
{
    try {
        return run_load(service.port(), plans_of(plan, service), plan.timing, watch);
    } catch (interrupted const&) {
        throw;
    } catch (std::runtime_error const& e) {
        throw std::runtime_error(
            fmt::format("{}; the service wrote last:\n{}", e.what(), service.log_tail()));
    }
}

test::service_options options_of(trial_plan const& plan, trial_database const& base)
{
    test::service_options options{.database_url = base.connection(),
                                  .environment = {{"HOLDFAST_STRATEGY", plan.strategy}}};
    if (plan.front)
        options.arguments = arguments_of(*plan.front);
    return options;
}

watched_processes processes_of(stage const& on, trial_plan const& plan,
                               test::service_process const& service)
{
    watched_processes who{.postmaster = on.postmaster(), .service = service.pid()};
    if (plan.front)
        who.redis = plan.front->server->pid();
    return who;
}

// The load, and in asynchronous mode what is left of it when everybody has an answer.
void load_and_drain(test::service_process const& service, trial_plan const& plan,
                    load_watch const& watch, trial_outcome& outcome)
{
    auto const began = clock::now();
    outcome.tallies = load(service, plan, watch);
    outcome.seconds = std::chrono::duration<double>(clock::now() - began).count();
    if (plan.front && plan.front->mode == fast_mode::async)
        outcome.drain_seconds = seconds_until_drained(service, fast_sku_of(plan));
}

trial_outcome play(stage& on, trial_plan const& plan, trial_database const& base)
{
    if (plan.front)
        empty(*plan.front->server);
    test::service_process service(options_of(plan, base));
    if (plan.front)
        switch_on(service, fast_sku_of(plan), plan.front->mode);
    auto const metrics_before = metrics_of(service);
    open_report report(base, plan.reader);
    processor_watch processors(processes_of(on, plan, service));
    trial_outcome outcome;
    auto const look_at_memory = [&] { outcome.resident.push_back(resident_bytes(service.pid())); };
    auto const begin = [&] {
        look_at_memory();
        processors.begin();
    };
    auto const end = [&] {
        processors.end();
        look_at_memory();
    };
    load_and_drain(service, plan, {.begin = begin, .tick = look_at_memory, .end = end}, outcome);
    outcome.shares = processors.shares();
    auto const metrics = metrics_of(service);
    outcome.batches =
        added(histogram_in(metrics_before, batch_metric), histogram_in(metrics, batch_metric));
    if (plan.front)
        outcome.verdicts = verdicts_between(metrics_before, metrics);
    report.close();
    if (auto const status = service.terminate(); status != 0)
        throw broken_promise(fmt::format("the service did not stop cleanly (status {}):\n{}",
                                         status, service.log_tail()));
    return outcome;
}

} // namespace

trial_outcome run_trial(stage& on, trial_plan const& plan)
{
    throw_if_interrupted();
    trial_database const base(on, "bench_trial");
    auto const wal_before = read_wal(on);
    auto outcome = play(on, plan, base);
    outcome.database = figures_since(on, wal_before, base);
    outcome.reservations = count_of(outcome.tallies, 201) + count_of(outcome.tallies, 202);
    check_statuses(plan, outcome.tallies);
    prove(base, outcome.reservations);
    return outcome;
}

void require_sold_out(trial_outcome const& outcome)
{
    bool const is_any_refused = count_of(outcome.tallies, 409) > 0;
    if (is_any_refused && outcome.reservations != scarce_units)
        throw broken_promise(fmt::format("of {} units {} were sold while more were wanted",
                                         scarce_units, outcome.reservations));
}

void prove(trial_database const& base, std::int64_t reservations)
{
    db::link link({.connection = base.connection(), .statement_timeout = patience});
    auto const report = run_audit(link);
    if (!report.is_ok()) {
        std::string offenders;
        auto const shown = std::min(report.violations.size(), violations_shown_max);
        for (auto const& v : std::span(report.violations).first(shown))
            offenders += fmt::format("\n  {}: {} at {}: {}", v.check, v.sku, v.location, v.detail);
        throw broken_promise(
            fmt::format("the audit found {} violations:{}", report.violations.size(), offenders));
    }
    auto const taken = read_taken(base);
    if (taken.units != reservations || taken.reservations != reservations ||
        taken.movements != reservations || taken.told != reservations)
        throw broken_promise(fmt::format(
            "clients were told of {} reservations of a unit each, the database has {} units, {} "
            "reservations, {} movements, and tells of {}",
            reservations, taken.units, taken.reservations, taken.movements, taken.told));
}

} // namespace holdfast::bench

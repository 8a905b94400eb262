// SPDX-License-Identifier: Apache-2.0
// holdfast-bench: measures the service, and pgbench doing the same writes, on one PostgreSQL and
// one Redis made for it. Exit status: 0 measured, 1 a promise broke or it could not be measured,
// 130 interrupted.
#include "bench/interruption.hpp"
#include "bench/plan.hpp"
#include "bench/report.hpp"
#include "bench/stage.hpp"
#include "bench/suite.hpp"
#include "bench/trial.hpp"
#include "service/cli/command_error.hpp"
#include "stock/clock.hpp"

#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <iostream>

namespace {

using namespace holdfast;
using namespace holdfast::bench;

struct options {
    bool is_quick = false;
    std::string json;
    std::string results;
    std::string work = HOLDFAST_SOURCE_DIR "/build";
    double soak_minutes = 0;
    bool has_pool_sizes = false;

    // For whoever works on one part, and for the bench's own test.
    double seconds = 0;
    std::vector<std::string> strategies;
    std::vector<std::uint32_t> clients;
    std::vector<std::size_t> connections;
    std::vector<int> redis_connections;
};

void declare(CLI::App& app, options& into)
{
    app.add_flag("--quick", into.is_quick, "Shortly: two seconds for each load");
    app.add_option("--json", into.json, "Write the figures to this file");
    app.add_option("--results", into.results,
                   "Keep the results in a folder below this one; without --quick, bench/results");
    app.add_option("--work", into.work, "Where the database lives meanwhile")
        ->capture_default_str();
    app.add_option("--soak", into.soak_minutes, "Only look at memory, for so many minutes")
        ->check(CLI::Range(0.01, 14.0)); // the default hold lasts 15
    app.add_flag("--pool-sizes", into.has_pool_sizes,
                 "With --quick too, try numbers of connections to Redis");
    app.add_option("--seconds", into.seconds, "Measure each load for so long")
        ->check(CLI::Range(0.1, 600.0))
        ->group("");
    app.add_option("--strategy", into.strategies, "Only these; the first is the subject")
        ->group("");
    app.add_option("--clients", into.clients, "Numbers of pgbench's clients")
        ->delimiter(',')
        ->group("");
    app.add_option("--connections", into.connections, "The subject's other numbers of connections")
        ->delimiter(',')
        ->group("");
    app.add_option("--redis-connections", into.redis_connections,
                   "The numbers of connections to Redis that are tried")
        ->delimiter(',')
        ->check(CLI::Range(1, 64))
        ->group("");
}

std::chrono::milliseconds to_milliseconds(double seconds)
{
    return std::chrono::milliseconds(std::lround(seconds * 1000));
}

plan plan_of(options const& given)
{
    auto what = given.is_quick ? quick_plan() : full_plan();
    if (given.seconds > 0) {
        what.timing = {.warm_up = to_milliseconds(given.seconds / 4),
                       .measured = to_milliseconds(given.seconds)};
        what.pool_timing = what.timing;
    }
    if (!given.strategies.empty()) {
        for (auto const& name : given.strategies)
            if (std::ranges::find(what.strategies, name) == what.strategies.end())
                throw std::runtime_error("there is no strategy " + name);
        what.strategies = given.strategies;
        what.subject = given.strategies.front();
    }
    if (!given.clients.empty())
        what.pgbench_clients = given.clients;
    if (!given.connections.empty())
        what.other_connections = given.connections;
    if (given.has_pool_sizes)
        what.redis_connections = pool_sizes();
    if (!given.redis_connections.empty())
        what.redis_connections = given.redis_connections;
    if (given.soak_minutes > 0)
        what.soak = std::chrono::seconds(std::lround(given.soak_minutes * 60));
    return what;
}

// A connection is a descriptor here and one in the service, which inherits the limit; the usual one
// of 1024 is a soft one.
void raise_descriptor_limit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string today()
{
    auto const now =
        std::chrono::time_point_cast<timestamp::duration>(std::chrono::system_clock::now());
    return to_rfc3339(now).substr(0, 10);
}

void measure(options const& given)
{
    auto const what = plan_of(given);
    stage on(given.work);
    auto found = run_suite(on, what, std::cerr);
    found.date = today();
    found.is_quick = given.is_quick;

    print(found, std::cout);
    if (!given.json.empty())
        write_file(given.json, to_json(found));
    auto const parent = !given.results.empty() || given.is_quick || what.soak ? given.results
                                                                              : HOLDFAST_SOURCE_DIR
                            "/bench/results";
    if (!parent.empty())
        std::cout << "\nkept in " << keep(found, parent).string() << '\n';
}

} // namespace

int main(int count, char** arguments)
{
    options given;
    CLI::App app{"Measures Holdfast and pgbench side by side", "holdfast-bench"};
    declare(app, given);
    CLI11_PARSE(app, count, arguments);
    std::signal(SIGPIPE, SIG_IGN);
    heed_signals();
    raise_descriptor_limit();
    try {
        measure(given);
        return 0;
    } catch (broken_promise const& e) {
        std::cerr << "\nbench: a promise is broken: " << e.what() << '\n';
    } catch (std::exception const& e) {
        // What was being waited for may have been stopped by the same Ctrl-C.
        if (is_interrupted()) {
            std::cerr << "\nbench: interrupted\n";
            return cli::exit_interrupted;
        }
        std::cerr << "\nbench: " << e.what() << '\n';
    }
    return 1;
}

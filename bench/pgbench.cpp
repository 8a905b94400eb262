// SPDX-License-Identifier: Apache-2.0
#include "bench/pgbench.hpp"

#include "bench/interruption.hpp"
#include "bench/trial.hpp"
#include "db/child_process.hpp"
#include "db/server_programs.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::bench {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Connecting, and the last transactions of many clients that queue for one row.
constexpr auto grace = 60s;
constexpr auto look_every = 100ms;

constexpr std::string_view log_prefix = "pgbench_log";
constexpr std::string_view output_name = "pgbench.out";

// One transaction as pgbench logs it. Times are microseconds.
struct transaction_line {
    std::int64_t took = 0;
    std::int64_t ended = 0;
};

// "client number took script seconds microseconds"
transaction_line parse_line(std::string_view line)
{
    std::array<std::int64_t, 6> fields{};
    auto const* at = line.data();
    auto const* const end = line.data() + line.size();
    for (auto& field : fields) {
        auto const read = std::from_chars(at, end, field);
        if (read.ec != std::errc{})
            throw std::runtime_error("pgbench logged what is no transaction: " + std::string(line));
        at = read.ptr == end ? end : read.ptr + 1;
    }
    return {.took = fields[2], .ended = fields[4] * 1'000'000 + fields[5]};
}

// Reads and removes the log, which has a file for each thread.
std::vector<transaction_line> take_log(fs::path const& directory)
{
    std::vector<fs::path> files;
    for (auto const& entry : fs::directory_iterator(directory))
        if (entry.path().filename().string().starts_with(log_prefix))
            files.push_back(entry.path());
    std::vector<transaction_line> lines;
    for (auto const& file : files) {
        std::ifstream in(file);
        for (std::string line; std::getline(in, line);)
            lines.push_back(parse_line(line));
        fs::remove(file);
    }
    return lines;
}

std::string text_of(fs::path const& file)
{
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::chrono::seconds whole_duration(load_timing const& timing)
{
    return std::max<std::chrono::seconds>(
        std::chrono::ceil<std::chrono::seconds>(timing.warm_up + timing.measured), 1s);
}

std::vector<std::string> arguments_of(stage& on, trial_database const& base,
                                      pgbench_plan const& plan)
{
    auto const threads = std::min(plan.clients, std::max(1U, std::thread::hardware_concurrency()));
    return {"--no-vacuum",
            "--protocol=prepared",
            "--log",
            fmt::format("--log-prefix={}", (on.files() / log_prefix).string()),
            fmt::format("--client={}", plan.clients),
            fmt::format("--jobs={}", threads),
            fmt::format("--time={}", whole_duration(plan.timing).count()),
            fmt::format("--define=items={}", plan.items),
            "--file=" HOLDFAST_SOURCE_DIR "/bench/pgbench/reserve.sql",
            base.connection()};
}

void wait_for(db::process& running, std::chrono::seconds longest)
{
    auto const deadline = clock::now() + longest;
    while (!running.wait_until(clock::now() + look_every)) {
        if (clock::now() < deadline && !is_interrupted())
            continue;
        running.kill_group();
        if (running.wait_until(clock::now() + grace))
            running.collect();
        throw_if_interrupted();
        throw std::runtime_error("pgbench does not come to its end");
    }
}

// The last transactions of the whole time are measured; those before them warm up.
pgbench_outcome outcome_of(std::vector<transaction_line> const& lines, load_timing const& timing)
{
    if (lines.empty())
        return {};
    auto const last = std::ranges::max_element(lines, {}, &transaction_line::ended)->ended;
    auto const begin = last - std::chrono::microseconds(timing.measured).count();
    std::vector<std::uint32_t> took;
    for (auto const& each : lines)
        if (each.ended > begin)
            took.push_back(static_cast<std::uint32_t>(each.took));
    auto const seconds = std::chrono::duration<double>(timing.measured).count();
    return {.per_second = static_cast<double>(took.size()) / seconds,
            .latency = summary_of(std::move(took)),
            .transactions = static_cast<std::int64_t>(lines.size())};
}

} // namespace

pgbench_outcome run_pgbench(stage& on, pgbench_plan const& plan)
{
    throw_if_interrupted();
    trial_database const base(on, "bench_pgbench");
    auto const wal_before = read_wal(on);
    auto const output = on.files() / output_name;
    db::file_descriptor const to{
        ::open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    auto running = db::process::start({.program = db::find_binaries({}) / "pgbench",
                                       .arguments = arguments_of(on, base, plan),
                                       .fate = db::when_parent_ends::ends,
                                       .output = to.number()});
    processor_watch watch({.postmaster = on.postmaster(), .generator = running.pid()});
    watch.begin();
    wait_for(running, whole_duration(plan.timing) + grace);
    watch.end(); // an ended child still tells what it used
    auto const lines = take_log(on.files());
    if (auto const status = running.collect(); status != 0)
        throw std::runtime_error("pgbench failed:\n" + text_of(output));

    auto outcome = outcome_of(lines, plan.timing);
    outcome.shares = watch.shares();
    outcome.database = figures_since(on, wal_before, base);
    prove(base, outcome.transactions);
    return outcome;
}

} // namespace holdfast::bench

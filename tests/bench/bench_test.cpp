// SPDX-License-Identifier: Apache-2.0
// The benchmark as its user meets it, with loads so short that its figures mean nothing, and the
// proof at the end of each load, which has to fail when something is wrong.
#include "bench/stage.hpp"
#include "bench/trial.hpp"
#include "db/child_process.hpp"
#include "tests/cli/command.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

db::finished_command run_bench(std::vector<std::string> arguments)
{
    return db::run({.program = HOLDFAST_BENCH_PATH,
                    .arguments = std::move(arguments),
                    .fate = db::when_parent_ends::ends},
                   600s);
}

// The keys of everything that is measured for one strategy, as programs rely on them.
std::vector<std::string> promised_keys()
{
    std::vector<std::string> keys{"http.noop.rps",
                                  "http.noop.p99_ms",
                                  "http.invalid.rps",
                                  "hot.conditional_update.at70.p99_ms",
                                  "hot.conditional_update.overload.rps",
                                  "hot.conditional_update.overload.p99_ms",
                                  "hot.conditional_update.reader.level_table_kib",
                                  "hot.soldout.rps",
                                  "hot.soldout.transactions_per_second",
                                  "fast.refused.rps",
                                  "fast.refused.p50_ms",
                                  "fast.refused.p99_ms",
                                  "fast.refused.cpu_redis_percent",
                                  "fast.refused.redis_refused_percent",
                                  "fast.refused.transactions_per_second",
                                  "fast.durable.rps",
                                  "fast.async.rps",
                                  "fast.async.committed.rps",
                                  "fast.async.drain_seconds",
                                  "fast.pool.2.10.rps",
                                  "fast.pool.2.50.rps",
                                  "fast.pool.2.100.rps",
                                  "ratio.fast.refused.noop",
                                  "ratio.fast.refused.soldout",
                                  "ratio.fast.durable.hot",
                                  "ratio.fast.async.hot",
                                  "ratio.fast.async.committed.hot",
                                  "bystander.storm.p99_ms",
                                  "bystander.spread.p99_ms",
                                  "machine.processor",
                                  "machine.Redis",
                                  "machine.fsync",
                                  "machine.fdatasync_ms"};
    for (std::string const field : {"hot", "cold"}) {
        for (auto const* name : {"rps", "p50_ms", "p99_ms", "cpu_service_percent",
                                 "cpu_postgres_percent", "cpu_generator_percent", "resident_mib"})
            keys.push_back(fmt::format("{}.conditional_update.{}", field, name));
        for (auto const* name : {"rps.1", "p50_ms.1", "p99_ms.1"})
            keys.push_back(fmt::format("{}.conditional_update.{}", field, name));
        for (auto const* name : {"tps.1", "p50_ms.1", "p99_ms.1", "tps.2", "p50_ms.2", "p99_ms.2"})
            keys.push_back(fmt::format("{}.pgbench.{}", field, name));
    }
    return keys;
}

} // namespace

TEST_CASE("the benchmark measures everything it promises and leaves nothing behind")
{
    temporary_directory const place;
    auto const work = place.path() / "work";
    auto const json = place.path() / "figures.json";
    auto const kept = place.path() / "kept";
    auto const ran = run_bench({"--seconds", "0.3", "--strategy", "conditional_update", "--clients",
                                "1,2", "--connections", "1", "--redis-connections", "2", "--work",
                                work, "--json", json, "--results", kept});
    REQUIRE_MESSAGE(ran.has_succeeded(), ran.output);

    auto const figures = nlohmann::json::parse(text_of_file(json));
    for (auto const& key : promised_keys()) {
        CAPTURE(key);
        CHECK(figures.contains(key));
    }
    CHECK(figures.at("machine.fsync") == "on");
    CHECK(figures.at("subject") == "conditional_update");
    CHECK(figures.at("http.noop.rps") > 0);

    CHECK(fs::is_empty(work));
    std::vector<fs::path> folders;
    for (auto const& entry : fs::directory_iterator(kept))
        folders.push_back(entry.path());
    REQUIRE(folders.size() == 1);
    CHECK(nlohmann::json::parse(text_of_file(folders[0] / "results.json")) == figures);
    CHECK(text_of_file(folders[0] / "results.md").starts_with("# Results of "));
    for (auto const* name :
         {"throughput-by-clients.svg", "latency-percentiles.svg", "redis-connections.svg"})
        CHECK(text_of_file(folders[0] / name).starts_with("<svg "));
}

TEST_CASE("a strategy that does not exist is not measured")
{
    auto const ran = run_bench({"--strategy", "hope"});
    CHECK_FALSE(ran.has_succeeded());
    CHECK(ran.output.find("there is no strategy hope") != std::string::npos);
}

TEST_CASE("a load ends in a proof that sees what is wrong")
{
    temporary_directory const place;
    bench::stage on(place.path());
    bench::trial_database const base(on, "proof");
    CHECK_NOTHROW(bench::prove(base, 0));
    CHECK_THROWS_AS(bench::prove(base, 1), bench::broken_promise);

    db::session behind_its_back({.connection = base.connection()});
    behind_its_back.execute("UPDATE stock_level SET reserved = 1 WHERE sku = 'SKU-00001'", "test");
    CHECK_THROWS_AS(bench::prove(base, 0), bench::broken_promise);
    CHECK_THROWS_AS(bench::prove(base, 1), bench::broken_promise);
}

} // namespace holdfast::test

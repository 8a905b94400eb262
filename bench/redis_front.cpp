// SPDX-License-Identifier: Apache-2.0
#include "bench/redis_front.hpp"

#include "bench/exposition.hpp"
#include "bench/interruption.hpp"
#include "service/cli/client.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <thread>

namespace holdfast::bench {

namespace {

using clock = std::chrono::steady_clock;
using nlohmann::json;
using namespace std::chrono_literals;

constexpr auto drain_limit = 120s; // a queue that was filled for as long as a load lasts
constexpr auto between_looks = 10ms;

std::string path_of(std::string const& sku)
{
    return "/v1/fast-path/" + sku;
}

// Nothing while the service does not know, because Redis does not answer for the item.
std::optional<std::int64_t> queue_length(cli::client& http, std::string const& sku)
{
    auto const answer = http.send({.target = path_of(sku)});
    cli::require_status(answer, 200, "look at the fast path");
    auto const shown = json::parse(answer.body);
    auto const queue = shown.find("queue");
    if (queue == shown.end() || !queue->is_object())
        return std::nullopt;
    return queue->at("length").get<std::int64_t>();
}

} // namespace

std::string version_of(test::redis_server const& server)
{
    constexpr std::string_view mark = "redis_version:";
    auto const told = server.ask({"INFO", "server"}).text();
    auto const at = told.find(mark);
    if (at == std::string::npos)
        return "unknown";
    auto const from = at + mark.size();
    return told.substr(from, told.find('\r', from) - from);
}

void empty(test::redis_server const& server)
{
    // What it frees it frees beside, and is there again at once.
    server.ask({"FLUSHALL", "ASYNC"});
}

std::vector<std::string> arguments_of(redis_front const& front)
{
    std::vector<std::string> arguments{"--redis-url", front.server->url(), "--redis-stream", ""};
    if (front.connections) {
        arguments.emplace_back("--redis-connections");
        arguments.push_back(std::to_string(*front.connections));
    }
    return arguments;
}

void switch_on(test::service_process const& service, std::string const& sku, fast_mode mode)
{
    json const wanted{{"mode", mode == fast_mode::async ? "async" : "durable"}, {"buckets", 1}};
    auto const body = wanted.dump();
    cli::client http(cli::parse_url(service.url()), service.admin_key());
    auto const answer = http.send({.method = "PUT",
                                   .target = path_of(sku),
                                   .body = body,
                                   .content_type = "application/json"});
    cli::require_status(answer, 200, "switch the fast path on");
    if (auto const shown = json::parse(answer.body); shown.at("state") != "live")
        throw std::runtime_error("the fast path does not come to life: " + answer.body);
}

double seconds_until_drained(test::service_process const& service, std::string const& sku)
{
    cli::client http(cli::parse_url(service.url()), service.admin_key());
    auto const began = clock::now();
    while (queue_length(http, sku) != 0) {
        throw_if_interrupted();
        if (clock::now() - began > drain_limit)
            throw std::runtime_error(fmt::format(
                "the queue of {} is not empty {} s after the end of the load; the service wrote "
                "last:\n{}",
                sku, std::chrono::seconds(drain_limit).count(), service.log_tail()));
        std::this_thread::sleep_for(between_looks);
    }
    return std::chrono::duration<double>(clock::now() - began).count();
}

verdict_counts verdicts_between(std::string_view before, std::string_view after)
{
    auto const counted = [&](std::string_view verdict) {
        auto const series =
            fmt::format("holdfast_fast_path_requests_total{{verdict=\"{}\"}}", verdict);
        return counter_in(after, series) - counter_in(before, series);
    };
    return {.refused = counted("refused"),
            .taken = counted("taken"),
            .asked = counted("asked"),
            .lost = counted("lost")};
}

} // namespace holdfast::bench

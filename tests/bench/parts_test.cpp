// SPDX-License-Identifier: Apache-2.0
// The parts of the benchmark that could lie: what it sends, what it takes for an answer, from when
// it counts, and what it makes of the service's own numbers.
#include "bench/answer_reader.hpp"
#include "bench/chart.hpp"
#include "bench/exposition.hpp"
#include "bench/generator.hpp"
#include "bench/latency.hpp"
#include "bench/number.hpp"
#include "bench/redis_front.hpp"
#include "bench/report.hpp"
#include "bench/request_text.hpp"
#include "bench/trial_figures.hpp"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <limits>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

namespace {

using namespace bench;
using namespace std::chrono_literals;

constexpr std::string_view plain_answer = "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}";

// Serves one connection on a free port of this machine, and is slow with its first answer.
class slow_starter {
public:
    explicit slow_starter(std::chrono::milliseconds stall) : stall_(stall)
    {
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
            ::listen(listener_, 1) != 0 ||
            ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("no free port");
        port_ = ntohs(address.sin_port);
        serving_ = std::jthread([this] { serve(); });
    }
    slow_starter(slow_starter const&) = delete;
    slow_starter& operator=(slow_starter const&) = delete;
    ~slow_starter()
    {
        ::shutdown(listener_, SHUT_RDWR); // wakes a wait for a client that never came
        serving_.join();
        ::close(listener_);
    }

    [[nodiscard]] std::uint16_t port() const { return port_; }
    [[nodiscard]] int served() const { return served_; }

private:
    // Ends when the client hangs up. A request is smaller than the buffer and comes alone.
    void serve()
    {
        auto const client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        std::array<char, 4096> request{};
        while (::recv(client, request.data(), request.size(), 0) > 0) {
            if (served_++ == 0)
                std::this_thread::sleep_for(stall_);
            if (::send(client, plain_answer.data(), plain_answer.size(), MSG_NOSIGNAL) < 0)
                break;
        }
        ::close(client);
    }

    std::chrono::milliseconds stall_;
    int listener_ = -1;
    std::uint16_t port_ = 0;
    std::atomic<int> served_{0};
    std::jthread serving_;
};

} // namespace

TEST_CASE("a service that stalls cannot hide the requests that had to wait")
{
    slow_starter const server(300ms);
    auto const tallies = run_load(
        server.port(),
        {{.request = request_text("GET / HTTP/1.1\r\n\r\n"), .connections = 1, .rate = 100}},
        {.warm_up = 0ms, .measured = 500ms});
    auto const& latencies = tallies.at(0).accepted.latencies_us;
    // Fifty were due, thirty of them while the server slept, every ten milliseconds one.
    CHECK(latencies.size() == 50);
    CHECK(server.served() == 50);
    CHECK(std::ranges::count_if(latencies, [](auto us) { return us >= 100'000; }) >= 20);
    CHECK(std::ranges::max(latencies) >= 300'000);
}

TEST_CASE("a closed loop sends its next request after the answer")
{
    slow_starter const server(0ms);
    auto const tallies = run_load(
        server.port(), {{.request = request_text("GET / HTTP/1.1\r\n\r\n"), .connections = 1}},
        {.warm_up = 50ms, .measured = 1000ms});
    auto const& counted = tallies.at(0);
    CHECK(counted.accepted.count > 0);
    CHECK(counted.accepted.count == counted.accepted.latencies_us.size());
    CHECK(counted.statuses[201] == static_cast<std::uint64_t>(server.served()));
    CHECK(counted.statuses[201] >= counted.accepted.count);
    CHECK(counted.refused.count == 0);
    CHECK(counted.unavailable.count == 0);
}

TEST_CASE("each request has its own key and names its item")
{
    request_text text("key ####, item @@@@@, end");
    CHECK(text.with(7, 42) == "key 0007, item 00042, end");
    CHECK(text.with(12'345, 10'000) == "key 2345, item 10000, end");
    request_text plain("nothing to write");
    CHECK(plain.with(1, 2) == "nothing to write");
}

TEST_CASE("an answer is whole when its last byte is there, in however many pieces it comes")
{
    for (std::size_t piece = 1; piece <= plain_answer.size(); ++piece) {
        answer_reader reader;
        for (int round = 0; round < 2; ++round) {
            std::optional<int> status;
            for (std::size_t at = 0; at < plain_answer.size(); at += piece) {
                REQUIRE_FALSE(status);
                status = reader.take(plain_answer.substr(at, piece));
            }
            CHECK(status == 201);
        }
    }
}

TEST_CASE("what is no answer of the service is refused")
{
    CHECK_THROWS(answer_reader().take("HTTP/1.1 200 OK\r\n\r\n"));
    CHECK_THROWS(answer_reader().take("SSH-2.0-OpenSSH\r\nContent-Length: 1\r\n\r\n"));
    CHECK_THROWS(answer_reader().take(std::string(plain_answer) + "x"));
    CHECK_THROWS(answer_reader().take(std::string(20'000, 'x')));
}

TEST_CASE("percentiles are exact")
{
    std::vector<std::uint32_t> us(1000);
    std::iota(us.rbegin(), us.rend(), 1);
    auto const found = summary_of(us);
    CHECK(found.p50 == 0.5);
    CHECK(found.p90 == 0.9);
    CHECK(found.p99 == 0.99);
    CHECK(found.p999 == 0.999);
    CHECK(found.max == 1.0);
    CHECK(summary_of({}).max == 0);
}

TEST_CASE("the sizes of batches are added up over lanes and counted from the begin of the load")
{
    constexpr std::string_view before = "batch_bucket{lane=\"0\",le=\"1\"} 5\n"
                                        "batch_bucket{lane=\"0\",le=\"+Inf\"} 5\n"
                                        "batch_sum{lane=\"0\"} 5\nbatch_count{lane=\"0\"} 5\n";
    constexpr std::string_view after = "# TYPE batch histogram\n"
                                       "batch_bucket{lane=\"0\",le=\"1\"} 6\n"
                                       "batch_bucket{lane=\"0\",le=\"+Inf\"} 8\n"
                                       "batch_sum{lane=\"0\"} 16\nbatch_count{lane=\"0\"} 8\n"
                                       "batch_bucket{lane=\"1\",le=\"1\"} 0\n"
                                       "batch_bucket{lane=\"1\",le=\"+Inf\"} 1\n"
                                       "batch_sum{lane=\"1\"} 9\nbatch_count{lane=\"1\"} 1\n"
                                       "batches_total 77\n";
    auto const found = added(histogram_in(before, "batch"), histogram_in(after, "batch"));
    CHECK(found.count == 4);
    CHECK(found.mean() == 5);
    REQUIRE(found.buckets.size() == 2);
    CHECK(found.buckets[0].upper == 1);
    CHECK(found.buckets[0].count == 1);
    CHECK(found.buckets[1].upper == std::numeric_limits<double>::infinity());
    CHECK(found.buckets[1].count == 3);
    CHECK(histogram_in(after, "absent").count == 0);
}

TEST_CASE("what Redis said is counted from the begin of the load, each verdict by itself")
{
    constexpr std::string_view before =
        "holdfast_fast_path_requests_total{verdict=\"refused\"} 5\n";
    constexpr std::string_view after =
        "# TYPE holdfast_fast_path_requests_total counter\n"
        "holdfast_fast_path_requests_total{verdict=\"refused\"} 105\n"
        "holdfast_fast_path_requests_total{verdict=\"refused_twice\"} 1000\n"
        "holdfast_fast_path_requests_total{verdict=\"taken\"} 7\n";
    auto const said = verdicts_between(before, after);
    CHECK(said.refused == 100);
    CHECK(said.taken == 7);
    CHECK(said.asked == 0);
    CHECK(said.lost == 0);
    CHECK(counter_in(after, "holdfast_fast_path_requests_total") == 0);
    CHECK(counter_in("", "absent") == 0);
}

TEST_CASE("what was only queued is counted by the time until it was committed")
{
    trial_outcome outcome{.tallies = {tally{.seconds = 2}},
                          .reservations = 3000,
                          .seconds = 2.5,
                          .resident = {0},
                          .drain_seconds = 0.5};
    outcome.tallies.front().accepted.count = 2400;
    outcome.tallies.front().statuses[201] = 750;
    outcome.tallies.front().statuses[202] = 2250;
    load_figures const load{.name = {.prefix = "fast.async", .suffix = "256"},
                            .figures = figures_of(outcome, &tally::accepted)};
    CHECK(load.at("rps") == 1200);
    CHECK(load.at("committed.rps") == 1000);
    CHECK(load.at("pending_percent") == 75);
    CHECK(load.key_of({.name = "committed.rps"}) == "fast.async.committed.rps.256");
}

TEST_CASE("numbers of clients and of connections to Redis make a square")
{
    results found;
    for (int const connections : {2, 16})
        for (std::size_t const clients : {10U, 50U})
            found.loads.push_back(
                {.name = {.clients = clients, .redis_connections = connections},
                 .figures = {{"rps", 1000.0 * connections + static_cast<double>(clients)}}});
    std::ostringstream out;
    print(found, out);
    CHECK(out.str() == "\nSold behind Redis a second, by connections to Redis\n"
                       "  connections to Redis  10 clients  50 clients\n"
                       "  2                          2 010       2 050\n"
                       "  16                        16 010      16 050\n");
}

TEST_CASE("a ratio is only made of what was measured")
{
    results found;
    found.add_ratio({"one", "half", 1, 2});
    found.add_ratio({"two", "of nothing", std::nullopt, 2});
    found.add_ratio({"three", "by nothing", 1, std::nullopt});
    found.add_ratio({"four", "by zero", 1, 0});
    REQUIRE(found.ratios.size() == 1);
    CHECK(found.ratios[0].key == "ratio.one");
    CHECK(found.ratios[0].value == 0.5);
}

TEST_CASE("numbers are grouped for reading")
{
    CHECK(grouped(0) == "0");
    CHECK(grouped(999.6) == "1 000");
    CHECK(grouped(1'234'567) == "1 234 567");
    CHECK(grouped(-1234) == "-1 234");
    CHECK(counted(1, "client") == "1 client");
    CHECK(counted(50, "client") == "50 clients");
}

TEST_CASE("a chart shows every line, whatever its names hold")
{
    auto const svg = to_svg({.title = "a < b & c",
                             .x_label = "x",
                             .y_label = "y",
                             .x_ticks = {{0, "0"}, {1, "1"}},
                             .lines = {{.label = "up", .points = {{0, 1}, {1, 20'000}}},
                                       {.label = "one", .points = {{1, 5}}}}});
    CHECK(svg.starts_with("<svg "));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(svg.find("a &lt; b &amp; c") != std::string::npos);
    CHECK(svg.find("<path class=\"line\"") != std::string::npos);
    CHECK(svg.find(">up</text>") != std::string::npos);
    CHECK(svg.find(">one</text>") != std::string::npos);
    CHECK(svg.find("nan") == std::string::npos);
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// What is counted appears in the text Prometheus reads, and labels stay bounded.
#include "service/metrics.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

using namespace holdfast;
using namespace std::chrono_literals;

namespace {

bool has_line(std::string const& text, std::string const& wanted)
{
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
        if (line == wanted)
            return true;
    return false;
}

} // namespace

TEST_CASE("requests are counted by route and status, their time in the histogram")
{
    metrics counted("1.2.3");
    auto& route = counted.route_of("/v1/stock/{sku}");
    CHECK(&route == &counted.route_of("/v1/stock/{sku}"));

    route.answered(200, 3ms);
    route.answered(200, 30ms);
    route.answered(404, 0ms);
    route.answered(12345, 0ms);

    auto const text = counted.text();
    CHECK(
        has_line(text, R"(holdfast_http_requests_total{route="/v1/stock/{sku}",status="200"} 2)"));
    CHECK(
        has_line(text, R"(holdfast_http_requests_total{route="/v1/stock/{sku}",status="404"} 1)"));
    CHECK(
        has_line(text, R"(holdfast_http_requests_total{route="/v1/stock/{sku}",status="599"} 1)"));
    CHECK(has_line(text, R"(holdfast_http_request_seconds_count{route="/v1/stock/{sku}"} 4)"));
    CHECK(has_line(
        text, R"(holdfast_http_request_seconds_bucket{route="/v1/stock/{sku}",le="0.005"} 3)"));
    CHECK(has_line(text, R"(holdfast_build_info{version="1.2.3"} 1)"));
}

TEST_CASE("every other count appears under its name")
{
    metrics counted("0");
    counted.moved(movement_kind::reserved, 5);
    counted.moved(movement_kind::reserved, -2);
    counted.refused(errc::insufficient_stock);
    counted.refused(errc::quantity_overflow);
    counted.rate_limited(metrics::limit_scope::customer);
    counted.token_answered(metrics::token_outcome::waiting);
    counted.holds_reclaimed(4);
    counted.strategy_conflicts("optimistic", 3);
    counted.transaction_retried("40001");
    counted.transaction_retried("40001");
    counted.commit_in_doubt();
    counted.invariant_broken();
    counted.queued(20);
    counted.queued(-3);
    counted.lane_batch(40);
    counted.queue_waited(2ms);
    counted.queue_rejected();
    counted.database_session_open(8);
    counted.database_session_busy(3);
    counted.connection_opened();
    counted.connection_opened();
    counted.connection_closed();

    auto const text = counted.text();
    for (auto const* const line : {R"(holdfast_movements_total{kind="reserved"} 2)",
                                   R"(holdfast_units_total{kind="reserved"} 7)",
                                   R"(holdfast_movements_total{kind="returned"} 0)",
                                   R"(holdfast_refusals_total{code="insufficient-stock"} 1)",
                                   R"(holdfast_refusals_total{code="quantity-overflow"} 1)",
                                   R"(holdfast_refusals_total{code="malformed-json"} 0)",
                                   R"(holdfast_rate_limited_total{scope="customer"} 1)",
                                   R"(holdfast_rate_limited_total{scope="api_key"} 0)",
                                   R"(holdfast_token_requests_total{outcome="waiting"} 1)",
                                   R"(holdfast_token_requests_total{outcome="granted"} 0)",
                                   R"(holdfast_holds_reclaimed_total 4)",
                                   R"(holdfast_strategy_conflicts_total{strategy="optimistic"} 3)",
                                   R"(holdfast_transaction_retries_total{reason="40001"} 2)",
                                   R"(holdfast_in_doubt_total 1)",
                                   R"(holdfast_invariant_broken_total 1)",
                                   R"(holdfast_queue_length 17)",
                                   R"(holdfast_queue_wait_seconds_count 1)",
                                   R"(holdfast_queue_rejected_total 1)",
                                   R"(holdfast_database_sessions{state="open"} 8)",
                                   R"(holdfast_database_sessions{state="busy"} 3)",
                                   R"(holdfast_open_connections 1)"})
        CHECK_MESSAGE(has_line(text, line), line);
}

TEST_CASE("a text label that takes ever new values is cut off as other")
{
    metrics counted("0");
    for (int i = 0; i < 1000; ++i)
        counted.transaction_retried("reason-" + std::to_string(i));

    auto const text = counted.text();
    std::istringstream lines(text);
    int series = 0;
    for (std::string line; std::getline(lines, line);)
        series += line.starts_with("holdfast_transaction_retries_total{") ? 1 : 0;
    CHECK(series == 33);
    CHECK(has_line(text, R"(holdfast_transaction_retries_total{reason="other"} 968)"));
}

TEST_CASE("counts from many threads add up, also for a status seen first by several")
{
    metrics counted("0");
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            auto& route = counted.route_of("/v1/reservations");
            for (int i = 0; i < 5000; ++i)
                route.answered(200 + i % 50, 1us);
        });
    threads.clear();

    auto const text = counted.text();
    CHECK(has_line(text,
                   R"(holdfast_http_requests_total{route="/v1/reservations",status="249"} 400)"));
    CHECK(has_line(text, R"(holdfast_http_request_seconds_count{route="/v1/reservations"} 20000)"));
}

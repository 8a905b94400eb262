// SPDX-License-Identifier: Apache-2.0
// The status of every refusal, and what a problem says.

#include "service/http/problem.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using holdfast::errc;
using holdfast::location;
using holdfast::refusal;
using holdfast::sku;
using holdfast::http::fault_kind;
using holdfast::http::fault_report;
using holdfast::http::reply;
using nlohmann::json;
using namespace std::chrono_literals;

namespace http = holdfast::http;

namespace {

http::request a_request()
{
    http::request req;
    req.id = "req-1";
    return req;
}

std::optional<std::string> header(reply const& answer, std::string_view name)
{
    for (auto const& [n, value] : answer.headers)
        if (n == name)
            return value;
    return std::nullopt;
}

} // namespace

TEST_CASE("every refusal has the status of the contract")
{
    std::vector<std::pair<errc, int>> const statuses{
        {errc::malformed_json, 400},
        {errc::validation_failed, 400},
        {errc::idempotency_key_missing, 400},
        {errc::unauthenticated, 401},
        {errc::forbidden, 403},
        {errc::not_found, 404},
        {errc::method_not_allowed, 405},
        {errc::payload_too_large, 413},
        {errc::unsupported_media_type, 415},
        {errc::rate_limited, 429},
        {errc::idempotency_key_reused, 422},
        {errc::idempotency_key_in_progress, 409},
        {errc::unknown_sku, 404},
        {errc::customer_blocked, 403},
        {errc::unknown_reservation, 404},
        {errc::events_expired, 410},
        {errc::precondition_required, 428},
        {errc::precondition_failed, 412},
        {errc::last_owner, 409},
        {errc::count_closed, 409},
        {errc::already_confirmed, 409},
        {errc::already_released, 409},
        {errc::reservation_expired, 409},
        {errc::not_on_sale, 409},
        {errc::token_required, 403},
        {errc::token_invalid, 403},
        {errc::token_expired, 409},
        {errc::token_used, 409},
        {errc::customer_limit, 409},
        {errc::insufficient_stock, 409},
        {errc::would_go_negative, 409},
        {errc::would_be_short, 409},
        {errc::quantity_overflow, 422},
    };
    CHECK(statuses.size() == static_cast<std::size_t>(errc::quantity_overflow) + 1);
    for (auto const& [each_code, status] : statuses) {
        auto const& code = each_code;
        auto const answer = http::problem(refusal{.code = code}, a_request());
        auto const body = json::parse(answer.body);
        CHECK_MESSAGE(answer.status == status, slug(code));
        CHECK(answer.content_type == "application/problem+json");
        CHECK(body.at("status") == status);
        CHECK(body.at("code") == slug(code));
        CHECK(body.at("type") == "urn:holdfast:problem:" + std::string(slug(code)));
        CHECK(body.at("title") == title(code));
        CHECK(!body.at("detail").get<std::string>().empty());
        CHECK(body.at("request_id") == "req-1");
        CHECK(body.size() == 6);
    }
}

TEST_CASE("a problem carries what helps to go on")
{
    auto const answer = http::problem(
        refusal{.code = errc::insufficient_stock,
                .detail = "Two lines fall short.",
                .items = {{{sku("A"), location()}, 3, 1}, {{sku("B"), location("x")}, 2, 0}},
                .errors = {{.pointer = "/rows/17/quantity",
                            .detail = "must be \"whole\"",
                            .row = 17,
                            .column = "quantity"}},
                .on_hand = 121,
                .retry_after = 2s},
        a_request());
    auto const body = json::parse(answer.body);
    CHECK(body.at("detail") == "Two lines fall short.");
    CHECK(body.at("items") ==
          json::parse(R"([{"sku":"A","location":"main","requested":3,"available":1},
                          {"sku":"B","location":"x","requested":2,"available":0}])"));
    CHECK(body.at("errors") ==
          json::parse(R"([{"pointer":"/rows/17/quantity","row":17,"column":"quantity",
                           "detail":"must be \"whole\""}])"));
    CHECK(body.at("on_hand") == 121);
    CHECK(header(answer, "Retry-After") == "2");
    CHECK(!header(answer, "WWW-Authenticate"));

    CHECK(header(http::problem(refusal{.code = errc::unauthenticated}, a_request()),
                 "WWW-Authenticate") == "Bearer");
    CHECK(header(http::problem(refusal{.code = errc::rate_limited, .retry_after = 0s}, a_request()),
                 "Retry-After") == "1");
}

TEST_CASE("a fault of ours says what to do and nothing of its cause")
{
    auto const told = [](fault_report const& why) {
        auto const answer = http::problem(why, a_request());
        auto const body = json::parse(answer.body);
        CHECK(body.at("status") == answer.status);
        return std::to_string(answer.status) + " " + body.at("code").get<std::string>() + " " +
               header(answer, "Retry-After").value_or("-");
    };
    CHECK(told({fault_kind::internal}) == "500 internal -");
    CHECK(told({fault_kind::overloaded}) == "503 overloaded 1");
    CHECK(told({.kind = fault_kind::overloaded, .retry_after = 5s}) == "503 overloaded 5");
    CHECK(told({fault_kind::database_unavailable}) == "503 database-unavailable 1");
    CHECK(told({fault_kind::outcome_unknown}) == "503 outcome-unknown 1");

    auto const answer = http::problem(fault_report{.kind = fault_kind::database_unavailable,
                                                   .detail = "Not ready.",
                                                   .reasons = {"a", "b"}},
                                      a_request());
    CHECK(json::parse(answer.body).at("reasons") == json({"a", "b"}));
    CHECK(json::parse(answer.body).at("detail") == "Not ready.");

    auto const too_large = http::header_too_large("At most 16384 bytes of header.", a_request());
    CHECK(too_large.status == 431);
    CHECK(json::parse(too_large.body).at("code") == "payload-too-large");
    CHECK(json::parse(too_large.body).at("status") == 431);
    CHECK(json::parse(too_large.body).at("title") == "The header is too large");
    CHECK(json::parse(too_large.body).at("detail") == "At most 16384 bytes of header.");
}

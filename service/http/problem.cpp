// SPDX-License-Identifier: Apache-2.0
#include "service/http/problem.hpp"

#include "service/json_writer.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::http {

namespace {

// A value outside the enumeration is our own mistake, and answered as any other.
constexpr int status_of_bug = 500;

int status_of(errc code) noexcept
{
    switch (code) {
    case errc::malformed_json:
    case errc::validation_failed:
    case errc::idempotency_key_missing: return 400;
    case errc::unauthenticated: return 401;
    case errc::forbidden:
    case errc::customer_blocked:
    case errc::token_required:
    case errc::token_invalid: return 403;
    case errc::not_found:
    case errc::unknown_sku:
    case errc::unknown_reservation: return 404;
    case errc::method_not_allowed: return 405;
    case errc::idempotency_key_in_progress:
    case errc::last_owner:
    case errc::count_closed:
    case errc::already_confirmed:
    case errc::already_released:
    case errc::reservation_expired:
    case errc::not_on_sale:
    case errc::token_expired:
    case errc::token_used:
    case errc::customer_limit:
    case errc::insufficient_stock:
    case errc::would_go_negative:
    case errc::would_be_short: return 409;
    case errc::events_expired: return 410;
    case errc::precondition_failed: return 412;
    case errc::payload_too_large: return 413;
    case errc::unsupported_media_type: return 415;
    case errc::idempotency_key_reused:
    case errc::quantity_overflow: return 422;
    case errc::precondition_required: return 428;
    case errc::rate_limited: return 429;
    }
    return status_of_bug;
}

struct problem_head {
    int status;
    std::string_view slug;
    std::string_view title;
    std::string_view detail;
};

problem_head head_of(fault_kind kind) noexcept
{
    switch (kind) {
    case fault_kind::overloaded:
        return {503, "overloaded", "Too busy right now", "The queue is full; try again shortly."};
    case fault_kind::database_unavailable:
        return {503, "database-unavailable", "The database is not available",
                "The database does not answer; try again shortly."};
    case fault_kind::outcome_unknown:
        return {503, "outcome-unknown", "The outcome is not known",
                "It may have happened; retry with the same key to learn."};
    case fault_kind::internal: break;
    }
    return {status_of_bug, "internal", "Something went wrong",
            "Something broke here. Quote the request id."};
}

// Opens the object and writes what every problem has.
void begin(json_writer& body, problem_head const& h, request const& about)
{
    body.begin_object();
    body.member("type", "urn:holdfast:problem:" + std::string(h.slug));
    body.member("title", h.title);
    body.member("status", h.status);
    body.member("detail", h.detail.empty() ? h.title : h.detail);
    body.member("code", h.slug);
    body.member("request_id", about.id);
}

void write_items(json_writer& body, std::vector<shortfall> const& items)
{
    body.key("items");
    body.begin_array();
    for (auto const& item : items) {
        body.begin_object();
        body.member("sku", item.at.sku);
        body.member("location", item.at.location);
        body.member("requested", item.requested);
        body.member("available", item.available);
        body.end_object();
    }
    body.end_array();
}

void write_errors(json_writer& body, std::vector<invalid_member> const& errors)
{
    body.key("errors");
    body.begin_array();
    for (auto const& error : errors) {
        body.begin_object();
        body.member("pointer", error.pointer);
        if (error.row != 0)
            body.member("row", error.row);
        if (!error.column.empty())
            body.member("column", error.column);
        if (error.sku)
            body.member("sku", *error.sku);
        body.member("detail", error.detail);
        if (error.code)
            body.member("code", slug(*error.code));
        else if (!error.fault.empty())
            body.member("code", error.fault);
        body.end_object();
    }
    body.end_array();
}

reply finished(json_writer& body, int status)
{
    body.end_object();
    return {.status = status, .body = body.take(), .content_type = "application/problem+json"};
}

// Retry-After has whole seconds, and 0 would invite a caller to spin.
void add_retry_after(reply& r, std::chrono::seconds wait)
{
    r.headers.emplace_back("Retry-After",
                           std::to_string(std::max<std::chrono::seconds::rep>(wait.count(), 1)));
}

problem_head head_of(refusal const& why) noexcept
{
    return {status_of(why.code), slug(why.code), title(why.code), why.detail};
}

reply refused(refusal const& why, problem_head const& head, request const& about,
              std::string_view item = {})
{
    json_writer body;
    begin(body, head, about);
    if (why.on_hand)
        body.member("on_hand", *why.on_hand);
    if (!why.items.empty())
        write_items(body, why.items);
    if (!why.errors.empty())
        write_errors(body, why.errors);
    if (!item.empty()) {
        body.key("item");
        body.raw(item);
    }

    auto answer = finished(body, head.status);
    if (why.retry_after)
        add_retry_after(answer, *why.retry_after);
    if (why.code == errc::unauthenticated)
        answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
}

} // namespace

reply problem(refusal const& why, request const& about)
{
    return problem(why, about, {});
}

reply problem(refusal const& why, request const& about, std::string_view item)
{
    auto answer = refused(why, head_of(why), about, item);
    answer.refused = why.code;
    return answer;
}

reply header_too_large(std::string detail, request const& about)
{
    refusal const why{.code = errc::payload_too_large, .detail = std::move(detail)};
    auto head = head_of(why);
    head.status = 431;
    head.title = "The header is too large";
    return refused(why, head, about);
}

reply problem(fault_report const& why, request const& about)
{
    auto head = head_of(why.kind);
    if (!why.detail.empty())
        head.detail = why.detail;
    json_writer body;
    begin(body, head, about);
    if (!why.reasons.empty()) {
        body.key("reasons");
        body.begin_array();
        for (auto const& reason : why.reasons)
            body.value(reason);
        body.end_array();
    }
    auto answer = finished(body, head.status);
    if (why.retry_after || why.kind != fault_kind::internal)
        add_retry_after(answer, why.retry_after.value_or(std::chrono::seconds(1)));
    return answer;
}

} // namespace holdfast::http

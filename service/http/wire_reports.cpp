// SPDX-License-Identifier: Apache-2.0
// Reports between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"
#include "stock/csv.hpp"
#include "stock/sku.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::http {

namespace {

constexpr std::array<std::string_view, 2> grouping_words{"reason", "sku"};
constexpr std::array<std::string_view, 2> format_words{"json", "csv"};

// Reads `format` and `limit`. A file has as many rows as it may where nobody wants fewer.
std::pair<report_format, std::size_t> format_and_limit(request const& req, query_reader& query)
{
    bool const is_file = query.one_of("format", format_words) == "csv";
    auto const limit = query.limit();
    bool const has_limit =
        std::ranges::any_of(req.query, [](auto const& each) { return each.first == "limit"; });
    return {is_file ? report_format::csv : report_format::json,
            is_file && !has_limit ? reports::file_rows_max : limit};
}

// The request again with another cursor.
std::string link_to_next(request const& req, std::string const& cursor)
{
    auto const path = req.target.substr(0, req.target.find('?'));
    std::string link = '<' + path + '?';
    for (std::string_view rest = std::string_view(req.target).substr(path.size()); !rest.empty();) {
        rest.remove_prefix(1); // ? or &
        auto const one = rest.substr(0, rest.find('&'));
        if (!one.starts_with("cursor="))
            link += std::string(one) + '&';
        rest.remove_prefix(one.size());
    }
    return link + "cursor=" + cursor + ">; rel=\"next\"";
}

// As the path ends, which is one of the routes.
std::string report_name(request const& req)
{
    auto const path = req.target.substr(0, req.target.find('?'));
    return path.substr(path.rfind('/') + 1);
}

reply file(std::string text, request const& req, std::optional<std::string> const& next_cursor)
{
    reply answer{.body = std::move(text), .content_type = "text/csv; charset=utf-8"};
    answer.headers.emplace_back("Content-Disposition",
                                "attachment; filename=\"" + report_name(req) + ".csv\"");
    if (next_cursor)
        answer.headers.emplace_back("Link", link_to_next(req, *next_cursor));
    return answer;
}

std::string cell(std::optional<std::string> const& text)
{
    return csv::harmless(text.value_or(""));
}

// The SKU a page goes on after, or "".
std::string sku_cursor(query_reader& query, std::string_view list)
{
    auto last_shown = query.cursor(list).value_or("");
    if (!last_shown.empty() && sku::fault_of(last_shown))
        query.fault("cursor", "must be a next_cursor of this list");
    return last_shown;
}

void write_item(json_writer& out, reports::low_item const& item)
{
    out.begin_object();
    out.member("sku", item.sku);
    out.member("name", item.name);
    out.member("low_stock_at", item.low_stock_at);
    out.member("on_hand", item.on_hand);
    out.member("reserved", item.reserved);
    out.member("available", item.available);
    out.end_object();
}

void write_old_hold(json_writer& out, reports::old_hold const& hold)
{
    out.begin_object();
    out.member("reservation_id", hold.id);
    out.member("created_at", hold.created_at);
    out.member("expires_at", hold.expires_at);
    out.member("customer", hold.customer);
    out.member("reference", hold.reference);
    out.member("lines", hold.lines);
    out.member("quantity", hold.quantity);
    out.end_object();
}

void write_sum(json_writer& out, reports::movement_sum const& sum)
{
    out.begin_object();
    out.member("sku", sum.sku);
    out.member("kind", sum.kind);
    out.member("reason", sum.reason);
    out.member("movements", sum.movements);
    out.key("on_hand_delta");
    out.raw(sum.on_hand_delta);
    out.key("reserved_delta");
    out.raw(sum.reserved_delta);
    out.end_object();
}

} // namespace

result<report_request<reports::low_stock_query>> parse_low_stock_query(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    auto const [format, limit] = format_and_limit(req, query);
    reports::low_stock_query parsed{.after = sku_cursor(query, low_stock_list), .limit = limit};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return report_request<reports::low_stock_query>{std::move(parsed), format};
}

result<report_request<reports::held_longest_query>> parse_held_longest_query(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    auto const [format, limit] = format_and_limit(req, query);
    reports::held_longest_query parsed{.after = query.id_cursor(held_longest_list), .limit = limit};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return report_request<reports::held_longest_query>{std::move(parsed), format};
}

result<report_request<reports::movement_query>> parse_movement_query(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    query.require("from");
    query.require("to");
    auto const since = query.instant("from");
    auto const until = query.instant("to");
    if (since && until && *since >= *until)
        query.fault("to", "must be later than from");
    if (since && until && *until - *since > reports::period_max)
        query.fault("to", "must be at most 92 days later than from");
    auto const by = query.one_of("by", grouping_words);
    auto after = sku_cursor(query, movement_sums_list);
    auto const [format, limit] = format_and_limit(req, query);
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return report_request<reports::movement_query>{
        {.since = since.value(),
         .until = until.value(),
         .by = by == "sku" ? reports::grouping::by_sku : reports::grouping::by_reason,
         .after = std::move(after),
         .limit = limit},
        format};
}

std::string to_page(reports::low_stock_page const& found)
{
    return page<reports::low_item>(
        found.shown,
        found.next ? std::optional(to_cursor(low_stock_list, *found.next)) : std::nullopt,
        write_item);
}

std::string to_page(reports::held_longest_page const& found)
{
    json_writer out;
    out.begin_object();
    write_array<reports::old_hold>(out, "data", found.shown, write_old_hold);
    out.member("next_cursor", found.next
                                  ? std::optional(to_cursor(held_longest_list, found.next->str()))
                                  : std::nullopt);
    out.member("complete", found.is_complete);
    out.end_object();
    return out.take();
}

std::string to_page(reports::movement_page const& found)
{
    return page<reports::movement_sum>(
        found.shown,
        found.next ? std::optional(to_cursor(movement_sums_list, *found.next)) : std::nullopt,
        write_sum);
}

reply report_reply(reports::low_stock_page const& found, request const& req, report_format format)
{
    if (format == report_format::json)
        return {.body = to_page(found)};
    csv::writer out;
    out.row({"sku", "name", "low_stock_at", "on_hand", "reserved", "available"});
    for (auto const& item : found.shown)
        out.row({cell(item.sku), cell(item.name), std::to_string(item.low_stock_at),
                 std::to_string(item.on_hand), std::to_string(item.reserved),
                 std::to_string(item.available)});
    return file(out.take(), req,
                found.next ? std::optional(to_cursor(low_stock_list, *found.next)) : std::nullopt);
}

reply report_reply(reports::held_longest_page const& found, request const& req,
                   report_format format)
{
    if (format == report_format::json)
        return {.body = to_page(found)};
    csv::writer out;
    out.row({"reservation_id", "created_at", "expires_at", "customer", "reference", "lines",
             "quantity"});
    for (auto const& hold : found.shown)
        out.row({hold.id.str(), to_rfc3339(hold.created_at), to_rfc3339(hold.expires_at),
                 cell(hold.customer), cell(hold.reference), std::to_string(hold.lines),
                 std::to_string(hold.quantity)});
    return file(out.take(), req,
                found.next ? std::optional(to_cursor(held_longest_list, found.next->str()))
                           : std::nullopt);
}

reply report_reply(reports::movement_page const& found, request const& req, report_format format)
{
    if (format == report_format::json)
        return {.body = to_page(found)};
    csv::writer out;
    out.row({"sku", "kind", "reason", "movements", "on_hand_delta", "reserved_delta"});
    for (auto const& sum : found.shown)
        out.row({cell(sum.sku), sum.kind, cell(sum.reason), std::to_string(sum.movements),
                 sum.on_hand_delta, sum.reserved_delta});
    return file(out.take(), req,
                found.next ? std::optional(to_cursor(movement_sums_list, *found.next))
                           : std::nullopt);
}

} // namespace holdfast::http

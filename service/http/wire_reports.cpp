// SPDX-License-Identifier: Apache-2.0
// Reports between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"
#include "stock/sku.hpp"

#include <array>
#include <utility>

namespace holdfast::http {

namespace {

constexpr std::array<std::string_view, 2> grouping_words{"reason", "sku"};

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

result<reports::low_stock_query> parse_low_stock_query(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    reports::low_stock_query parsed{.after = sku_cursor(query, low_stock_list),
                                    .limit = query.limit()};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return parsed;
}

result<reports::held_longest_query> parse_held_longest_query(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    reports::held_longest_query parsed{.after = query.id_cursor(held_longest_list),
                                       .limit = query.limit()};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return parsed;
}

result<reports::movement_query> parse_movement_query(request const& req)
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
    auto const limit = query.limit();
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return reports::movement_query{.since = since.value(),
                                   .until = until.value(),
                                   .by = by == "sku" ? reports::grouping::by_sku
                                                     : reports::grouping::by_reason,
                                   .after = std::move(after),
                                   .limit = limit};
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

} // namespace holdfast::http

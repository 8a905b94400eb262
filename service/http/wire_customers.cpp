// SPDX-License-Identifier: Apache-2.0
// Customers between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/json.hpp"
#include "service/http/request_key.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"

#include <nlohmann/json.hpp>

#include <utility>

namespace holdfast::http {

namespace {

// The customer as the path has it.
std::string customer_in_path(request const& req, invalid_members& faults)
{
    auto const& text = req.captured.at(0);
    if (auto fault = fault_of_text(text, short_text_rule))
        faults.add("/path/customer", std::move(*fault));
    return text;
}

void write(json_writer& out, blocked_customer const& b)
{
    out.begin_object();
    out.member("customer", b.customer);
    out.member("reason", b.reason);
    out.member("actor", b.actor);
    out.member("blocked_at", b.blocked_at);
    out.end_object();
}

} // namespace

result<block_command> parse_block(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    auto customer = customer_in_path(req, faults);
    object_reader body(document, "", faults);
    body.require("reason");
    auto reason = body.text("reason", reason_rule);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return block_command{std::move(customer), std::move(reason.value()), req.who.name, req.id};
}

result<std::string> parse_customer(request const& req)
{
    invalid_members faults;
    auto customer = customer_in_path(req, faults);
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return customer;
}

result<blocked_filter> parse_blocked_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    blocked_filter filter{.after = query.cursor(blocked_list).value_or(""), .limit = query.limit()};
    if (!filter.after.empty() && fault_of_text(filter.after, short_text_rule))
        query.fault("cursor", "must be a next_cursor of this list");
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

std::string to_json(blocked_customer const& b)
{
    json_writer out;
    write(out, b);
    return out.take();
}

std::string to_page(std::span<blocked_customer const> found, std::size_t limit)
{
    return page(
        found, limit, [](json_writer& out, blocked_customer const& b) { write(out, b); },
        [](blocked_customer const& last) { return to_cursor(blocked_list, last.customer); });
}

} // namespace holdfast::http

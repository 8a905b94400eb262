// SPDX-License-Identifier: Apache-2.0
// The fast path between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/json.hpp"
#include "service/http/request_key.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::http {

namespace {

constexpr std::array<std::string_view, 2> modes{"durable", "async"};
constexpr integer_rule buckets_rule{1, 64};

// What the loss of Redis can cost, by what it is set to.
std::string_view risk_of(std::string_view appendfsync)
{
    if (appendfsync == "always")
        return "what a server had that is lost with its disk";
    if (appendfsync == "everysec")
        return "what was accepted in the last second or two before Redis is lost";
    if (appendfsync == "no")
        return "what the system had not written to disk when Redis is lost";
    if (appendfsync == "off")
        return "all that is in the queue when Redis is lost";
    return "not known: Redis does not let CONFIG GET be asked";
}

void write_queue(json_writer& out, fast_path::standing const& s)
{
    out.key("queue");
    if (!s.is_async) {
        out.null();
        return;
    }
    out.begin_object();
    out.member("length", s.queue_length);
    out.member("appendfsync", std::string_view(s.appendfsync));
    out.member("may_be_lost", risk_of(s.appendfsync));
    out.end_object();
}

void write_members(json_writer& out, fast_path::standing const& s)
{
    out.member("mode", modes.at(s.is_async ? 1 : 0));
    out.member("buckets", s.buckets);
    out.member("epoch", s.epoch == 0 ? std::nullopt : std::optional(s.epoch));
    out.member("available", s.is_live ? std::optional(s.available) : std::nullopt);
}

void write(json_writer& out, fast_path::standing const& s)
{
    out.begin_object();
    out.member("sku", s.sku);
    write_members(out, s);
    out.member("held", s.is_live ? std::optional(s.held) : std::nullopt);
    out.member("state", s.is_live ? "live" : s.is_stopped ? "stopped" : "loading");
    write_queue(out, s);
    out.end_object();
}

// Nothing when it is about the whole item.
std::optional<std::string> location_of(std::string const& location)
{
    return location.empty() ? std::nullopt : std::optional(location);
}

void write(json_writer& out, fast_path::past_finding const& f)
{
    out.begin_object();
    out.member("id", std::to_string(f.id));
    out.member("sku", f.sku);
    out.member("location", location_of(f.location));
    out.member("kind", f.kind);
    out.member("expected", f.expected);
    out.member("found", f.found);
    out.member("cause", f.cause);
    out.member("repaired", f.is_repaired);
    out.member("at", f.at);
    out.end_object();
}

// A request that is not a reservation yet, or never will be.
void write_members(json_writer& out, fast_path::queued_request const& r, std::string_view state)
{
    out.member("id", r.id);
    out.member("state", state);
    out.key("lines");
    out.begin_array();
    for (auto const& line : r.command.lines) {
        out.begin_object();
        out.member("sku", line.at.sku);
        out.member("location", line.at.location);
        out.member("quantity", line.quantity);
        out.member("confirmed", 0);
        out.member("returned", 0);
        out.end_object();
    }
    out.end_array();
    out.member("customer", r.command.customer);
    out.member("reference", r.command.reference);
    out.member("created_at", r.accepted_at);
    out.member("expires_at", std::optional<timestamp>());
    out.key("metadata");
    out.raw(r.command.metadata);
}

} // namespace

result<fast_path_request> parse_fast_path(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    auto const mode = body.one_of("mode", modes);
    auto const buckets = body.integer("buckets", buckets_rule);
    body.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto name, parse_sku(req));
    return fast_path_request{std::move(name), mode == modes.back(),
                             static_cast<int>(buckets.value_or(1))};
}

result<bool> parse_reconciliation(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    auto const repair = body.boolean("repair");
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return repair.value_or(false);
}

result<fast_path::drift_filter> parse_drift_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    fast_path::drift_filter filter{.sku = query.text("sku", &sku::fault_of),
                                   .before = query.number_cursor(drift_list),
                                   .limit = query.limit()};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

void write_fast_path(json_writer& out, std::optional<fast_path::standing> const& s)
{
    out.key("fast_path");
    if (!s) {
        out.null();
        return;
    }
    out.begin_object();
    write_members(out, *s);
    out.end_object();
}

std::string to_json(fast_path::standing const& s)
{
    json_writer out;
    write(out, s);
    return out.take();
}

std::string to_json(std::span<fast_path::standing const> all)
{
    json_writer out;
    out.begin_object();
    out.key("data");
    out.begin_array();
    for (auto const& each : all)
        write(out, each);
    out.end_array();
    out.end_object();
    return out.take();
}

std::string to_json(fast_path::queued_request const& r)
{
    json_writer out;
    out.begin_object();
    write_members(out, r, "pending");
    out.member("note", "Accepted by Redis, not committed yet: read it until it is held. It may be "
                       "refused, or lost together with Redis.");
    out.end_object();
    return out.take();
}

std::string to_json(fast_path::unfulfilled const& what)
{
    json_writer out;
    out.begin_object();
    if (what.request) {
        write_members(out, *what.request, "refused");
    } else {
        out.member("id", what.id);
        out.member("state", "refused");
    }
    out.member("code", std::string_view(what.code));
    out.member("detail", std::string_view(what.detail));
    out.member("refused_at", what.refused_at);
    out.end_object();
    return out.take();
}

std::string to_json(fast_path::inspection const& seen)
{
    json_writer out;
    out.begin_object();
    out.key("differences");
    out.begin_array();
    for (auto const& each : seen.findings) {
        out.begin_object();
        out.member("sku", each.sku);
        out.member("location", location_of(each.location));
        out.member("kind", each.kind);
        out.member("expected", each.expected);
        out.member("found", each.found);
        out.member("cause", each.cause);
        out.end_object();
    }
    out.end_array();
    out.member("repaired", seen.repaired);
    out.end_object();
    return out.take();
}

std::string to_page(std::span<fast_path::past_finding const> found, std::size_t limit)
{
    auto const write_one = [](json_writer& out, fast_path::past_finding const& f) {
        write(out, f);
    };
    return page(found, limit, write_one, [](fast_path::past_finding const& last) {
        return to_cursor(drift_list, std::to_string(last.id));
    });
}

} // namespace holdfast::http

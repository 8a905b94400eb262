// SPDX-License-Identifier: Apache-2.0
// Events and webhooks between messages and use cases.
#include "service/event_json.hpp"
#include "service/http/body_reader.hpp"
#include "service/http/json.hpp"
#include "service/http/path_id.hpp"
#include "service/http/request_key.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

namespace holdfast::http {

namespace {

constexpr text_rule place_rule{.length_max = 200, .length_min = 0};
constexpr text_rule types_rule{.length_max = 500};
constexpr text_rule description_rule{.length_max = 500, .length_min = 0};

constexpr std::array<std::string_view, 3> delivery_states{"pending", "delivered", "dead"};
constexpr std::array<std::string_view, 2> webhook_states{"active", "paused"};

constexpr units keep_former_default = 86'400; // seconds
constexpr units keep_former_max = 604'800;

event_query read_event_query(query_reader& query, std::optional<std::string> const& after)
{
    event_query read{.filter = {}, .after = event_place()};
    if (auto name = query.text("sku", &sku::fault_of))
        read.filter.sku = sku(std::move(*name));
    if (auto const names = query.text("type", types_rule)) {
        auto types = parse_event_types(*names);
        if (!types)
            query.fault("type", fmt::format("must be one or more of {}, parted by commas",
                                            fmt::join(event_type_names, " ")));
        read.filter.types = std::move(types).value_or(std::vector<event_type>());
    }
    if (after == "now")
        read.after.reset();
    else if (after && !after->empty()) {
        read.after = parse_event_place(*after);
        if (!read.after)
            query.fault("after", "must be a next_after, the id of an event, or now");
    }
    return read;
}

result<uuid> webhook_in_path(request const& req)
{
    return id_in_path(req,
                      {.code = errc::not_found, .detail = "There is no webhook with this id."});
}

std::optional<std::vector<event_type>> read_type_names(object_reader& body)
{
    auto const names = body.words_or_null("types", event_type_names);
    if (!names)
        return std::nullopt;
    std::vector<event_type> types;
    for (auto const& name : *names)
        types.push_back(parse_event_type(name).value());
    return types;
}

void write(json_writer& out, webhook const& w)
{
    out.begin_object();
    out.member("id", w.id);
    out.member("url", w.settings.url);
    out.key("types");
    if (w.settings.types) {
        out.begin_array();
        for (auto const type : *w.settings.types)
            out.value(to_string(type));
        out.end_array();
    } else {
        out.null();
    }
    out.member("sku_prefix", w.settings.sku_prefix);
    out.member("description", w.settings.description);
    out.member("state", w.state);
    out.member("disabled_reason", w.disabled_reason);
    out.member("created_at", w.created_at);
    if (w.secret)
        out.member("secret", *w.secret);
    out.end_object();
}

void write(json_writer& out, webhook_delivery const& d)
{
    out.begin_object();
    out.member("id", d.event_id);
    out.member("event_type", d.event_type);
    out.member("sku", d.sku);
    out.member("state", d.state);
    out.member("attempts", d.attempts);
    out.member("next_attempt_at", d.next_attempt_at);
    out.member("last_attempt_at", d.last_attempt_at);
    out.member("last_status", d.last_status);
    out.member("last_fault", d.last_fault);
    out.member("created_at", d.created_at);
    out.member("settled_at", d.settled_at);
    out.end_object();
}

// For lists of any of the above.
constexpr auto write_one = [](json_writer& out, auto const& one) { write(out, one); };

} // namespace

result<event_query> parse_event_query(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    auto read = read_event_query(query, query.text("after", place_rule));
    read.limit = query.limit();
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return read;
}

result<event_query> parse_stream_query(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    auto after = query.text("after", place_rule);
    // A client that connects again sends where it was, whatever the address says.
    if (auto const last = req.header("last-event-id"); last && !last->empty())
        after = std::string(*last);
    auto read = read_event_query(query, after);
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return read;
}

result<webhook_settings> parse_webhook(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("url");
    auto url = body.text("url", &fault_of_url);
    webhook_settings settings{
        .url = {},
        .types = read_type_names(body),
        .sku_prefix = body.text_or_null("sku_prefix", &fault_of_sku_prefix),
        .description = body.text_or_null("description", description_rule),
    };
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    settings.url = std::move(url.value());
    return settings;
}

result<uuid> parse_webhook_id(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader(document, "", faults).finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return webhook_in_path(req);
}

result<webhook_change_request> parse_webhook_change(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    webhook_change to{
        .url = body.text("url", &fault_of_url),
        .types = if_named(body, "types", read_type_names(body)),
        .sku_prefix =
            if_named(body, "sku_prefix", body.text_or_null("sku_prefix", &fault_of_sku_prefix)),
        .description =
            if_named(body, "description", body.text_or_null("description", description_rule)),
        .is_active = {},
    };
    if (auto const state = body.one_of("state", webhook_states))
        to.is_active = *state == "active";
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, webhook_in_path(req));
    return webhook_change_request{id, std::move(to)};
}

result<webhook_rotation> parse_webhook_rotation(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    auto const keep = body.integer("keep_former_seconds", {0, keep_former_max});
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, webhook_in_path(req));
    return webhook_rotation{id, std::chrono::seconds(keep.value_or(keep_former_default))};
}

result<webhook_replay> parse_webhook_replay(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("since");
    auto const since = body.instant_or_null("since");
    if (body.is_null("since"))
        body.fault("since", "must be an instant");
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, webhook_in_path(req));
    return webhook_replay{id, since.value()};
}

result<webhook_filter> parse_webhook_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    webhook_filter filter{.after = query.id_cursor(webhooks_list), .limit = query.limit()};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

result<delivery_filter> parse_delivery_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    auto const state = query.one_of("state", delivery_states);
    delivery_filter filter{.webhook = {}, .states = {}, .before = {}, .limit = query.limit()};
    if (state)
        filter.states = {*state};
    filter.before = query.number_cursor(deliveries_list);
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(filter.webhook, webhook_in_path(req));
    return filter;
}

std::string to_json(event const& e)
{
    json_writer out;
    write(out, e);
    return out.take();
}

std::string to_json(event_page const& page)
{
    json_writer out;
    out.begin_object();
    write_array<event>(out, "data", page.events, write_one);
    out.member("next_after", to_string(page.next));
    out.end_object();
    return out.take();
}

std::string to_stream(std::span<event const> events)
{
    std::string text;
    for (auto const& e : events)
        text += "id: " + e.id + "\nevent: " + std::string(to_string(e.type)) +
                "\ndata: " + to_json(e) + "\n\n";
    return text;
}

std::string to_json(webhook const& w)
{
    json_writer out;
    write(out, w);
    return out.take();
}

std::string to_json(webhook_delivery const& d)
{
    json_writer out;
    write(out, d);
    return out.take();
}

std::string to_page(std::span<webhook const> found, std::size_t limit)
{
    return page(found, limit, write_one,
                [](webhook const& last) { return to_cursor(webhooks_list, last.id.str()); });
}

std::string to_page(std::span<webhook_delivery const> found, std::size_t limit)
{
    return page(found, limit, write_one, [](webhook_delivery const& last) {
        return to_cursor(deliveries_list, std::to_string(last.id));
    });
}

} // namespace holdfast::http

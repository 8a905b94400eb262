// SPDX-License-Identifier: Apache-2.0
// Counts between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/json.hpp"
#include "service/http/path_id.hpp"
#include "service/http/request_key.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <map>
#include <utility>

namespace holdfast::http {

namespace {

result<uuid> count_in_path(request const& req)
{
    return id_in_path(req, {.code = errc::not_found, .detail = "There is no count with this id."});
}

std::optional<std::vector<sku>> to_skus(std::optional<std::vector<std::string>> texts)
{
    if (!texts)
        return std::nullopt;
    std::vector<sku> skus;
    for (auto& text : *texts)
        skus.emplace_back(std::move(text));
    return skus;
}

void write_members(json_writer& out, stock_count const& c)
{
    out.member("id", c.id);
    out.member("name", c.name);
    out.member("location", c.where);
    out.member("sku_prefix", c.sku_prefix);
    out.member("note", c.note);
    out.member("state", c.state);
    out.member("opened_by", c.opened_by);
    out.member("opened_at", c.opened_at);
    out.member("closed_by", c.closed_by);
    out.member("closed_at", c.closed_at);
    out.member("entry_count", c.entries);
    out.member("difference_count", c.differing);
}

void write_skus(json_writer& out, std::vector<sku> const& skus)
{
    out.begin_array();
    for (auto const& each : skus)
        out.value(each);
    out.end_array();
}

void write_entry(json_writer& out, count_entry const& e)
{
    out.begin_object();
    out.member("sku", e.sku);
    out.member("quantity", e.counted);
    out.member("on_hand", e.on_hand);
    out.member("difference", e.difference());
    out.member("counted_at", e.counted_at);
    out.member("actor", e.actor);
    out.member("outdated", e.is_outdated);
    out.member("version", e.version);
    out.member("on_hand_after", e.on_hand_after);
    out.member("reserved", e.reserved);
    out.member("short", e.short_by());
    write_array<concerned_hold>(out, "holds", e.holds, write_hold);
    out.end_object();
}

} // namespace

result<open_count_command> parse_open_count(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("name");
    auto name = body.text("name", short_text_rule);
    auto where = body.text("location", &location::fault_of);
    auto prefix = body.text_or_null("sku_prefix", &sku::fault_of);
    auto skus = body.texts_or_null("skus", &sku::fault_of, count_entries_max);
    if (prefix && skus)
        body.fault("skus", "must not stand beside sku_prefix");
    auto note = body.text_or_null("note", note_rule);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY(auto key, key_of(req, {"POST /v1/counts", document.dump()}, faults));
    return open_count_command{.key = std::move(key),
                              .by = staff_of(req),
                              .name = std::move(name.value()),
                              .where = where ? location(std::move(*where)) : location(),
                              .sku_prefix = std::move(prefix),
                              .skus = to_skus(std::move(skus)),
                              .note = std::move(note)};
}

result<enter_counted_command> parse_enter_counted(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("entries");
    enter_counted_command command{.key = {}, .id = {}, .actor = req.who.name, .entries = {}};
    std::map<std::string, std::size_t> seen;
    std::size_t place = 0;
    for (auto& entry : body.objects("entries", count_entries_max)) {
        entry.require("sku");
        entry.require("quantity");
        auto name = entry.text("sku", &sku::fault_of);
        auto const quantity = entry.integer_or_null("quantity", {0, level_max});
        auto const counted_at = entry.instant_or_null("counted_at");
        if (counted_at && entry.is_null("quantity"))
            entry.fault("counted_at", "only goes with a quantity");
        entry.finish();
        if (name) {
            auto const [first, is_new] = seen.emplace(*name, place);
            if (!is_new)
                entry.fault("sku", fmt::format("stands in /entries/{} already", first->second));
            command.entries.push_back({sku(std::move(*name)), quantity, counted_at});
        }
        ++place;
    }
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY(command.key,
                 key_of(req, {"PUT /v1/counts/{id}/entries", document.dump()}, faults));
    HOLDFAST_TRY(command.id, count_in_path(req));
    return command;
}

result<uuid> parse_count_id(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader(document, "", faults).finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return count_in_path(req);
}

result<count_filter> parse_count_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    count_filter filter{.only_open = query.boolean("open").value_or(false),
                        .before = query.id_cursor(counts_list),
                        .limit = query.limit()};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

std::string to_json(shown_count const& shown)
{
    json_writer out;
    out.begin_object();
    write_members(out, shown.count);
    out.key("skus");
    if (shown.skus)
        write_skus(out, *shown.skus);
    else
        out.null();
    write_array<count_entry>(out, "entries", shown.entries, write_entry);
    out.key("uncounted");
    write_skus(out, shown.uncounted);
    out.end_object();
    return out.take();
}

std::string to_json(std::vector<count_entry> const& entries)
{
    json_writer out;
    out.begin_object();
    write_array<count_entry>(out, "entries", entries, write_entry);
    out.end_object();
    return out.take();
}

std::string to_page(std::span<stock_count const> found, std::size_t limit)
{
    return page(
        found, limit,
        [](json_writer& out, stock_count const& c) {
            out.begin_object();
            write_members(out, c);
            out.end_object();
        },
        [](stock_count const& last) { return to_cursor(counts_list, last.id.str()); });
}

} // namespace holdfast::http

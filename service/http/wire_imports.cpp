// SPDX-License-Identifier: Apache-2.0
// Imports that were applied, between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/json.hpp"
#include "service/http/path_id.hpp"
#include "service/http/request_key.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string_view>

namespace holdfast::http {

namespace {

result<uuid> import_in_path(request const& req)
{
    return id_in_path(req, {.code = errc::not_found, .detail = "There is no import with this id."});
}

void write_members(json_writer& out, db::imports::row const& made)
{
    out.member("id", made.id);
    out.member("mode", made.mode);
    out.member("actor", made.actor);
    out.member("at", made.at);
    out.member("rows", made.rows);
    out.member("created", made.created);
    out.member("changed", made.changed);
    out.member("unchanged", made.unchanged);
    out.member("undone_by", made.undone_by);
    out.member("undone_at", made.undone_at);
}

void write_kept_back(json_writer& out, db::imports::kept_back const& kept)
{
    out.begin_object();
    out.member("sku", kept.sku);
    out.key("settings");
    out.begin_array();
    for (std::string_view rest = kept.settings; !rest.empty();) {
        auto const end = std::min(rest.find(' '), rest.size());
        out.value(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    out.end_array();
    out.end_object();
}

void write_superseded(json_writer& out, db::imports::moved_level const& left)
{
    out.begin_object();
    out.member("row", left.line);
    out.member("sku", left.at.sku);
    out.member("location", left.at.location);
    out.end_object();
}

} // namespace

result<uuid> parse_import_id(request const& req)
{
    HOLDFAST_TRY_VOID(parse_nothing(req));
    return import_in_path(req);
}

result<undo_command> parse_undo(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    auto const allow_short = body.boolean("allow_short").value_or(false);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, import_in_path(req));
    return undo_command{.id = id, .by = staff_of(req), .allow_short = allow_short};
}

result<import_filter> parse_import_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    import_filter filter{.before = query.id_cursor(imports_list), .limit = query.limit()};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

std::string to_json(past_import const& shown)
{
    json_writer out;
    out.begin_object();
    write_members(out, shown.made);
    write_array<db::imports::kept_back>(out, "kept_back", shown.kept_back, write_kept_back);
    write_array<db::imports::moved_level>(out, "superseded", shown.superseded, write_superseded);
    out.end_object();
    return out.take();
}

std::string to_page(std::span<db::imports::row const> found, std::size_t limit)
{
    return page(
        found, limit,
        [](json_writer& out, db::imports::row const& made) {
            out.begin_object();
            write_members(out, made);
            out.end_object();
        },
        [](db::imports::row const& last) { return to_cursor(imports_list, last.id.str()); });
}

} // namespace holdfast::http

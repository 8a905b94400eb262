// SPDX-License-Identifier: Apache-2.0
// API keys between messages and use cases.
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

void write_members(json_writer& out, api_key const& key)
{
    out.member("id", std::to_string(key.id));
    out.member("name", key.name);
    out.member("role", to_string(key.role));
    out.member("created_at", key.created_at);
    out.member("revoked_at", key.revoked_at);
}

void write(json_writer& out, api_key const& key)
{
    out.begin_object();
    write_members(out, key);
    out.end_object();
}

} // namespace

result<new_api_key> parse_new_key(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("name");
    body.require("role");
    auto name = body.text("name", api_keys::fault_of_name);
    auto const role = body.one_of("role", key_role_names);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return new_api_key{std::move(name.value()), parse_role(role.value()).value()};
}

result<std::int64_t> parse_key_id(request const& req)
{
    HOLDFAST_TRY_VOID(parse_nothing(req));
    auto const id = parse_number(req.captured.at(0));
    if (!id)
        return refusal{.code = errc::not_found, .detail = "There is no such active key."};
    return *id;
}

result<api_key_filter> parse_key_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    api_key_filter filter{.after = 0, .limit = query.limit()};
    if (auto const last_shown = query.cursor(keys_list)) {
        auto const after = parse_number(*last_shown);
        if (!after)
            query.fault("cursor", "must be a next_cursor of this list");
        filter.after = after.value_or(0);
    }
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

std::string to_json(issued_api_key const& made)
{
    json_writer out;
    out.begin_object();
    write_members(out, made.key);
    out.member("key", made.secret);
    out.end_object();
    return out.take();
}

std::string to_page(std::span<api_key const> found, std::size_t limit)
{
    return page(
        found, limit, [](json_writer& out, api_key const& key) { write(out, key); },
        [](api_key const& last) { return to_cursor(keys_list, std::to_string(last.id)); });
}

} // namespace holdfast::http

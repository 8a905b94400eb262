// SPDX-License-Identifier: Apache-2.0
// People between messages and use cases.
#include "service/http/body_reader.hpp"
#include "service/http/json.hpp"
#include "service/http/path_id.hpp"
#include "service/http/request_key.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"
#include "service/passwords.hpp"

#include <nlohmann/json.hpp>

#include <limits>
#include <utility>

namespace holdfast::http {

namespace {

// What is only compared may be a little longer than what may be set: in another Unicode form.
constexpr text_rule shown_name{.length_max = 400};
constexpr text_rule shown_password{.length_max = 800};
constexpr text_rule shown_token{.length_max = 200};

result<uuid> staff_in_path(request const& req)
{
    return id_in_path(req, {.code = errc::not_found, .detail = "There is no such account."});
}

void write(json_writer& out, staff_account const& a)
{
    out.begin_object();
    out.member("id", a.id);
    out.member("name", a.name);
    out.member("role", to_string(a.role));
    out.member("created_at", a.created_at);
    out.member("disabled_at", a.disabled_at);
    out.member("revision", a.revision);
    out.end_object();
}

std::string_view name_of(caller const& who)
{
    std::string_view name = who.name;
    if (who.staff_id)
        name.remove_prefix(staff_accounts::actor_prefix.size());
    return name;
}

} // namespace

result<sign_in_attempt> parse_sign_in(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("name");
    body.require("password");
    auto name = body.text("name", shown_name);
    auto password = body.text("password", shown_password);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return sign_in_attempt{std::move(name.value()), std::move(password.value())};
}

result<new_staff_account> parse_new_staff(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    for (auto const* const name : {"name", "role", "password"})
        body.require(name);
    auto name = body.text("name", staff_accounts::fault_of_name);
    auto const role = body.one_of("role", staff_role_names);
    auto password = body.text("password", fault_of_password);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return new_staff_account{std::move(name.value()), parse_role(role.value()).value(),
                             std::move(password.value())};
}

result<staff_redemption> parse_redemption(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("token");
    body.require("password");
    auto token = body.text("token", shown_token);
    auto name = body.text("name", staff_accounts::fault_of_name);
    auto password = body.text("password", fault_of_password);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return staff_redemption{std::move(token.value()), std::move(name), std::move(password.value())};
}

result<uuid> parse_staff_id(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader(document, "", faults).finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return staff_in_path(req);
}

result<staff_change> parse_staff_change(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    auto const role = body.one_of("role", staff_role_names);
    auto const is_disabled = body.boolean("disabled");
    auto const revision = body.integer("expect_revision", {1, std::numeric_limits<units>::max()});
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, staff_in_path(req));
    return staff_change{id, role ? parse_role(*role) : std::nullopt, is_disabled, revision};
}

result<password_change> parse_password_change(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("password");
    auto password = body.text("password", fault_of_password);
    auto current = body.text("current_password", shown_password);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, staff_in_path(req));
    return password_change{id, std::move(password.value()), std::move(current)};
}

result<staff_filter> parse_staff_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    staff_filter filter{.after = query.id_cursor(staff_list).value_or(uuid()),
                        .limit = query.limit()};
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

std::string to_json(staff_account const& a)
{
    json_writer out;
    write(out, a);
    return out.take();
}

std::string to_json(staff_link_made const& made)
{
    json_writer out;
    out.begin_object();
    out.member("token", made.token);
    out.member("expires_at", made.expires_at);
    out.end_object();
    return out.take();
}

std::string to_json(caller const& who, std::optional<std::string> const& csrf_token)
{
    json_writer out;
    out.begin_object();
    out.member("name", name_of(who));
    out.member("actor", who.name);
    out.member("role", to_string(who.role));
    out.key("rights");
    out.begin_array();
    for (std::size_t i = 0; i < right_names.size(); ++i)
        if (may(who.role, static_cast<right>(1U << i)))
            out.value(right_names.at(i));
    out.end_array();
    out.member("staff_id", who.staff_id);
    out.member("csrf_token", csrf_token);
    out.end_object();
    return out.take();
}

std::string to_page(std::span<staff_account const> found, std::size_t limit)
{
    return page(
        found, limit, [](json_writer& out, staff_account const& a) { write(out, a); },
        [](staff_account const& last) { return to_cursor(staff_list, last.id.str()); });
}

} // namespace holdfast::http

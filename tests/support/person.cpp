// SPDX-License-Identifier: Apache-2.0
#include "tests/support/person.hpp"

#include "tests/cli/command.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast::test {

namespace {

void add_missing(http_request& to, std::string const& name, std::string const& value)
{
    auto const is_there =
        std::ranges::any_of(to.headers, [&](auto const& field) { return field.first == name; });
    if (!is_there && !value.empty())
        to.headers.emplace_back(name, value);
}

} // namespace

http_response person::sign_in(std::string_view name, std::string_view password)
{
    auto const answer =
        http_.send({.method = "POST",
                    .target = "/v1/session",
                    .body = nlohmann::json{{"name", name}, {"password", password}}.dump()});
    if (answer.status != 204)
        return answer;
    for (auto const& [field, value] : answer.headers) {
        auto const pair = value.substr(0, value.find(';'));
        if (pair.starts_with("holdfast_session="))
            cookie_ = pair;
        if (pair.starts_with("holdfast_browser="))
            browser_cookie_ = pair;
    }
    csrf_token_ = get("/v1/session").json().at("csrf_token").get<std::string>();
    return answer;
}

http_response person::send(http_request request)
{
    add_missing(request, "Cookie", cookie_);
    if (request.method != "GET") {
        add_missing(request, "X-CSRF-Token", csrf_token_);
        add_missing(request, "Sec-Fetch-Site", "same-origin");
    }
    return http_.send(request);
}

http_response person::call(std::string const& method, std::string const& target,
                           nlohmann::json const& body)
{
    return send({.method = method, .target = target, .body = body.is_null() ? "" : body.dump()});
}

std::string id_of(person& who)
{
    return who.get("/v1/session").json().at("staff_id").get<std::string>();
}

std::string invite(std::string const& database_url, std::string_view role, std::string_view name)
{
    auto const made = run_holdfast(
        {.arguments = {"staff", "invite", "--role", std::string(role), "--name", std::string(name)},
         .environment = {{"HOLDFAST_DATABASE_URL", database_url}}});
    constexpr std::string_view mark = "/admin/#first=";
    auto const at = made.out.find(mark);
    if (made.status != 0 || at == std::string::npos)
        throw std::runtime_error("no link was made: " + made.err);
    auto const token = made.out.substr(at + mark.size());
    return token.substr(0, token.find_first_of(" \r\n"));
}

person new_person(service_process const& service, std::string const& database_url,
                  std::string_view role, std::string_view name)
{
    person made(service);
    auto const answer =
        made.call("POST", "/v1/staff/first",
                  {{"token", invite(database_url, role, name)}, {"password", good_password}});
    if (answer.status != 201 || made.sign_in(name).status != 204)
        throw std::runtime_error("nobody became staff: " + answer.body);
    return made;
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "service/http/browser.hpp"

#include "service/http/text.hpp"
#include "service/staff_sessions.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::http {

namespace {

constexpr std::string_view cookie_name = "holdfast_session";

std::string_view trimmed(std::string_view text)
{
    while (text.starts_with(' '))
        text.remove_prefix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    return text;
}

std::string cookie(std::string_view value, std::chrono::seconds age, request const& to)
{
    bool const is_tls = equal_ignoring_case(to.header("x-forwarded-proto").value_or(""), "https");
    return std::string(cookie_name) + '=' + std::string(value) +
           "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(age.count()) +
           (to.from.is_loopback && !is_tls ? "" : "; Secure");
}

// "https://shop.example:8443" is of the host "shop.example:8443". Browsers leave usual ports out of
// both.
bool is_of_host(std::string_view origin, std::string_view host)
{
    constexpr std::string_view mark = "://";
    auto const scheme = origin.find(mark);
    return scheme != std::string_view::npos && !host.empty() &&
           equal_ignoring_case(origin.substr(scheme + mark.size()), host);
}

} // namespace

std::optional<std::string_view> session_token(request const& r)
{
    auto left = r.header("cookie").value_or("");
    while (!left.empty()) {
        auto const end = std::min(left.find(';'), left.size());
        auto const pair = trimmed(left.substr(0, end));
        left.remove_prefix(std::min(end + 1, left.size()));
        if (pair.starts_with(cookie_name) && pair.substr(cookie_name.size()).starts_with('='))
            return pair.substr(cookie_name.size() + 1);
    }
    return std::nullopt;
}

std::string session_cookie(std::string_view token, request const& to)
{
    return cookie(token, staff_sessions::lifetime, to);
}

std::string no_session_cookie(request const& to)
{
    return cookie("", std::chrono::seconds(0), to);
}

sender sender_of(request const& r)
{
    if (auto const site = r.header("sec-fetch-site"))
        return *site == "same-origin" ? sender::ours : sender::another;
    if (auto const origin = r.header("origin"))
        return is_of_host(*origin, r.header("host").value_or("")) ? sender::ours : sender::another;
    return sender::unknown;
}

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
#include "service/http/browser.hpp"

#include "service/http/text.hpp"
#include "service/staff_sessions.hpp"

#include <algorithm>
#include <chrono>

namespace holdfast::http {

namespace {

struct cookie_kind {
    std::string_view plain_name;

    // Browsers take a cookie of such a name only over TLS, for all paths and for no domain: so no
    // other host of the domain can slip one in (RFC 6265bis, section 4.1.3.2).
    std::string_view secure_name;
};

constexpr cookie_kind of_session{"holdfast_session", "__Host-holdfast_session"};
constexpr cookie_kind of_browser{"holdfast_browser", "__Host-holdfast_browser"};

// As long as browsers keep a cookie at all; it begins anew with each that is given.
constexpr auto browser_lifetime = std::chrono::hours(24 * 400);

// Whether the browser got here over TLS, or has to. One on this machine need not, and over plain
// HTTP it keeps no Secure cookie.
bool is_secure(request const& r)
{
    return !r.from.is_loopback ||
           equal_ignoring_case(r.header("x-forwarded-proto").value_or(""), "https");
}

std::string_view name_of(cookie_kind const& kind, request const& r)
{
    return is_secure(r) ? kind.secure_name : kind.plain_name;
}

std::string_view trimmed(std::string_view text)
{
    while (text.starts_with(' '))
        text.remove_prefix(1);
    while (text.ends_with(' '))
        text.remove_suffix(1);
    return text;
}

// The value of a Set-Cookie field.
std::string set_cookie(cookie_kind const& kind, std::string_view value, std::chrono::seconds age,
                       request const& to)
{
    return std::string(name_of(kind, to)) + '=' + std::string(value) +
           "; Path=/; HttpOnly; SameSite=Strict; Max-Age=" + std::to_string(age.count()) +
           (is_secure(to) ? "; Secure" : "");
}

std::optional<std::string_view> cookie_of(cookie_kind const& kind, request const& r)
{
    auto const name = name_of(kind, r);
    auto left = r.header("cookie").value_or("");
    while (!left.empty()) {
        auto const end = std::min(left.find(';'), left.size());
        auto const pair = trimmed(left.substr(0, end));
        left.remove_prefix(std::min(end + 1, left.size()));
        if (pair.starts_with(name) && pair.substr(name.size()).starts_with('='))
            return pair.substr(name.size() + 1);
    }
    return std::nullopt;
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
    return cookie_of(of_session, r);
}

std::string session_cookie(std::string_view token, request const& to)
{
    return set_cookie(of_session, token, staff_sessions::lifetime, to);
}

std::string no_session_cookie(request const& to)
{
    return set_cookie(of_session, "", std::chrono::seconds(0), to);
}

std::optional<std::string_view> browser_token(request const& r)
{
    return cookie_of(of_browser, r);
}

std::string browser_cookie(std::string_view token, request const& to)
{
    return set_cookie(of_browser, token, browser_lifetime, to);
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

// SPDX-License-Identifier: Apache-2.0
// Somebody at a browser: signs in, and sends what a page of the service would send.
#pragma once

#include "tests/support/http_client.hpp"
#include "tests/support/service_process.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

namespace holdfast::test {

// Good enough for everybody.
inline constexpr std::string_view good_password = "correct horse battery staple";

// One browser. For one thread at a time.
class person {
public:
    explicit person(service_process const& service) : http_(service.port()) {}

    // POST /v1/session; remembers the cookies when there are any.
    http_response sign_in(std::string_view name, std::string_view password = good_password);

    // With the cookie, the token against forged requests and Sec-Fetch-Site, where the request has
    // none of its own.
    http_response send(http_request request);

    http_response get(std::string const& target) { return send({.target = target}); }
    http_response call(std::string const& method, std::string const& target,
                       nlohmann::json const& body);

    [[nodiscard]] std::string const& cookie() const noexcept { return cookie_; }
    [[nodiscard]] std::string const& browser_cookie() const noexcept { return browser_cookie_; }
    [[nodiscard]] std::string const& csrf_token() const noexcept { return csrf_token_; }

private:
    http_client http_;
    std::string cookie_;         // "holdfast_session=…"
    std::string browser_cookie_; // "holdfast_browser=…"
    std::string csrf_token_;
};

// Of the account that is signed in. Throws when nobody is.
[[nodiscard]] std::string id_of(person&);

// The token of a link by `holdfast staff invite`. Throws when that fails.
[[nodiscard]] std::string invite(std::string const& database_url, std::string_view role,
                                 std::string_view name);

// Makes an account by such a link and signs in with it. Throws when that fails.
[[nodiscard]] person new_person(service_process const& service, std::string const& database_url,
                                std::string_view role, std::string_view name);

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// What a browser says by itself: its cookies, and which page sends a request.
#pragma once

#include "service/http/message.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::http {

// The token in the cookie of a session, or nothing. It points into the request. Over TLS only the
// cookie counts that came over TLS.
[[nodiscard]] std::optional<std::string_view> session_token(request const&);

// The value of a Set-Cookie field that signs in. Such a cookie goes over TLS only, unless the
// client is on this machine and no proxy says that it speaks TLS for somebody.
[[nodiscard]] std::string session_cookie(std::string_view token, request const&);

// The same that signs out.
[[nodiscard]] std::string no_session_cookie(request const&);

// The token in the cookie that says who has signed in here before, or nothing. It points into the
// request.
[[nodiscard]] std::optional<std::string_view> browser_token(request const&);

[[nodiscard]] std::string browser_cookie(std::string_view token, request const&);

// Whose page sends a request, by Sec-Fetch-Site (W3C Fetch Metadata), else by Origin.
enum class sender { ours, another, unknown };

[[nodiscard]] sender sender_of(request const&);

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// What a request shows to be let in, and whose that is at this moment.
#pragma once

#include "service/http/app.hpp"
#include "service/http/message.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace holdfast::http {

struct credentials {
    enum class kind { api_key, session };

    kind is = kind::api_key;
    std::string text;
};

// The key of "Authorization: Bearer KEY" (RFC 6750), else the token in the cookie of a session. A
// key comes first: whoever sends one means it, whatever cookies there are besides.
[[nodiscard]] std::optional<credentials> credentials_of(request const&);

// Nothing when they are good for nothing, or not any more. A session has been used by it, where
// `by` says so. Throws db::error and overloaded.
boost::asio::awaitable<std::optional<caller>> holder_of(credentials const&, app&, session_use by);

} // namespace holdfast::http

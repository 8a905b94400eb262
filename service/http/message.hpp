// SPDX-License-Identifier: Apache-2.0
// A request and its reply as handlers see them, without Beast.
#pragma once

#include "service/caller.hpp"
#include "stock/result.hpp"

#include <boost/asio/awaitable.hpp>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::http {

// Where a request comes from, as the connection tells.
struct peer {
    std::string network; // an IPv4 address, or the /64 an IPv6 address is of
    bool is_loopback = false;
};

struct request {
    std::string method;                // "GET"
    std::string target;                // path and query
    std::vector<std::string> captured; // the {parts} of the route's pattern, percent-decoded
    std::vector<std::pair<std::string, std::string>> query;   // percent-decoded, in order
    std::vector<std::pair<std::string, std::string>> headers; // names in lower case
    std::string body;
    std::string id; // X-Request-Id of the answer
    caller who;     // set before a handler runs, for routes that need a right
    peer from = {};

    // The first header of this (lower case) name, or nothing.
    [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const noexcept;
};

// The next piece of a body that has no end yet; nothing ends it.
using body_source = std::function<boost::asio::awaitable<std::optional<std::string>>()>;

struct reply {
    int status = 200;
    std::string body = {};
    std::string content_type = "application/json";
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::optional<errc> refused = {}; // why, when it is a refusal
    body_source more = {};            // what follows `body`, until the connection is closed
};

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// The table of routes: which handler answers which method and path, and which right it takes.
#pragma once

#include "service/http/app.hpp"
#include "service/http/message.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace holdfast::http {

// A handler reads: parse, call the use case on a worker, map the refusal, reply.
using handler = boost::asio::awaitable<reply> (*)(request const&, app&);

struct route {
    std::string_view method;  // a GET answers HEAD as well
    std::string_view pattern; // "/v1/stock/{sku}/movements"
    handler handle;
    std::optional<right> needs; // nothing = open to everyone
    std::size_t body_max = 1 << 20;
    std::string_view media_type = "application/json"; // of the body it takes
};

[[nodiscard]] std::span<route const> routes() noexcept;

} // namespace holdfast::http

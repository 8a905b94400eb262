// SPDX-License-Identifier: Apache-2.0
// The way of a request: find its route, let its caller in, run its handler, and turn whatever is
// thrown into the one answer that says it without saying more.
#pragma once

#include "service/http/app.hpp"
#include "service/http/message.hpp"
#include "service/http/routes.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::http {

// One request under way.
struct exchange {
    http::request request;
    route const* matched = nullptr; // nothing matched its path
    metrics::route* counted_as = nullptr;
    std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
    std::vector<std::pair<std::string, std::string>> headers = {}; // for whatever the reply will be
};

class dispatcher {
public:
    explicit dispatcher(app&);

    // Decides by the head alone, before any body is read: nothing to go on, else the refusal.
    boost::asio::awaitable<std::optional<reply>> admit(exchange&);

    // Runs the handler of an admitted request whose body has arrived.
    boost::asio::awaitable<reply> handle(exchange&);

    // Counts and logs an answer that is about to be sent, and adds the headers every answer has.
    void finish(exchange const&, reply&);

    [[nodiscard]] app& application() noexcept { return app_; }

private:
    std::optional<reply> find_route(exchange&);
    boost::asio::awaitable<std::optional<reply>> authenticate(exchange&);
    [[nodiscard]] std::optional<reply> check_page(exchange const&, std::string_view token) const;
    [[nodiscard]] std::optional<reply> check_stranger(exchange const&) const;
    [[nodiscard]] static std::optional<reply> check_right(exchange const&);
    std::optional<reply> limit_rate(exchange&);
    std::optional<reply> check_media_type(exchange const&) const;
    reply answer_fault(std::exception_ptr const&, exchange const&);

    app& app_;
    std::vector<metrics::route*> counters_; // one for each of routes(), then one for no route
};

} // namespace holdfast::http

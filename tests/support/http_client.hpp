// SPDX-License-Identifier: Apache-2.0
// A small blocking HTTP/1.1 client for tests: one kept-alive connection, a deadline for each
// exchange, and a way to send bytes no decent client would.
#pragma once

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::test {

using header_list = std::vector<std::pair<std::string, std::string>>;

struct http_request {
    std::string method = "GET";
    std::string target = "/";
    std::string body = {};
    header_list headers = {};
};

struct http_response {
    int status = 0;
    header_list headers = {};
    std::string body = {};

    // The first header of that name, in whatever case it came.
    [[nodiscard]] std::optional<std::string> header(std::string_view name) const;

    // The body as JSON. Throws, showing the answer, when it is something else.
    [[nodiscard]] nlohmann::json json() const;
};

// No answer came: the connection broke, or the deadline passed.
class connection_lost : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// One connection to a service on this machine. For one thread at a time.
class http_client {
public:
    explicit http_client(std::uint16_t port, std::string key = {},
                         std::chrono::milliseconds deadline = std::chrono::seconds(30));
    http_client(http_client&&) noexcept;
    http_client& operator=(http_client&&) noexcept;
    ~http_client();

    // Sends a request with Host, Authorization, Content-Type and Content-Length where it has none,
    // and returns the answer. Throws connection_lost; never sends anything twice by itself.
    http_response send(http_request const& request);

    // Sends bytes as they are on a new connection. Nothing when the other side just hangs up.
    std::optional<http_response> send_raw(std::string_view bytes);

    // Opens the connection now, so that a rush does not begin with handshakes.
    void connect();

private:
    using time_point = std::chrono::steady_clock::time_point;

    void close() noexcept;
    [[nodiscard]] bool is_usable() const;
    void wait_for(short events, time_point until) const;
    void write(std::string_view bytes, time_point until) const;
    bool read_more(time_point until);
    std::optional<http_response> read_response(time_point until, std::string_view method);

    std::uint16_t port_;
    std::string key_;
    std::chrono::milliseconds deadline_;
    int socket_ = -1;
    std::string received_;
};

} // namespace holdfast::test

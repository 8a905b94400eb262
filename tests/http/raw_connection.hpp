// SPDX-License-Identifier: Apache-2.0
// One TCP connection to a service for bytes that no HTTP library would send, at whatever pace a
// test likes.
#pragma once

#include "tests/support/http_client.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::test {

// The bytes of a request, with Host, and with Content-Length and the key where they make sense and
// the request has none of its own.
[[nodiscard]] std::string to_bytes(http_request const& request, std::string_view key = {});

// For one thread at a time. Every wait ends with connection_lost after the deadline.
class raw_connection {
public:
    explicit raw_connection(std::uint16_t port,
                            std::chrono::seconds deadline = std::chrono::seconds(30));
    raw_connection(raw_connection const&) = delete;
    raw_connection& operator=(raw_connection const&) = delete;
    ~raw_connection();

    // False when the service takes no more.
    bool send(std::string_view bytes);

    // Says that nothing more will come, as a client does that has gone away or is content.
    void finish_sending();

    // What an answer looks like depends on the question: one to HEAD has a length and no body.
    enum class to { get, head };

    // The next answer; nothing when the service has closed the connection instead.
    std::optional<http_response> receive(to asked = to::get);

    // Whether the service closes the connection within this time. What it says until then is kept.
    bool is_closed_within(std::chrono::milliseconds longest);

    // Whether the end came as a reset, which can destroy an answer on its way.
    [[nodiscard]] bool was_reset() const noexcept { return was_reset_; }

    // What has come and is no answer, or not a whole one.
    [[nodiscard]] std::string const& unread() const noexcept { return received_; }

private:
    void limit_waits(std::chrono::milliseconds longest) const;
    bool read_more();

    int socket_ = -1;
    std::chrono::milliseconds deadline_;
    bool is_closed_ = false;
    bool was_reset_ = false;
    std::string received_;
};

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// A small blocking HTTP/1.1 client for the commands: one keep-alive connection, a deadline on every
// step, answers bounded in size. Plain http only.

#pragma once

#include "service/cli/answer.hpp"
#include "service/cli/retry.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::cli {

// Where a service listens, as --url names it.
struct base_url {
    std::string host; // Without the brackets of an IPv6 address.
    std::uint16_t port = 80;
    std::string
        path; // What stands before /v1 behind a proxy; empty, or "/x" without a slash at the end.

    // As the Host header and messages have it: brackets around IPv6, the port unless it is 80.
    [[nodiscard]] std::string authority() const;
};

// Reads http://HOST[:PORT][/PATH]. Throws command_error with a sentence for anything else.
[[nodiscard]] base_url parse_url(std::string_view text);

// Throws command_error unless the key can stand in a header. Its text is never part of the message.
void require_api_key(std::string_view key);

struct request {
    std::string method = "GET";
    std::string target;
    std::string_view body = {}; // Belongs to the caller until send returns.
    std::string content_type = {};
    std::string idempotency_key = {};
    std::chrono::seconds deadline{60}; // For sending, and again for the answer.
    std::size_t answer_size_max = 16U << 20U;

    // Called several times a second while the request is under way; when all of the body is sent,
    // the answer is waited for.
    std::function<void(std::size_t sent)> on_progress = {};
};

// Used by one thread at a time. Connects at the first request, and again when the connection is
// gone.
class client {
public:
    // An empty key sends no Authorization header. Throws command_error when another one cannot
    // stand in it; nothing has been sent then.
    client(base_url where, std::string key);
    ~client();
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;

    // Connects now rather than at the first request. Throws no_answer: nothing has been sent then.
    void connect();

    // Throws no_answer when no whole answer came.
    [[nodiscard]] answer send(request const& wanted);

    // Sends until there is an answer that says something, waiting in between. Only for requests
    // that change nothing when they arrive twice. Gives up with the last answer, or throws
    // no_answer.
    [[nodiscard]] answer send_patiently(request const& wanted, retry_limits const& limits = {});

private:
    struct connection;

    base_url where_;
    std::string key_;
    std::unique_ptr<connection> connection_;
};

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0
// Somebody who is called by webhooks: an HTTP server on a free port that keeps what it is sent, and
// answers as well or as badly as a test wants.
#pragma once

#include "tests/support/http_client.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

struct received {
    std::string path;
    header_list headers;
    std::string body;
    std::chrono::steady_clock::time_point at;

    [[nodiscard]] std::string header(std::string_view name) const; // empty when there is none
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(body); }
    [[nodiscard]] nlohmann::json event() const { return json().at("data"); }
};

struct reaction {
    enum class kind {
        answer,
        hang_up,     // the connection is cut, without a word
        half_a_head, // it is cut in the middle of the head of the answer
        drip,        // the answer comes byte by byte and never ends
        flood,       // the answer's body is far too large
    };

    int status = 204;
    header_list headers = {};
    kind how = kind::answer;
    std::chrono::milliseconds after{0};
};

class receiver {
public:
    using judgement = std::function<reaction(received const&)>;

    explicit receiver(judgement react = [](received const&) { return reaction(); });
    receiver(receiver const&) = delete;
    receiver& operator=(receiver const&) = delete;
    ~receiver();

    [[nodiscard]] std::uint16_t port() const noexcept;
    [[nodiscard]] std::string url(std::string const& path = "/hook") const;

    // What has come so far, in the order in which it came.
    [[nodiscard]] std::vector<received> all() const;

    // Waits until so many calls have come. False after a while.
    [[nodiscard]] bool has(std::size_t count,
                           std::chrono::seconds longest = std::chrono::seconds(30)) const;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// Sends bodies to other people's addresses, many at once on one thread. Nothing of what comes back
// is trusted: time and size have an end, redirects are not followed, certificates are checked, and
// a connection is only opened to an address that may be called.
#pragma once

#include "service/address_guard.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::workers {

struct poster_options {
    std::chrono::seconds timeout{15};      // for a whole call
    std::size_t answer_bytes_max = 65'536; // read of an answer; the rest is not
    std::string ca_file = {};              // empty: what the system trusts
    std::string user_agent = "Holdfast";
};

struct call {
    std::uint64_t number = 0; // the caller's, given back with the outcome
    std::string url;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string body;
};

struct call_outcome {
    std::uint64_t number = 0;
    std::optional<int> status; // nothing when no answer came
    std::string fault;         // why not, in a sentence
    std::optional<std::chrono::seconds> retry_after;
};

// For one thread.
class poster {
public:
    // `guard` must outlive the poster.
    poster(poster_options, address_guard const& guard);
    ~poster();
    poster(poster const&) = delete;
    poster& operator=(poster const&) = delete;

    // Begins a call.
    void post(call);

    // Carries calls on, at most this long unless something ends before. Returns those that ended.
    [[nodiscard]] std::vector<call_outcome> wait(std::chrono::milliseconds longest);

    // Cuts all calls that are under way. Nothing is told of them.
    void cut_all() noexcept;

    [[nodiscard]] std::size_t under_way() const noexcept;

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace holdfast::workers

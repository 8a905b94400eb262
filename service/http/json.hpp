// SPDX-License-Identifier: Apache-2.0
// JSON as the API takes it: a strict reader.
#pragma once

#include "stock/result.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::http {

// Faults of one request that are told; more than these are only counted, so that a hostile body
// cannot have an answer many times its size.
inline constexpr std::size_t faults_listed_max = 100;

// Gathers what is wrong with a request while reading goes on.
class invalid_members {
public:
    void add(std::string pointer, std::string detail);

    [[nodiscard]] bool is_empty() const noexcept { return count_ == 0; }

    // A validation_failed that lists them. Precondition: not empty.
    [[nodiscard]] refusal to_refusal() const;

private:
    std::vector<invalid_member> listed_;
    std::size_t count_ = 0;
};

// Refusals: validation_failed, when something is wrong.
[[nodiscard]] result<void> refuse_if_any(invalid_members const&);

// How deep a body may nest, itself included.
inline constexpr std::size_t json_depth_max = 16;

// Reads one JSON text (RFC 8259) and nothing after it. Refusals: malformed_json, with the position
// and nothing of the text; validation_failed for duplicate keys (each of them), nesting deeper than
// json_depth_max, integers 64 bits cannot hold, and other numbers no double can hold.
[[nodiscard]] result<nlohmann::json> parse_json(std::string_view text);

// The same of a body that may be left out, which is as good as {}.
[[nodiscard]] result<nlohmann::json> parse_optional_json(std::string_view text);

// The pointer (RFC 6901) to a member or an element of what `parent` points to. The name of a member
// may be anything a caller sent, so a long one is cut.
[[nodiscard]] std::string pointer_to(std::string_view parent, std::string_view member);
[[nodiscard]] std::string pointer_to(std::string_view parent, std::size_t index);

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// Problem details (RFC 9457): how a refusal or a fault reaches a caller. The only place that turns
// either into an HTTP status.
#pragma once

#include "service/http/message.hpp"
#include "stock/result.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::http {

// What went wrong on our side.
enum class fault_kind { internal, overloaded, database_unavailable, outcome_unknown };

// A fault as a caller may know it: nothing of its cause.
struct fault_report {
    fault_kind kind = fault_kind::internal;
    std::string detail = {};                              // empty = the usual sentence
    std::optional<std::chrono::seconds> retry_after = {}; // empty = 1 s for all but `internal`
    std::vector<std::string> reasons = {};                // of not being ready
};

[[nodiscard]] reply problem(refusal const&, request const&);

// The same with the item as it stands, as JSON.
[[nodiscard]] reply problem(refusal const&, request const&, std::string_view item);

[[nodiscard]] reply problem(fault_report const&, request const&);

// 431: payload_too_large, of the header instead of the body, which its title says.
[[nodiscard]] reply header_too_large(std::string detail, request const&);

} // namespace holdfast::http

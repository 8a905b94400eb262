// SPDX-License-Identifier: Apache-2.0
// Instants as the API and the database write them. The database's clock is the one that decides.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

// RFC 3339 in UTC with microseconds, such as 2026-11-29T17:27:15.000042Z.
[[nodiscard]] std::string to_rfc3339(timestamp);

// Reads RFC 3339 (section 5.6) in UTC ("Z" or "+00:00"), 0 to 6 digits of a second, years
// 1970-9999.
[[nodiscard]] std::optional<timestamp> parse_rfc3339(std::string_view) noexcept;

} // namespace holdfast

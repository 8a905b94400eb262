// SPDX-License-Identifier: Apache-2.0
// What stands in the head of a request: addresses, queries, the cursors of
// lists, and idempotency keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::http {

// Compares ASCII text as HTTP compares schemes and media types.
[[nodiscard]] bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept;

// Path and query of a target that is a whole address, such as "http://shop.example/livez", as a
// client sends one to a proxy (RFC 9112, section 3.2.2). Nothing when it is no such address.
[[nodiscard]] std::optional<std::string> origin_form(std::string_view absolute_form);

// The present second as a Date field has it (RFC 9110, section 5.6.7).
[[nodiscard]] std::string const& http_date();

using query_parameters = std::vector<std::pair<std::string, std::string>>;

// Reads what follows the ? of a target, in order, decoded. A + is a blank, as browsers and HTTP
// libraries write one; a plus sign is %2B. Nothing when a % is not followed by two digits.
[[nodiscard]] std::optional<query_parameters> parse_query(std::string_view text);

// The lists that have cursors.
inline constexpr std::string_view reservations_list = "r";
inline constexpr std::string_view items_list = "i";
inline constexpr std::string_view movements_list = "m";
inline constexpr std::string_view webhooks_list = "w";
inline constexpr std::string_view deliveries_list = "d";
inline constexpr std::string_view drift_list = "x";
inline constexpr std::string_view blocked_list = "b";
inline constexpr std::string_view trail_list = "t";
inline constexpr std::string_view staff_list = "s";
inline constexpr std::string_view keys_list = "k";
inline constexpr std::string_view counts_list = "c";
inline constexpr std::string_view imports_list = "p";
inline constexpr std::string_view low_stock_list = "l";
inline constexpr std::string_view held_longest_list = "h";
inline constexpr std::string_view movement_sums_list = "u";

// An opaque cursor that says where the next page of a list begins. Cursors of one list mean nothing
// to another: `list` is its name.
[[nodiscard]] std::string to_cursor(std::string_view list, std::string_view last_shown);

// What `last_shown` was; nothing when it is not a cursor of this list.
[[nodiscard]] std::optional<std::string> from_cursor(std::string_view list,
                                                     std::string_view cursor);

// A number as one of our ids is: above 0, and nothing beside it.
[[nodiscard]] std::optional<std::int64_t> parse_number(std::string_view text);

// The key in an Idempotency-Key field: 1-255 printable ASCII characters, bare or as a quoted string
// (RFC 8941, section 3.3.3), which means the same. Nothing when it is neither.
[[nodiscard]] std::optional<std::string> parse_idempotency_key(std::string_view field);

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// The line of customers before an item that is sold with tokens, as Redis keeps it. What the
// scripts mean stands in redis/scripts/line.lua and spend.lua.
#pragma once

#include "redis/client.hpp"
#include "service/tokens.hpp"

#include <chrono>
#include <cstdint>
#include <string_view>
#include <variant>

namespace holdfast::fast_path {

struct line_rules {
    std::int64_t pool = 100; // tokens that may be out
    std::chrono::seconds ttl{300};
};

struct place_in_line {
    std::int64_t place = 0; // 1: next
    std::int64_t waiting = 0;
};

struct line_is_full {};

// What came of asking.
using turn = std::variant<token, place_in_line, line_is_full>;

// `fresh` is the id of the token he gets if he has none yet.
[[nodiscard]] redis::request stand_in_line(std::string_view prefix, token_bearer const&,
                                           line_rules const&, uuid const& fresh);

// Throws redis::error.
[[nodiscard]] turn read_turn(redis::reply const&);

// Makes room for the next one.
[[nodiscard]] redis::request spend(std::string_view prefix, token_bearer const&, uuid const& used);

} // namespace holdfast::fast_path

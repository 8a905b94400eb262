// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/line.hpp"

#include "redis/error.hpp"
#include "redis/script.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace holdfast::fast_path {

namespace {

// Grows when what stands in the keys changes, so that two releases can run side by side.
constexpr int layout = 1;

// In the order of line.lua.
enum class verdict_of_line { granted = 1, waiting, full };

// They share a hash tag, so one script may use them all. They begin otherwise than a bucket's:
// those can be deleted at any time, and these cost places.
struct keys {
    std::string waiting;
    std::string asked;
    std::string granted;
    std::string tokens;
};

keys keys_of(std::string_view prefix, sku const& of)
{
    auto const place =
        fmt::format("{}:line:{}:{{{}}}:", prefix, layout, to_hex(fingerprint(of.str())));
    return {place + "waiting", place + "asked", place + "granted", place + "tokens"};
}

} // namespace

redis::request stand_in_line(std::string_view prefix, token_bearer const& who,
                             line_rules const& rules, uuid const& fresh)
{
    auto const k = keys_of(prefix, who.sku);
    auto const ttl = std::chrono::milliseconds(rules.ttl);
    return {k.waiting, redis::call("line", std::array{k.waiting, k.asked, k.granted, k.tokens},
                                   std::array{who.customer, std::to_string(rules.pool),
                                              std::to_string(ttl.count()), fresh.str()})};
}

turn read_turn(redis::reply const& got)
{
    auto const& parts = got.parts();
    if (parts.empty())
        throw redis::error("a line without a verdict");
    switch (static_cast<verdict_of_line>(parts.front().number())) {
    case verdict_of_line::granted: {
        auto const id = uuid::parse(parts.at(1).text());
        if (!id)
            throw redis::error("a token without an id");
        return token{*id, timestamp(std::chrono::milliseconds(parts.at(2).number()))};
    }
    case verdict_of_line::waiting: return place_in_line{parts.at(1).number(), parts.at(2).number()};
    case verdict_of_line::full: break;
    }
    return line_is_full{};
}

redis::request spend(std::string_view prefix, token_bearer const& who, uuid const& used)
{
    auto const k = keys_of(prefix, who.sku);
    return {k.granted, redis::call("spend", std::array{k.granted, k.tokens},
                                   std::array{who.customer, used.str()})};
}

} // namespace holdfast::fast_path

// SPDX-License-Identifier: Apache-2.0
#include "stock/sku.hpp"

#include "stock/text.hpp"

#include <utf8proc.h>

#include <algorithm>

namespace holdfast {

namespace {

constexpr std::size_t sku_length_max = 100;
constexpr std::size_t location_length_max = 50;

// Text of printable ASCII is valid in every way; most SKUs are, and they need no tables.
bool is_plain(std::string_view text)
{
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

utf8proc_category_t category_of(char32_t c)
{
    return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_white_space(char32_t c)
{
    auto const category = category_of(c);
    return category == UTF8PROC_CATEGORY_ZS || category == UTF8PROC_CATEGORY_ZL ||
           category == UTF8PROC_CATEGORY_ZP;
}

} // namespace

std::optional<std::string> fault_of_text(std::string_view text, std::size_t length_max)
{
    std::size_t length = is_plain(text) ? text.size() : 0;
    for (auto rest = is_plain(text) ? std::string_view() : text; !rest.empty(); ++length) {
        auto const c = next_character(rest);
        if (!c)
            return "must be valid UTF-8";
        if (category_of(*c) == UTF8PROC_CATEGORY_CC)
            return "must not contain control characters";
    }
    if (length > length_max)
        return "must have at most " + std::to_string(length_max) + " characters";
    return std::nullopt;
}

std::uint16_t hint_of(sku const& of) noexcept
{
    // FNV-1a, 64 bits: http://www.isthe.com/chongo/tech/comp/fnv/
    std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
    for (auto const c : of.str()) {
        hash ^= static_cast<std::uint8_t>(c);
        hash *= 0x0000'0100'0000'01b3;
    }
    return static_cast<std::uint16_t>((hash ^ hash >> 12 ^ hash >> 36) & 0x0fff);
}

std::optional<std::string> sku::fault_of(std::string_view text)
{
    if (text.empty())
        return "must not be empty";
    if (auto fault = fault_of_text(text, sku_length_max))
        return fault;
    if (is_plain(text) && text.front() != ' ' && text.back() != ' ')
        return std::nullopt;

    auto rest = text;
    auto first = next_character(rest);
    auto last = first;
    while (!rest.empty())
        last = next_character(rest);
    if (is_white_space(*first) || is_white_space(*last))
        return "must not begin or end with white space";
    if (to_nfc(text) != text)
        return "must be in Unicode normalisation form C (NFC)";
    return std::nullopt;
}

std::optional<std::string> location::fault_of(std::string_view text)
{
    auto const is_allowed = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    };
    if (text.empty() || text.size() > location_length_max)
        return "must have 1 to 50 characters";
    for (auto const c : text)
        if (!is_allowed(c))
            return "may contain only a-z, 0-9, _ and -";
    return std::nullopt;
}

} // namespace holdfast

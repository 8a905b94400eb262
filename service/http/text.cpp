// SPDX-License-Identifier: Apache-2.0
#include "service/http/text.hpp"

#include "service/secrets.hpp"
#include "stock/percent.hpp"

#include <fmt/chrono.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>

namespace holdfast::http {

namespace {

// Grows when what stands in a cursor changes, so that an old one is refused and not misread.
constexpr std::string_view cursor_version = "1";

constexpr std::size_t idempotency_key_length_max = 255;

std::optional<std::string> form_decoded(std::string_view text)
{
    std::string spaced(text);
    std::ranges::replace(spaced, '+', ' ');
    return percent_decoded(spaced);
}

std::string base64url(std::string_view text)
{
    return to_base64url(std::span(reinterpret_cast<std::uint8_t const*>(text.data()), text.size()));
}

std::optional<std::string> base64url_decoded(std::string_view text)
{
    constexpr std::string_view alphabet =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string decoded;
    unsigned bits = 0;
    int bit_count = 0;
    for (char const c : text) {
        auto const value = alphabet.find(c);
        if (value == std::string_view::npos)
            return std::nullopt;
        bits = (bits << 6 | static_cast<unsigned>(value)) & 0xFFFFU;
        bit_count += 6;
        if (bit_count < 8)
            continue;
        bit_count -= 8;
        decoded += static_cast<char>(bits >> bit_count & 0xFFU);
    }
    // Leftover bits and characters would let one value be written in several ways.
    if (base64url(decoded) != text)
        return std::nullopt;
    return decoded;
}

// Precondition: it begins with a quote. Nothing when it is no quoted string and nothing else.
std::optional<std::string> unquoted(std::string_view field)
{
    std::string text;
    for (std::size_t i = 1; i < field.size(); ++i) {
        if (field[i] == '"')
            return i + 1 == field.size() ? std::optional(std::move(text)) : std::nullopt;
        if (field[i] == '\\') {
            ++i;
            if (i == field.size() || (field[i] != '"' && field[i] != '\\'))
                return std::nullopt;
        }
        text += field[i];
    }
    return std::nullopt;
}

std::string cursor_prefix(std::string_view list)
{
    return std::string(cursor_version) + std::string(list) + ':';
}

} // namespace

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept
{
    auto const lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                              [&](char x, char y) { return lower(x) == lower(y); });
}

std::optional<std::string> origin_form(std::string_view absolute_form)
{
    constexpr std::string_view separator = "://";
    auto const scheme = absolute_form.substr(0, absolute_form.find(separator));
    if (!equal_ignoring_case(scheme, "http") && !equal_ignoring_case(scheme, "https"))
        return std::nullopt;

    auto rest =
        absolute_form.substr(std::min(scheme.size() + separator.size(), absolute_form.size()));
    auto const authority = rest.substr(0, rest.find_first_of("/?#"));
    // A host is required, and a password has no business here (RFC 9110, section 4.2).
    if (authority.empty() || authority.front() == ':' ||
        authority.find('@') != std::string_view::npos)
        return std::nullopt;
    rest.remove_prefix(authority.size());
    return (rest.starts_with('/') ? "" : "/") + std::string(rest);
}

std::optional<query_parameters> parse_query(std::string_view text)
{
    query_parameters parameters;
    while (!text.empty()) {
        auto const end = std::min(text.find('&'), text.size());
        auto const piece = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (piece.empty())
            continue;

        auto const equals = std::min(piece.find('='), piece.size());
        auto name = form_decoded(piece.substr(0, equals));
        auto value = form_decoded(piece.substr(std::min(equals + 1, piece.size())));
        if (!name || !value)
            return std::nullopt;
        parameters.emplace_back(std::move(*name), std::move(*value));
    }
    return parameters;
}

std::string const& http_date()
{
    thread_local std::time_t second = 0;
    thread_local std::string text;
    auto const now = std::time(nullptr);
    if (now != second || text.empty()) {
        text = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(now));
        second = now;
    }
    return text;
}

std::string to_cursor(std::string_view list, std::string_view last_shown)
{
    return base64url(cursor_prefix(list) + std::string(last_shown));
}

std::optional<std::string> from_cursor(std::string_view list, std::string_view cursor)
{
    auto decoded = base64url_decoded(cursor);
    auto const prefix = cursor_prefix(list);
    if (!decoded || !decoded->starts_with(prefix))
        return std::nullopt;
    return decoded->substr(prefix.size());
}

std::optional<std::int64_t> parse_number(std::string_view text)
{
    std::int64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, fault] = std::from_chars(text.data(), end, number);
    if (fault != std::errc() || stop != end || number < 1)
        return std::nullopt;
    return number;
}

std::optional<std::string> parse_idempotency_key(std::string_view field)
{
    auto key = field.starts_with('"') ? unquoted(field) : std::string(field);
    auto const is_printable = [](char c) { return c >= 0x20 && c <= 0x7E; };
    if (!key || key->empty() || key->size() > idempotency_key_length_max ||
        !std::ranges::all_of(*key, is_printable))
        return std::nullopt;
    return key;
}

} // namespace holdfast::http

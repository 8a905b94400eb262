// SPDX-License-Identifier: Apache-2.0
#include "db/value.hpp"

#include "stock/hex_digit.hpp"

#include <charconv>
#include <stdexcept>

namespace holdfast::db {

namespace {

int hex_digit(char c)
{
    auto const value = value_of_hex_digit(c);
    if (value < 0)
        throw std::runtime_error("not a hexadecimal digit in a bytea");
    return value;
}

} // namespace

std::string to_text(std::span<std::uint8_t const> bytes)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text = "\\x";
    text.reserve(2 + 2 * bytes.size());
    for (auto const byte : bytes) {
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

void append_element(std::string& literal, std::string_view element)
{
    literal += '"';
    for (auto const c : element) {
        if (c == '"' || c == '\\')
            literal += '\\';
        literal += c;
    }
    literal += '"';
}

std::int64_t from_text<std::int64_t>::read(std::string_view v)
{
    std::int64_t number = 0;
    auto const [end, problem] = std::from_chars(v.data(), v.data() + v.size(), number);
    if (problem != std::errc() || end != v.data() + v.size())
        throw std::runtime_error("not a whole number in a row");
    return number;
}

uuid from_text<uuid>::read(std::string_view v)
{
    if (auto const id = uuid::parse(v))
        return *id;
    throw std::runtime_error("not a UUID in a row");
}

timestamp from_text<timestamp>::read(std::string_view v)
{
    if (auto const at = parse_rfc3339(v))
        return *at;
    throw std::runtime_error("not an instant in UTC in a row");
}

void read_bytes(std::string_view v, std::span<std::uint8_t> to)
{
    if (v.size() != 2 + 2 * to.size() || !v.starts_with("\\x"))
        throw std::runtime_error("not as many bytes in a row as expected");
    for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = static_cast<std::uint8_t>(hex_digit(v[2 + 2 * i]) << 4 | hex_digit(v[3 + 2 * i]));
}

} // namespace holdfast::db

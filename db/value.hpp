// SPDX-License-Identifier: Apache-2.0
// How C++ values travel: as text to a parameter, from text in a row. Arrays go as one literal, so
// that a statement takes any number of rows in one round trip.
#pragma once

#include "stock/clock.hpp"
#include "stock/sku.hpp"
#include "stock/uuid.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace holdfast::db {

// A parameter's text; nothing stands for NULL.
using parameter = std::optional<std::string>;

[[nodiscard]] inline std::string to_text(std::string_view v)
{
    return std::string(v);
}
[[nodiscard]] inline std::string to_text(std::string const& v)
{
    return v;
}
[[nodiscard]] inline std::string to_text(char const* v)
{
    return v;
}
[[nodiscard]] inline std::string to_text(bool v)
{
    return v ? "t" : "f";
}
[[nodiscard]] inline std::string to_text(uuid const& v)
{
    return v.str();
}
[[nodiscard]] inline std::string to_text(sku const& v)
{
    return v.str();
}
[[nodiscard]] inline std::string to_text(location const& v)
{
    return v.str();
}
[[nodiscard]] inline std::string to_text(timestamp v)
{
    return to_rfc3339(v);
}
[[nodiscard]] std::string to_text(std::span<std::uint8_t const> bytes); // bytea, hex format

template <class Integer>
    requires std::is_integral_v<Integer> &&(!std::is_same_v<Integer, bool>)
        [[nodiscard]] std::string to_text(Integer v)
    {
        return std::to_string(v);
    }

    template <std::size_t N>
    [[nodiscard]] std::string to_text(std::array<std::uint8_t, N> const& v)
    {
        return to_text(std::span<std::uint8_t const>(v));
    }

    // Appends one element to an array literal under way, quoted so that any text survives.
    void append_element(std::string& literal, std::string_view element);

    template <class T>
    [[nodiscard]] parameter to_parameter(T const& v)
    {
        return to_text(v);
    }

    template <class T>
    [[nodiscard]] parameter to_parameter(std::optional<T> const& v)
    {
        if (!v)
            return std::nullopt;
        return to_text(*v);
    }

    template <class T>
    [[nodiscard]] parameter to_parameter(std::vector<T> const& values)
    {
        std::string literal = "{";
        for (auto const& v : values) {
            if (literal.size() > 1)
                literal += ',';
            if (auto const element = to_parameter(v))
                append_element(literal, *element);
            else
                literal += "NULL";
        }
        return literal + '}';
    }

    // The C++ value behind a cell. Throws std::runtime_error when the text is not one: a wrong
    // statement.
    template <class T>
    struct from_text;

    template <>
    struct from_text<std::string> {
        static std::string read(std::string_view v) { return std::string(v); }
    };

    template <>
    struct from_text<std::int64_t> {
        static std::int64_t read(std::string_view);
    };

    template <>
    struct from_text<bool> {
        static bool read(std::string_view v) { return v == "t"; }
    };

    template <>
    struct from_text<uuid> {
        static uuid read(std::string_view);
    };

    template <>
    struct from_text<timestamp> {
        static timestamp read(std::string_view);
    };

    // Reads a bytea of exactly as many bytes.
    void read_bytes(std::string_view, std::span<std::uint8_t> to);

    template <std::size_t N>
    struct from_text<std::array<std::uint8_t, N>> {
        static std::array<std::uint8_t, N> read(std::string_view v)
        {
            std::array<std::uint8_t, N> bytes{};
            read_bytes(v, bytes);
            return bytes;
        }
    };

    template <>
    struct from_text<sku> {
        static sku read(std::string_view v) { return sku(std::string(v)); }
    };

    template <>
    struct from_text<location> {
        static location read(std::string_view v) { return location(std::string(v)); }
    };

} // namespace holdfast::db

// SPDX-License-Identifier: Apache-2.0
#include "service/setting_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace holdfast::settings {

namespace {

// What `set` found wrong, to be read after "must be"; nothing once the setting has the value.
using expectation = std::optional<std::string>;

expectation set(target& to, number const& kind, given_value const& given)
{
    std::int64_t parsed = 0;
    auto const* const end = given.text.data() + given.text.size();
    auto const [stop, fault] = std::from_chars(given.text.data(), end, parsed);
    auto const is_number = fault == std::errc{} && stop == end;
    auto const is_quoted = given.shape == given_value::kind::quoted;
    if (!is_number || is_quoted || parsed < kind.min || parsed > kind.max)
        return fmt::format("a whole number from {} to {}{}", kind.min, kind.max,
                           is_number && is_quoted ? " without quotes" : "");
    to.into.*kind.member = static_cast<int>(parsed);
    return std::nullopt;
}

expectation set_text(std::string& into, text_rule fault_of, given_value const& given)
{
    if (!is_text(given))
        return "text in quotes";
    if (auto fault = fault_of(given.text))
        return fault;
    into = given.text;
    return std::nullopt;
}

expectation set(target& to, text const& kind, given_value const& given)
{
    return set_text(to.into.*kind.member, kind.fault_of, given);
}

expectation set(target& to, secret const& kind, given_value const& given)
{
    return set_text(to.into.*kind.member, kind.fault_of, given);
}

expectation set(target& to, strategy_name const& kind, given_value const& given)
{
    auto const is_known = std::ranges::find(to.strategies, given.text) != to.strategies.end();
    if (!is_text(given) || !is_known)
        return fmt::format("one of {}", fmt::join(to.strategies, ", "));
    to.into.*kind.member = given.text;
    return std::nullopt;
}

template <class Enum>
expectation set(target& to, choice<Enum> const& kind, given_value const& given)
{
    auto const found = std::ranges::find(kind.names, given.text);
    if (!is_text(given) || found == kind.names.end())
        return fmt::format("one of {}", fmt::join(kind.names, ", "));
    to.into.*kind.member = static_cast<Enum>(found - kind.names.begin());
    return std::nullopt;
}

std::string problem_with(setting const& s, given_value const& given, std::string_view expected)
{
    if (is_secret(s))
        return fmt::format("{} must be {} ({}).", s.name, expected, given.where);
    auto const instead = given.shape == given_value::kind::other ? given.text : shown(given.text);
    return fmt::format("{} must be {}, not {} ({}).", s.name, expected, instead, given.where);
}

} // namespace

bool is_text(given_value const& given) noexcept
{
    return given.shape == given_value::kind::plain || given.shape == given_value::kind::quoted;
}

std::string shown(std::string_view value)
{
    constexpr std::size_t shown_max = 60;
    std::string text(value.substr(0, shown_max));
    std::ranges::replace_if(text, is_control_character, '?');
    return fmt::format("\"{}{}\"", text, value.size() > shown_max ? "…" : "");
}

std::optional<std::string> assign(target& to, setting const& s, given_value const& given)
{
    auto const expected =
        std::visit([&](auto const& kind) { return set(to, kind, given); }, s.kind);
    if (!expected)
        return std::nullopt;
    return problem_with(s, given, *expected);
}

} // namespace holdfast::settings

// SPDX-License-Identifier: Apache-2.0

#include "service/cli/answer.hpp"

#include "service/cli/command_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace holdfast::cli {

namespace {

constexpr std::size_t body_shown_max = 300;

std::string text_of(nlohmann::json const& document, char const* name)
{
    auto const found = document.find(name);
    return found != document.end() && found->is_string() ? found->get<std::string>()
                                                         : std::string{};
}

// What is wrong with the request, part by part; empty when the answer does not say.
std::string faults_in(nlohmann::json const& document)
{
    std::string told;
    auto const errors = document.find("errors");
    if (errors == document.end() || !errors->is_array())
        return told;
    for (auto const& fault : *errors)
        if (fault.is_object())
            told += fmt::format("{} {} {}", told.empty() ? "" : ";", text_of(fault, "pointer"),
                                text_of(fault, "detail"));
    return told;
}

} // namespace

std::string_view problem_code(std::string_view body)
{
    constexpr std::string_view name = "\"code\"";
    constexpr std::string_view between = " \t\r\n:";
    auto const at = body.find(name);
    if (at == std::string_view::npos)
        return {};
    auto const open = body.find_first_not_of(between, at + name.size());
    if (open == std::string_view::npos || body[open] != '"')
        return {};
    auto const close = body.find('"', open + 1);
    return close == std::string_view::npos ? std::string_view{}
                                           : body.substr(open + 1, close - open - 1);
}

std::string explain(answer const& given)
{
    auto const document = nlohmann::json::parse(given.body, nullptr, false);
    if (document.is_object()) {
        auto const code = text_of(document, "code");
        auto const detail = text_of(document, "detail");
        if (!code.empty())
            return printable(fmt::format("{} {}{}{}{}", given.status, code,
                                         detail.empty() ? "" : ": ", detail, faults_in(document)),
                             body_shown_max);
    }
    if (given.body.empty())
        return fmt::format("{} with an empty body", given.status);
    return fmt::format("{}, not in Holdfast's form: {}", given.status,
                       printable(given.body, body_shown_max));
}

std::string printable(std::string_view text, std::size_t size_max)
{
    auto const whole = text.size() <= size_max;
    if (!whole) {
        auto end = size_max;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
            --end;
        text = text.substr(0, end);
    }
    std::string shown;
    shown.reserve(text.size() + 3);
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        shown += byte == '\n' || byte == '\t' || byte == '\r' ? ' '
                 : byte < 0x20 || byte == 0x7F                ? '?'
                                                              : c;
    }
    return whole ? shown : shown + "…";
}

void require_status(answer const& given, int status, std::string_view doing)
{
    if (given.status == status)
        return;
    if (given.status == 401)
        throw command_error(
            "the service does not accept this API key (401): check --key or HOLDFAST_KEY");
    if (given.status == 403)
        throw command_error(
            fmt::format("this API key may not {} (403): it needs a key with another role", doing));
    throw command_error(
        fmt::format("could not {}: the service answered {}", doing, explain(given)));
}

} // namespace holdfast::cli

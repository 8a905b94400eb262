// SPDX-License-Identifier: Apache-2.0
#include "service/log.hpp"

#include "stock/clock.hpp"

#include <fmt/format.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <memory>

namespace holdfast::log {

namespace {

// Both are read on every call and set once at start; atomics keep that free of a lock.
std::atomic<level> level_least{level::info};
std::atomic<format> line_format{format::json};

spdlog::level::level_enum to_spdlog(level l) noexcept
{
    switch (l) {
    case level::debug: return spdlog::level::debug;
    case level::info: return spdlog::level::info;
    case level::warning: return spdlog::level::warn;
    case level::error: return spdlog::level::err;
    case level::critical: return spdlog::level::critical;
    }
    return spdlog::level::critical;
}

// Lines arrive here finished, so spdlog only adds the line end and keeps two writers apart.
spdlog::logger& stderr_logger()
{
    static auto const logger = [] {
        auto made = std::make_shared<spdlog::logger>(
            "holdfast", std::make_shared<spdlog::sinks::stderr_sink_mt>());
        made->set_level(spdlog::level::trace);
        made->set_pattern("%v");
        return made;
    }();
    return *logger;
}

// The number of bytes of the well-formed UTF-8 character that `text` starts with, 0 when it starts
// with none (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t length_of_character(std::string_view text) noexcept
{
    auto const at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    auto const lead = at(0);
    if (lead < 0x80)
        return 1;
    std::size_t const length = lead >= 0xC2 && lead < 0xE0   ? 2
                               : lead >= 0xE0 && lead < 0xF0 ? 3
                               : lead >= 0xF0 && lead < 0xF5 ? 4
                                                             : 0;
    if (length == 0 || text.size() < length)
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xC0) != 0x80)
            return 0;
    auto const is_wrong_second = (lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) > 0x9F) ||
                                 (lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) > 0x8F);
    return is_wrong_second ? 0 : length;
}

void append_escaped(std::string& line, char c)
{
    switch (c) {
    case '"': line += "\\\""; return;
    case '\\': line += "\\\\"; return;
    case '\n': line += "\\n"; return;
    case '\r': line += "\\r"; return;
    case '\t': line += "\\t"; return;
    default: break;
    }
    if (auto const byte = static_cast<unsigned char>(c); byte < 0x20 || byte == 0x7F)
        fmt::format_to(std::back_inserter(line), "\\u{:04x}", byte);
    else
        line += c;
}

// A JSON string. Bytes that are not UTF-8 become U+FFFD, so that the line stays valid JSON.
void append_quoted(std::string& line, std::string_view text)
{
    line += '"';
    while (!text.empty()) {
        auto const length = length_of_character(text);
        if (length == 1)
            append_escaped(line, text.front());
        else if (length == 0)
            line += "\\ufffd";
        else
            line += text.substr(0, length);
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    line += '"';
}

// Text that can stand without quotes in a text line: nothing to split at, nothing to escape.
bool is_plain(std::string_view text) noexcept
{
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
    });
}

std::string to_json_line(event const& what, fields more)
{
    std::string line = R"({"time":)";
    append_quoted(line, what.at);
    line += R"(,"level":)";
    append_quoted(line, level_names[static_cast<std::size_t>(what.level)]);
    line += R"(,"message":)";
    append_quoted(line, what.message);
    for (auto const& [name, value] : more) {
        line += ',';
        append_quoted(line, name);
        line += ':';
        value.append_json(line);
    }
    line += '}';
    return line;
}

std::string to_text_line(event const& what, fields more)
{
    auto line =
        fmt::format("{} {:<8} ", what.at, level_names[static_cast<std::size_t>(what.level)]);
    value(what.message).append_text(line);
    for (auto const& [name, value] : more) {
        line += ' ';
        line += name;
        line += '=';
        value.append_text(line);
    }
    return line;
}

} // namespace

void value::append_json(std::string& line) const
{
    if (auto const* text = std::get_if<std::string_view>(&held_)) {
        append_quoted(line, *text);
        return;
    }
    if (auto const* number = std::get_if<double>(&held_); number && !std::isfinite(*number)) {
        line += "null";
        return;
    }
    std::visit([&](auto const& plain) { fmt::format_to(std::back_inserter(line), "{}", plain); },
               held_);
}

void value::append_text(std::string& line) const
{
    if (auto const* text = std::get_if<std::string_view>(&held_); text && is_plain(*text))
        line += *text;
    else
        append_json(line);
}

void start(options chosen)
{
    level_least.store(chosen.level, std::memory_order_relaxed);
    line_format.store(chosen.format, std::memory_order_relaxed);
}

bool is_on(level l) noexcept
{
    return l >= level_least.load(std::memory_order_relaxed);
}

void write(level l, std::string_view message, fields more)
{
    if (!is_on(l))
        return;
    using namespace std::chrono;
    auto const at = to_rfc3339(floor<microseconds>(system_clock::now()));
    auto const line = to_line(line_format.load(std::memory_order_relaxed), {at, l, message}, more);
    stderr_logger().log(to_spdlog(l), spdlog::string_view_t(line.data(), line.size()));
}

void debug(std::string_view message, fields more)
{
    write(level::debug, message, more);
}

void info(std::string_view message, fields more)
{
    write(level::info, message, more);
}

void warning(std::string_view message, fields more)
{
    write(level::warning, message, more);
}

void error(std::string_view message, fields more)
{
    write(level::error, message, more);
}

void critical(std::string_view message, fields more)
{
    write(level::critical, message, more);
}

std::string to_line(format f, event const& what, fields more)
{
    return f == format::json ? to_json_line(what, more) : to_text_line(what, more);
}

} // namespace holdfast::log

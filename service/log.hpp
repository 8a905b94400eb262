// SPDX-License-Identifier: Apache-2.0
// The structured log: one line per event on stderr, as JSON or as text. Never hand a secret to it:
// no key, no password, no connection string.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace holdfast::log {

enum class level { debug, info, warning, error, critical };

inline constexpr std::array<std::string_view, 5> level_names{"debug", "info", "warning", "error",
                                                             "critical"};

enum class format { json, text };

inline constexpr std::array<std::string_view, 2> format_names{"json", "text"};

// What a field may hold. Text is only looked at during the call, never kept.
class value {
public:
    // NOLINTBEGIN(google-explicit-constructor): whoever logs writes the value itself
    value(std::string_view text) : held_(text) {}
    value(std::string const& text) : held_(std::string_view(text)) {}
    value(char const* text) : held_(std::string_view(text)) {}
    value(std::same_as<bool> auto flag) : held_(flag) {}
    value(std::signed_integral auto number) : held_(std::int64_t{number}) {}
    value(std::unsigned_integral auto number) requires(!std::same_as<decltype(number), bool>)
        : held_(std::uint64_t{number})
    {}
    value(std::floating_point auto number) : held_(static_cast<double>(number)) {}
    // NOLINTEND(google-explicit-constructor)

    // Writes the value as JSON: escaped text, digits, true or false; a number that is none is null.
    void append_json(std::string& line) const;

    // Writes text bare where nothing in it could be mistaken, else as in JSON.
    void append_text(std::string& line) const;

private:
    std::variant<std::string_view, bool, std::int64_t, std::uint64_t, double> held_;
};

// `time`, `level` and `message` are names every line has already.
struct field {
    std::string_view name;
    log::value value;
};

using fields = std::initializer_list<field>;

struct options {
    log::level level = level::info;
    log::format format = format::json;
};

// Sets level and format. Call it once, before other threads write; without it, info and JSON.
void start(options);

// Whether a line of this level would be written: ask before fields are worked out for nothing.
[[nodiscard]] bool is_on(level) noexcept;

// Writes one line, whole, from any thread. `message` names what happened: "service.started".
void write(level, std::string_view message, fields = {});

void debug(std::string_view message, fields = {});
void info(std::string_view message, fields = {});
void warning(std::string_view message, fields = {});
void error(std::string_view message, fields = {});
void critical(std::string_view message, fields = {});

// The line `write` would make, without a line end; `at` is RFC 3339.
struct event {
    std::string_view at;
    log::level level;
    std::string_view message;
};

[[nodiscard]] std::string to_line(format, event const&, fields);

} // namespace holdfast::log

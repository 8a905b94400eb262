// SPDX-License-Identifier: Apache-2.0
// How far a long command has come, for whoever looks at a terminal. Nothing for a log or a script.

#pragma once

#include <chrono>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>

namespace holdfast::cli {

// Is it standard output or standard error, and shown on a terminal that can take a line back?
[[nodiscard]] bool is_terminal(std::ostream const& stream);

// One line of a terminal, written again and again in its place.
class terminal_line {
public:
    explicit terminal_line(std::ostream& to) : to_(to) {}
    terminal_line(terminal_line const&) = delete;
    terminal_line& operator=(terminal_line const&) = delete;
    ~terminal_line() { clear(); }

    void show(std::string_view text);

    // Leaves nothing of it, for what is printed next.
    void clear();

private:
    std::ostream& to_;
    bool is_shown_ = false;
};

enum class audience { nobody, terminal };

// Shown at most five times a second, and not for work that is over at once.
class progress {
public:
    using clock = std::chrono::steady_clock;

    progress(std::ostream& to, audience who, clock::time_point began = clock::now())
        : line_(to), who_(who), due_at_(began + patience)
    {}

    // Is it time to show something? The text is not made in vain then.
    [[nodiscard]] bool is_due(clock::time_point now = clock::now()) const
    {
        return who_ == audience::terminal && now >= due_at_;
    }

    // Precondition: is_due.
    void show(std::string_view text, clock::time_point now = clock::now());

    void clear() { line_.clear(); }

private:
    static constexpr std::chrono::milliseconds patience{500};
    static constexpr std::chrono::milliseconds between_shows{200};

    terminal_line line_;
    audience who_;
    clock::time_point due_at_;
};

// "[##########----------]  52%  33.1 of 64.0 MiB". Precondition: done <= total.
[[nodiscard]] std::string transfer_text(std::size_t done, std::size_t total);

} // namespace holdfast::cli

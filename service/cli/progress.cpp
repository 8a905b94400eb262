// SPDX-License-Identifier: Apache-2.0

#include "service/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

namespace holdfast::cli {

bool is_terminal(std::ostream const& stream)
{
    auto const* const term = std::getenv("TERM");
    if (term == nullptr || std::string_view(term) == "dumb")
        return false;
    return (stream.rdbuf() == std::cerr.rdbuf() && ::isatty(STDERR_FILENO) == 1) ||
           (stream.rdbuf() == std::cout.rdbuf() && ::isatty(STDOUT_FILENO) == 1);
}

void terminal_line::show(std::string_view text)
{
    to_ << "\r\x1b[K" << text << std::flush;
    is_shown_ = true;
}

void terminal_line::clear()
{
    if (is_shown_)
        to_ << "\r\x1b[K" << std::flush;
    is_shown_ = false;
}

void progress::show(std::string_view text, clock::time_point now)
{
    line_.show(text);
    due_at_ = now + between_shows;
}

std::string transfer_text(std::size_t done, std::size_t total)
{
    constexpr std::size_t bar_size = 20;
    constexpr double mebibyte = 1U << 20U;
    auto const part = total == 0 ? 1.0 : static_cast<double>(done) / static_cast<double>(total);
    auto const filled = static_cast<std::size_t>(part * bar_size);
    return fmt::format("[{}{}] {:>3.0f}%  {:.1f} of {:.1f} MiB", std::string(filled, '#'),
                       std::string(bar_size - filled, '-'), std::floor(part * 100),
                       static_cast<double>(done) / mebibyte, static_cast<double>(total) / mebibyte);
}

} // namespace holdfast::cli

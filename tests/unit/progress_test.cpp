// SPDX-License-Identifier: Apache-2.0
#include "service/cli/progress.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <sstream>
#include <string>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using cli::audience;
using cli::progress;

// As many lines as somebody saw of work that took `took` and had something to tell every
// millisecond.
int lines_seen(audience who, std::chrono::milliseconds took)
{
    std::ostringstream screen;
    progress::clock::time_point const began{};
    int lines = 0;
    {
        progress shown{screen, who, began};
        for (auto now = began; now < began + took; now += 1ms)
            if (shown.is_due(now)) {
                shown.show("a line", now);
                ++lines;
            }
    }
    auto const text = screen.str();
    CHECK(text.empty() == (lines == 0));
    CHECK((text.empty() || text.ends_with("\r\x1b[K")));
    return lines;
}

} // namespace

TEST_CASE("progress is shown at most five times a second, and not for what is over at once")
{
    CHECK(lines_seen(audience::terminal, 500ms) == 0);
    CHECK(lines_seen(audience::terminal, 501ms) == 1);
    CHECK(lines_seen(audience::terminal, 10'500ms) == 50);
    CHECK(lines_seen(audience::nobody, 60s) == 0);
}

TEST_CASE("nothing but a terminal is one")
{
    std::ostringstream text;
    CHECK_FALSE(cli::is_terminal(text));
}

TEST_CASE("what is on its way is told in a bar, a share and sizes")
{
    CHECK(cli::transfer_text(0, 64U << 20U) == "[--------------------]   0%  0.0 of 64.0 MiB");
    CHECK(cli::transfer_text(33U << 20U, 64U << 20U) ==
          "[##########----------]  51%  33.0 of 64.0 MiB");
    CHECK(cli::transfer_text(64U << 20U, 64U << 20U) ==
          "[####################] 100%  64.0 of 64.0 MiB");
    CHECK(cli::transfer_text(0, 0) == "[####################] 100%  0.0 of 0.0 MiB");
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "bench/number.hpp"

#include <fmt/format.h>

namespace holdfast::bench {

std::string grouped(double value)
{
    auto digits = fmt::format("{:.0f}", value);
    auto const first = digits.starts_with('-') ? 1U : 0U;
    for (auto at = digits.size(); at > first + 3; at -= 3)
        digits.insert(at - 3, 1, ' ');
    return digits;
}

std::string counted(std::size_t number, std::string_view noun)
{
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

} // namespace holdfast::bench

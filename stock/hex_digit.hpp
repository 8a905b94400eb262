// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace holdfast {

// The value of a hexadecimal digit in either case, or -1.
[[nodiscard]] constexpr int value_of_hex_digit(char c) noexcept
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

} // namespace holdfast

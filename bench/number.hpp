// SPDX-License-Identifier: Apache-2.0
// Numbers for people.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::bench {

// Rounded, with a space after every third digit: "12 345".
[[nodiscard]] std::string grouped(double);

// "1 client", "8 clients"
[[nodiscard]] std::string counted(std::size_t number, std::string_view noun);

} // namespace holdfast::bench

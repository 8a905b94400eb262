// SPDX-License-Identifier: Apache-2.0
// Numbers for people.
#pragma once

#include <string>

namespace holdfast::bench {

// Rounded, with a space after every third digit: "12 345".
[[nodiscard]] std::string grouped(double);

} // namespace holdfast::bench

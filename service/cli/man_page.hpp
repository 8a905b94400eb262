// SPDX-License-Identifier: Apache-2.0
// The manual page holdfast(1).

#pragma once

#include "service/cli/command_tree.hpp"

#include <string>
#include <string_view>

namespace holdfast::cli {

// In roff with the macros of man(7), in ASCII.
[[nodiscard]] std::string man_page(command_tree const&, std::string_view version);

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0
// Scripts by which a shell completes commands, options, fixed values and names of files.

#pragma once

#include "service/cli/command_tree.hpp"

#include <string>

namespace holdfast::cli {

enum class shell { bash, zsh, fish };

// The whole script, to be sourced or put where the shell looks for it.
[[nodiscard]] std::string completion_script(shell, command_tree const&);

} // namespace holdfast::cli

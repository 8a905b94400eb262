// SPDX-License-Identifier: Apache-2.0
// The scripts of redis/scripts, by name. What each takes and returns stands in its header.
//
// A script is called by the digest of its text, so two releases with different texts of one name
// run side by side.
#pragma once

#include "redis/connection.hpp"

#include <span>
#include <string>
#include <string_view>

namespace holdfast::redis {

// EVALSHA of the script redis/scripts/NAME.lua. There must be one.
[[nodiscard]] command call(std::string_view name, std::span<std::string const> keys,
                           std::span<std::string const> arguments);

// The same call with the script's text: for a node that does not know it, and then does.
[[nodiscard]] command with_text(command const& call);

} // namespace holdfast::redis

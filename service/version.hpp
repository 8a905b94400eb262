// SPDX-License-Identifier: Apache-2.0
// The version of this program (Semantic Versioning 2.0.0).
#pragma once

#include <string_view>

namespace holdfast {

inline constexpr std::string_view version = HOLDFAST_VERSION;

} // namespace holdfast

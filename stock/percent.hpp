// SPDX-License-Identifier: Apache-2.0
// Percent-encoding (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// The bytes a part of an address stands for, which need not be UTF-8. Nothing when a % is not
// followed by two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text);

// The text as one part of an address: all but the unreserved characters as %XX.
[[nodiscard]] std::string percent_encoded(std::string_view text);

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Unicode text: its characters, its one form of many, and what is left of it when case does not
// count.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// Takes one code point from the front of `rest`. Nothing, and nothing is taken, where that is not
// UTF-8 or there is none.
[[nodiscard]] std::optional<char32_t> next_character(std::string_view& rest);

// In Unicode normalisation form C. Nothing when it is not UTF-8.
[[nodiscard]] std::optional<std::string> to_nfc(std::string_view text);

// The same for all texts that differ in case only, as Unicode folds it (chapter 3.13, "Default Case
// Folding"). Nothing when it is not UTF-8.
[[nodiscard]] std::optional<std::string> case_folded(std::string_view text);

// Whether something in it has no shape of its own: control and format characters (categories Cc and
// Cf), such as those of no width and those that turn the direction of writing. Two texts may look
// the same by them. False when it is not UTF-8.
[[nodiscard]] bool has_invisible(std::string_view text);

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// An answer of the service as the commands see it, and how to put a bad one into a sentence.

#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

struct answer {
    int status = 0;
    std::string body;
    bool replayed = false; // Idempotent-Replayed: true
    std::optional<std::chrono::seconds> retry_after = {};
};

// The `code` of a problem document, found without parsing the whole: the drill looks at tens of
// thousands of them. Empty when there is none.
[[nodiscard]] std::string_view problem_code(std::string_view body);

// "409 insufficient-stock: …", on one line.
[[nodiscard]] std::string explain(answer const& given);

// The text on one line, control characters shown as '?', cut after `size_max` bytes at the end of a
// character.
[[nodiscard]] std::string printable(std::string_view text, std::size_t size_max);

// Throws command_error with a sentence unless the answer has this status. `doing` completes "this
// key may not …".
void require_status(answer const& given, int status, std::string_view doing);

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0
// Idempotency keys the commands make: random ones, and ones that follow from what is sent.

#pragma once

#include <string>
#include <string_view>

namespace holdfast::cli {

// `prefix` and 128 random bits in hex.
[[nodiscard]] std::string random_key(std::string_view prefix);

// `prefix` and a hash of the content: equal for equal content, so that sending it twice is one
// request to the service.
[[nodiscard]] std::string content_key(std::string_view prefix, std::string_view content);

} // namespace holdfast::cli

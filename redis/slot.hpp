// SPDX-License-Identifier: Apache-2.0
// Where a cluster keeps a key (Redis cluster specification, "Key distribution model").
#pragma once

#include <cstdint>
#include <string_view>

namespace holdfast::redis {

inline constexpr std::uint16_t slot_count = 16384;

// CRC16 of the key, or of what stands between its first { and the } after it unless that is empty,
// modulo the number of slots.
[[nodiscard]] std::uint16_t slot_of(std::string_view key) noexcept;

} // namespace holdfast::redis

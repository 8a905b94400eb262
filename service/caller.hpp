// SPDX-License-Identifier: Apache-2.0
// Who asks: the holder of an API key, and what that key may do.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// Each role may do what the ones before it may.
enum class role { viewer, shop, admin };

inline constexpr std::array<std::string_view, 3> role_names{"viewer", "shop", "admin"};

[[nodiscard]] constexpr std::string_view to_string(role r) noexcept
{
    return role_names[static_cast<std::size_t>(r)];
}

[[nodiscard]] std::optional<role> parse_role(std::string_view) noexcept;

struct caller {
    std::int64_t api_key_id = 0; // scope of idempotency keys and of rate limits
    std::string name;            // stands in the ledger as the actor
    holdfast::role role = role::viewer;
};

} // namespace holdfast

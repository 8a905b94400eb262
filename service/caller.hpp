// SPDX-License-Identifier: Apache-2.0
// Who asks: the holder of an API key or a person who is signed in, and what that one may do.
#pragma once

#include "stock/uuid.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace holdfast {

// What an operation needs.
enum class right : unsigned {
    read = 1,     // see what there is
    reserve = 2,  // reserve, confirm, release, extend, return, ask for tokens
    stock = 4,    // adjust, count, transfer, import
    settings = 8, // items, blocked customers, webhooks, the fast path; read the audit trail
    keys = 16,    // make and revoke API keys
    staff = 32,   // make, change and remove accounts
    approve = 64, // let what others counted or imported become the numbers, or undo it
};

inline constexpr std::array<std::string_view, 7> right_names{
    "read", "reserve", "stock", "settings", "keys", "staff", "approve"};

using rights = unsigned; // a set of them

[[nodiscard]] constexpr rights operator|(right a, right b) noexcept
{
    return static_cast<rights>(a) | static_cast<rights>(b);
}

[[nodiscard]] constexpr rights operator|(rights all, right one) noexcept
{
    return all | static_cast<rights>(one);
}

enum class role { viewer, shop, admin, clerk, manager, owner };

struct role_rule {
    std::string_view name;
    rights may;
    bool is_of_keys;
    bool is_of_staff;
};

// In the order of the enumeration. Nothing else says what a role may do.
inline constexpr std::array<role_rule, 6> role_rules{{
    {"viewer", static_cast<rights>(right::read), true, true},
    {"shop", right::read | right::reserve, true, false},
    {"admin",
     right::read | right::reserve | right::stock | right::settings | right::keys | right::approve,
     true, false},
    {"clerk", right::read | right::reserve | right::stock, false, true},
    {"manager", right::read | right::reserve | right::stock | right::settings | right::approve,
     false, true},
    {"owner",
     right::read | right::reserve | right::stock | right::settings | right::keys | right::staff |
         right::approve,
     false, true},
}};

[[nodiscard]] constexpr role_rule const& rule_of(role r) noexcept
{
    return role_rules[static_cast<std::size_t>(r)];
}

[[nodiscard]] constexpr std::string_view to_string(role r) noexcept
{
    return rule_of(r).name;
}

[[nodiscard]] constexpr bool may(role who, right what) noexcept
{
    return (rule_of(who).may & static_cast<rights>(what)) != 0;
}

// The names of the roles of keys, or of staff.
template <std::size_t Count>
[[nodiscard]] constexpr std::array<std::string_view, Count> role_names(bool role_rule::*kind)
{
    std::array<std::string_view, Count> names{};
    std::size_t found = 0;
    for (auto const& rule : role_rules)
        if (rule.*kind)
            names.at(found++) = rule.name;
    return names;
}

inline constexpr auto key_role_names = role_names<3>(&role_rule::is_of_keys);
inline constexpr auto staff_role_names = role_names<4>(&role_rule::is_of_staff);

[[nodiscard]] constexpr std::optional<role> parse_role(std::string_view text) noexcept
{
    auto const found = std::ranges::find(role_rules, text, &role_rule::name);
    if (found == role_rules.end())
        return std::nullopt;
    return static_cast<role>(found - role_rules.begin());
}

// A role that was stored, so there is one.
[[nodiscard]] inline role stored_role(std::string_view text)
{
    auto const known = parse_role(text);
    if (!known)
        throw std::logic_error("unknown role in the database");
    return *known;
}

struct caller {
    // The scope of idempotency keys and of rate limits. A person has one below 0.
    std::int64_t api_key_id = 0;

    std::string name; // stands in the ledger as the actor; of a person "staff:" and the name
    holdfast::role role = role::viewer;
    std::optional<uuid> staff_id = {}; // of a person
};

} // namespace holdfast

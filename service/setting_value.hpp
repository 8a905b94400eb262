// SPDX-License-Identifier: Apache-2.0
// A value as somebody gave it, and what it does to a config when it may stand.
#pragma once

#include "service/setting_table.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::settings {

// A value as somebody gave it, and where, in words: "HOLDFAST_LISTEN" or "shop.toml line 3".
struct given_value {
    enum class kind { plain, quoted, whole_number, other }; // plain: of a flag, variable or file

    std::string where;
    std::string text; // for `other`, what it is, such as "an array"
    given_value::kind shape = kind::plain;
};

[[nodiscard]] bool is_text(given_value const&) noexcept;

// A value in quotes, shortened, and with nothing in it that could upset a terminal.
[[nodiscard]] std::string shown(std::string_view value);

// Where values go, with the names that `strategy` may have.
struct target {
    config into;
    std::vector<std::string> const& strategies;
};

// Gives the setting its value. Returns the sentence that says what is wrong with it, if anything
// is.
[[nodiscard]] std::optional<std::string> assign(target& to, setting const&, given_value const&);

} // namespace holdfast::settings

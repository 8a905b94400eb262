// SPDX-License-Identifier: Apache-2.0
// The table of settings: where each value goes, what it accepts, what it does, and the names it has
// in each place it can be given. What makes a config of it is config.cpp.
#pragma once

#include "service/config.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::settings {

inline constexpr std::string_view variable_prefix = "HOLDFAST_";

// Says what is wrong with a text, to be read after "must be"; nothing when it may stand.
using text_rule = std::optional<std::string> (*)(std::string_view);

struct number {
    int config::*member;
    int min;
    int max;
};

struct text {
    std::string config::*member;
    std::string_view accepts;
    text_rule fault_of;
};

// Text that no log, report or error may show; may also be given as a file that holds it.
struct secret {
    std::string config::*member;
    std::string_view accepts;
    text_rule fault_of;
};

// One of setting_sources::strategies.
struct strategy_name {
    std::string config::*member;
};

template <class Enum>
struct choice {
    Enum config::*member;
    std::span<std::string_view const> names; // in the order of the enum
};

using setting_kind = std::variant<number, text, secret, strategy_name, choice<log::level>,
                                  choice<log::format>, choice<flag>>;

struct setting {
    std::string_view name;
    setting_kind kind;
    setting_scope scope; // the smallest that takes its flag
    std::string_view sentence;
};

[[nodiscard]] std::span<setting const> table() noexcept;

[[nodiscard]] bool is_secret(setting const&) noexcept;

// What no value may hold, and no terminal should be sent.
[[nodiscard]] bool is_control_character(char) noexcept;

// The variable, the flag, and for a secret the name of the file that holds it.
[[nodiscard]] std::string variable_of(std::string_view name);
[[nodiscard]] std::string flag_of(std::string_view name);
[[nodiscard]] std::string file_name_of(std::string_view name);

// The other way round; a variable in lower case is no setting's, as `variable_of` never makes one.
[[nodiscard]] std::string name_of_variable(std::string_view variable);

// Every name a setting may be given under: its own, and for a secret that of the file as well.
[[nodiscard]] std::vector<std::string> known_names();

} // namespace holdfast::settings

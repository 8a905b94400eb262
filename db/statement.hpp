// SPDX-License-Identifier: Apache-2.0
// A named SQL statement as the build embeds it from a .sql file: text, parameters, how many rows it
// gives.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

namespace holdfast::db {

// exec: no rows, a count. one: exactly one row. maybe: at most one. many: any number.
enum class cardinality { exec, one, maybe, many };

// Any statement, for preparing and running it. `name` is its label in logs and metrics.
struct statement_ref {
    std::string_view name;
    std::string_view text; // with :named parameters, without comments
    std::span<std::string_view const> parameters;
};

// A statement whose cardinality and number of parameters are checked when the program is compiled.
template <cardinality Returns, std::size_t Parameters>
struct statement {
    std::string_view name;
    std::string_view text;
    std::array<std::string_view, Parameters> parameters;

    // NOLINTNEXTLINE(google-explicit-constructor): it is one, with less known about it
    constexpr operator statement_ref() const noexcept { return {name, text, parameters}; }
};

} // namespace holdfast::db

// SPDX-License-Identifier: Apache-2.0
// Rows of text in columns, for people at a terminal.

#pragma once

#include <nlohmann/json_fwd.hpp>

#include <iosfwd>
#include <string>
#include <vector>

namespace holdfast::cli {

// A member as text for a terminal; "-" for null and for what is not there.
[[nodiscard]] std::string cell_of(nlohmann::json const& object, char const* member);

using table_row = std::vector<std::string>;

// The first row is the heading. Each column is as wide as its widest cell.
void print_table(std::ostream& out, std::vector<table_row> const& rows);

} // namespace holdfast::cli

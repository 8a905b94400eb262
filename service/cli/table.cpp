// SPDX-License-Identifier: Apache-2.0
#include "service/cli/table.hpp"

#include "service/cli/answer.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstddef>
#include <ostream>

namespace holdfast::cli {

namespace {

constexpr std::size_t cell_size_max = 100;

// Characters, as far as a terminal gives each one column.
std::size_t width_of(std::string const& text)
{
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

} // namespace

std::string cell_of(nlohmann::json const& object, char const* member)
{
    auto const found = object.find(member);
    if (found == object.end() || found->is_null())
        return "-";
    return printable(found->is_string() ? found->get<std::string>() : found->dump(), cell_size_max);
}

void print_table(std::ostream& out, std::vector<table_row> const& rows)
{
    std::vector<std::size_t> widths;
    for (auto const& row : rows) {
        widths.resize(std::max(widths.size(), row.size()));
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width_of(row[i]));
    }
    for (auto const& row : rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            line += row[i];
            if (i + 1 < row.size())
                line.append(widths[i] - width_of(row[i]) + 2, ' ');
        }
        out << line << '\n';
    }
}

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0
// The results for a terminal, for programs, and for the record: a folder with the numbers, a page
// and two charts.
#pragma once

#include "bench/results.hpp"

#include <filesystem>
#include <ostream>
#include <string>

namespace holdfast::bench {

void print(results const&, std::ostream& out);

// One flat object: "machine.…" are texts, everything else is a number.
[[nodiscard]] std::string to_json(results const&);

// Writes results.json, results.md and the charts into a folder of their own below `parent`, named
// after the day and the processor. Returns the folder.
std::filesystem::path keep(results const&, std::filesystem::path const& parent);

void write_file(std::filesystem::path const&, std::string const& text);

} // namespace holdfast::bench

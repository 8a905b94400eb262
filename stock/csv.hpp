// SPDX-License-Identifier: Apache-2.0
// Comma-separated values as RFC 4180 has them: a strict reader that reports every fault by line,
// and a writer whose text reads back unchanged. Values are never trimmed, altered or guessed at.

#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::csv {

// Far above any shop's catalogue, and low enough that no file can make the reader fill the memory.
inline constexpr std::size_t rows_max = 1'000'000;
inline constexpr std::size_t columns_max = 200;
inline constexpr std::size_t field_bytes_max = 10'000;

// Nobody mends more than this in one go; the rest is only counted.
inline constexpr std::size_t errors_kept_max = 100;

// A fault, with the line on which its row begins, counted as an editor counts (the first is 1).
// `column` is empty when the fault is not that of one named column. Both texts are valid UTF-8.
// `code` names the kind of fault for programs, and stays as it is when `detail` is worded anew.
struct cell_error {
    std::size_t row;
    std::string column;
    std::string detail;
    std::string_view code; // of static storage
};

// One data row without fault: as many cells as the table has columns, in the file's order.
struct row {
    std::size_t line;
    std::span<std::string_view const> cells;
};

// The columns a file must and may have, in lower case. Their order in the file is free.
struct layout {
    std::vector<std::string_view> required;
    std::vector<std::string_view> optional;
};

// What was read. It owns all it shows, so the text it came from may go; copies share the cells.
// Rows with a fault are left out, and all rows are when the header has one.
struct table {
    std::vector<std::string> columns;
    std::vector<row> rows;
    std::vector<cell_error> errors;
    std::size_t error_count = 0;
    std::shared_ptr<void const> storage;

    [[nodiscard]] bool has_errors() const { return error_count != 0; }

    // Where a column stands in each row's cells; nothing when the file does not have it.
    [[nodiscard]] std::optional<std::size_t> column_index(std::string_view name) const;
};

// Reads a whole file. Separator (comma, semicolon or tab) is what the header line has most of.
// Empty lines do not count as rows. Never throws for what the text holds: see `table::errors`.
[[nodiscard]] table read(std::string_view text, layout const& expected);

// A text as a cell of a file that people open in a spreadsheet: one that would be a formula there,
// or begins with an apostrophe, gets an apostrophe in front. Whoever takes a leading one away has
// the text again; `read` does not.
[[nodiscard]] std::string harmless(std::string_view text);

// Writes rows with commas and CRLF, quoting only the cells that need it. The first row is the
// header.
class writer {
public:
    void row(std::span<std::string_view const> cells);
    void row(std::initializer_list<std::string_view> cells);

    // Hands over what was written since the last call, so a long export can go out in pieces.
    [[nodiscard]] std::string take();

private:
    std::string text_;
};

} // namespace holdfast::csv

// SPDX-License-Identifier: Apache-2.0
// The reader goes through the text once and unquotes in place, in its own copy of it, so that
// cells are views and a million rows cost neither a million strings nor a second pass.

#include "stock/csv.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

namespace holdfast::csv {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

constexpr std::string_view stray_quote =
    "a quote inside an unquoted field; put the whole field in quotes and double the quote";
constexpr std::string_view lone_carriage_return =
    "a carriage return without a line feed; lines end with LF or CRLF";
constexpr std::string_view unterminated_quote = "the quote opened on this line is never closed";

// What the rows of a table point into.
struct cell_storage {
    std::string text;
    std::vector<std::string_view> cells;
};

struct record_fault {
    std::size_t line;
    std::size_t field;
    std::string detail;
    std::string_view code;
};

// What is wrong with a name of a column.
struct objection {
    std::string_view code;
    std::string detail;
};

// One row as it stands in the file. Fields past the last column are counted, not kept.
struct record {
    std::size_t line = 0;
    std::size_t field_count = 0;
    std::vector<std::string_view> fields;
    std::optional<record_fault> fault;
};

// The length of the UTF-8 character that begins at `at`, or 0 when there is no valid one.
std::size_t utf8_length(std::string_view text, std::size_t at)
{
    auto const byte = [&](std::size_t i) -> unsigned {
        return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    auto const follows = [&](std::size_t i) { return (byte(i) & 0xC0u) == 0x80u; };

    auto const lead = byte(0);
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead <= 0xDF)
        return follows(1) ? 2 : 0;

    // The second byte's range is narrower after some leads: no overlong forms, no surrogates,
    // nothing past U+10FFFF.
    if (lead >= 0xE0 && lead <= 0xEF) {
        auto const low = lead == 0xE0 ? 0xA0u : 0x80u;
        auto const high = lead == 0xED ? 0x9Fu : 0xBFu;
        return byte(1) >= low && byte(1) <= high && follows(2) ? 3 : 0;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        auto const low = lead == 0xF0 ? 0x90u : 0x80u;
        auto const high = lead == 0xF4 ? 0x8Fu : 0xBFu;
        return byte(1) >= low && byte(1) <= high && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

// Where the first NUL or invalid byte stands, or npos.
std::size_t find_bad_byte(std::string_view text)
{
    std::size_t at = 0;
    while (at < text.size()) {
        // Most text is ASCII, so eight bytes are looked at together where they allow it: no high
        // bit set, and no byte that borrows when one is taken from each, which only NUL does.
        std::uint64_t block = 0;
        if (text.size() - at >= sizeof block) {
            std::memcpy(&block, text.data() + at, sizeof block);
            auto const borrowed = block - 0x0101010101010101u;
            if (((block | borrowed) & 0x8080808080808080u) == 0) {
                at += sizeof block;
                continue;
            }
        }
        auto const length = text[at] == '\0' ? 0 : utf8_length(text, at);
        if (length == 0)
            return at;
        at += length;
    }
    return std::string_view::npos;
}

std::string describe_bad_byte(char byte)
{
    if (byte == '\0')
        return "a NUL byte";
    constexpr std::string_view digits = "0123456789ABCDEF";
    auto const value = static_cast<unsigned char>(byte);
    std::string detail = "byte 0x";
    detail += digits[value >> 4];
    detail += digits[value & 0xF];
    return detail + " is not valid UTF-8; save the file as UTF-8";
}

// Column names are compared without the blanks around them and in lower case, ASCII only.
std::string normalised(std::string_view name)
{
    constexpr std::string_view blanks = " \t";
    auto const first = name.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    name = name.substr(first, name.find_last_not_of(blanks) - first + 1);

    std::string lowered(name);
    for (auto& c : lowered)
        if (c >= 'A' && c <= 'Z')
            c = static_cast<char>(c - 'A' + 'a');
    return lowered;
}

// A name from the file as an error may repeat it: never so long that errors become a burden.
std::string shown(std::string_view name)
{
    constexpr std::size_t bytes_max = 60;
    if (name.size() <= bytes_max)
        return std::string(name);
    auto end = bytes_max;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0u) == 0x80u)
        --end;
    return std::string(name.substr(0, end)) + "…";
}

bool contains(std::vector<std::string_view> const& names, std::string_view name)
{
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::string known_columns(layout const& expected)
{
    std::string list;
    for (auto const* names : {&expected.required, &expected.optional})
        for (auto const name : *names)
            list += (list.empty() ? "" : ", ") + std::string(name);
    return list;
}

// The separator the header line has most of outside quotes; comma when it has none.
char detect_delimiter(std::string_view text)
{
    constexpr std::string_view candidates = ",;\t";
    std::array<std::size_t, candidates.size()> counts{};
    bool is_quoted = false;
    for (auto const c : text) {
        if (c == '"')
            is_quoted = !is_quoted;
        if (is_quoted)
            continue;
        if (c == '\n')
            break;
        if (auto const which = candidates.find(c); which != std::string_view::npos)
            ++counts[which];
    }
    auto const most = std::max_element(counts.begin(), counts.end()) - counts.begin();
    return candidates[static_cast<std::size_t>(most)];
}

// What the first bytes of a file say when somebody sends the spreadsheet itself.
std::string_view foreign_format(std::string_view text)
{
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
        return "the file is UTF-16; save it as CSV in UTF-8";
    if (text.starts_with("PK\x03\x04"))
        return "the file is a spreadsheet or an archive; save it as CSV in UTF-8";
    return {};
}

// Reads one text once. `text_` is only written behind `at_`, where quoted fields are unquoted.
class reader {
public:
    reader(std::string_view text, layout const& expected)
        : expected_(expected), storage_(std::make_shared<cell_storage>()), text_(storage_->text)
    {
        text_ = text;
    }

    table read() &&;

private:
    void read_table();
    bool read_header();
    void name_columns();
    std::optional<objection> objection_to(std::string_view name) const;
    void read_rows();
    bool check_row();
    bool check_field(std::size_t index);

    void read_record();
    std::string_view plain_field();
    std::string_view quoted_field();
    void skip_plain_text();
    void skip_empty_lines();
    void skip_line_end();

    bool is_at_end() const { return at_ == text_.size(); }
    bool is_at(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }
    bool is_at_field_end() const
    {
        return is_at_end() || text_[at_] == delimiter_ || is_at("\n") || is_at("\r\n");
    }

    std::string_view column_name(std::size_t index) const;
    void note(std::size_t line, std::string_view code, std::string_view detail);
    void fail(std::size_t line, std::string_view column, std::string_view code,
              std::string_view detail);

    layout const& expected_;
    std::shared_ptr<cell_storage> storage_;
    std::string& text_;
    table table_;
    record record_;
    std::size_t fields_kept_max_ = columns_max;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    char delimiter_ = ',';
    bool has_bad_bytes_ = false;
};

table reader::read() &&
{
    read_table();

    auto const width = table_.columns.size();
    std::span<std::string_view const> const cells = storage_->cells;
    for (std::size_t i = 0; i < table_.rows.size(); ++i)
        table_.rows[i].cells = cells.subspan(i * width, width);
    table_.storage = std::move(storage_);
    return std::move(table_);
}

void reader::read_table()
{
    if (auto const detail = foreign_format(text_); !detail.empty()) {
        fail(1, "", "not-csv", detail);
        return;
    }
    if (is_at(byte_order_mark))
        at_ = byte_order_mark.size();
    skip_empty_lines();
    if (is_at_end()) {
        fail(1, "", "file-empty", "the file is empty; its first line must name the columns");
        return;
    }
    has_bad_bytes_ = find_bad_byte(text_) != std::string_view::npos;
    delimiter_ = detect_delimiter(std::string_view(text_).substr(at_));
    if (read_header())
        read_rows();
}

// Reads the column names. False when the header is so broken that rows cannot be held against it;
// with a mere wrong name they still can, and one look at the answer is enough to mend the file.
bool reader::read_header()
{
    read_record();
    if (record_.fault) {
        fail(record_.fault->line, "", record_.fault->code, record_.fault->detail);
        return false;
    }
    if (record_.field_count > columns_max) {
        fail(record_.line, "", "too-many-columns",
             "more than " + std::to_string(columns_max) + " columns");
        return false;
    }
    name_columns();
    for (auto const name : expected_.required)
        if (!table_.column_index(name))
            fail(record_.line, name, "column-missing", "this required column is missing");

    fields_kept_max_ = table_.columns.size();
    if (!table_.has_errors()) {
        auto const rest = std::string_view(text_).substr(at_);
        auto const lines = 1 + std::count(rest.begin(), rest.end(), '\n');
        auto const rows = std::min(static_cast<std::size_t>(lines), rows_max);
        table_.rows.reserve(rows);
        storage_->cells.reserve(rows * table_.columns.size());
    }
    return true;
}

void reader::name_columns()
{
    for (auto const field : record_.fields) {
        auto const position = "column " + std::to_string(table_.columns.size() + 1);
        std::string name;
        if (auto const bad = find_bad_byte(field); bad != std::string_view::npos) {
            fail(record_.line, "", "not-utf-8", position + ": " + describe_bad_byte(field[bad]));
        } else if (name = normalised(field); name.empty()) {
            fail(record_.line, "", "column-unnamed", position + " has no name");
        } else if (auto const found = objection_to(name)) {
            name = shown(name);
            fail(record_.line, name, found->code, found->detail);
        }
        table_.columns.push_back(std::move(name));
    }
}

std::optional<objection> reader::objection_to(std::string_view name) const
{
    if (!contains(expected_.required, name) && !contains(expected_.optional, name))
        return objection{"column-unknown", "unknown column; known are " + known_columns(expected_)};
    if (table_.column_index(name))
        return objection{"column-repeated", "this column appears more than once"};
    return std::nullopt;
}

void reader::read_rows()
{
    bool const has_good_header = !table_.has_errors();
    std::size_t row_count = 0;
    for (skip_empty_lines(); !is_at_end(); skip_empty_lines()) {
        if (++row_count > rows_max) {
            fail(line_, "", "too-many-rows",
                 "more than " + std::to_string(rows_max) + " rows; split the file");
            return;
        }
        read_record();
        if (!check_row() || !has_good_header)
            continue;
        table_.rows.push_back({.line = record_.line, .cells = {}});
        storage_->cells.insert(storage_->cells.end(), record_.fields.begin(), record_.fields.end());
    }
}

bool reader::check_row()
{
    // After a quote in the wrong place the fields that follow are a guess: one error is the truth.
    if (auto const& fault = record_.fault) {
        fail(fault->line, column_name(fault->field), fault->code, fault->detail);
        return false;
    }
    bool is_good = true;
    for (std::size_t i = 0; i < record_.fields.size(); ++i)
        is_good = check_field(i) && is_good;

    auto const wanted = table_.columns.size();
    if (record_.field_count != wanted) {
        fail(record_.line, "", "field-count",
             "the number of columns is " + std::to_string(wanted) + ", the number of fields is " +
                 std::to_string(record_.field_count));
        is_good = false;
    }
    return is_good;
}

bool reader::check_field(std::size_t index)
{
    auto const field = record_.fields[index];
    if (field.size() > field_bytes_max) {
        fail(record_.line, column_name(index), "field-too-long",
             "the field is longer than " + std::to_string(field_bytes_max) + " bytes");
        return false;
    }
    if (!has_bad_bytes_)
        return true;
    if (auto const bad = find_bad_byte(field); bad != std::string_view::npos) {
        fail(record_.line, column_name(index), "not-utf-8", describe_bad_byte(field[bad]));
        return false;
    }
    return true;
}

// Reads a record up to and past its line end.
void reader::read_record()
{
    record_.line = line_;
    record_.field_count = 0;
    record_.fields.clear();
    record_.fault.reset();
    while (true) {
        auto const field = is_at("\"") ? quoted_field() : plain_field();
        if (record_.fields.size() < fields_kept_max_)
            record_.fields.push_back(field);
        ++record_.field_count;

        if (is_at_end())
            return;
        if (text_[at_] != delimiter_)
            break;
        ++at_;
    }
    skip_line_end();
}

std::string_view reader::plain_field()
{
    auto const begin = at_;
    skip_plain_text();
    return std::string_view(text_).substr(begin, at_ - begin);
}

void reader::skip_plain_text()
{
    for (; !is_at_end(); ++at_) {
        auto const c = text_[at_];
        if (c == delimiter_ || c == '\n')
            return;
        if (c == '"')
            note(record_.line, "quote-misplaced", stray_quote);
        if (c != '\r')
            continue;
        if (is_at("\r\n"))
            return;
        note(record_.line, "line-end", lone_carriage_return);
    }
}

std::string_view reader::quoted_field()
{
    auto const opened_on = line_;
    auto const begin = ++at_;
    auto end = begin;
    while (true) {
        auto const quote = text_.find('"', at_);
        auto const stop = std::min(quote, text_.size());
        auto* const piece = text_.data() + at_;
        line_ += static_cast<std::size_t>(std::count(piece, text_.data() + stop, '\n'));
        if (end != at_)
            std::memmove(text_.data() + end, piece, stop - at_);
        end += stop - at_;
        at_ = stop;
        if (quote == std::string::npos) {
            // The row may begin higher up; the quote is what must be found.
            note(opened_on, "quote-unclosed", unterminated_quote);
            break;
        }
        ++at_;
        if (!is_at("\""))
            break;
        text_[end++] = '"';
        ++at_;
    }
    if (!is_at_field_end()) {
        std::string detail = "text after the closing quote; a quote inside the text is doubled";
        if (line_ != opened_on)
            detail += " (quotes opened on line " + std::to_string(opened_on) + ", closed on line " +
                      std::to_string(line_) + ")";
        note(record_.line, "quote-misplaced", detail);
        skip_plain_text();
    }
    return std::string_view(text_).substr(begin, end - begin);
}

void reader::skip_empty_lines()
{
    while (is_at("\n") || is_at("\r\n"))
        skip_line_end();
}

void reader::skip_line_end()
{
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
}

std::string_view reader::column_name(std::size_t index) const
{
    return index < table_.columns.size() ? std::string_view(table_.columns[index]) : "";
}

// Keeps a record's first fault; what looks wrong behind it is mostly its consequence.
void reader::note(std::size_t line, std::string_view code, std::string_view detail)
{
    if (!record_.fault)
        record_.fault = {line, record_.field_count, std::string(detail), code};
}

void reader::fail(std::size_t line, std::string_view column, std::string_view code,
                  std::string_view detail)
{
    if (table_.error_count++ < errors_kept_max)
        table_.errors.push_back({line, std::string(column), std::string(detail), code});
}

bool needs_quotes(std::string_view cell)
{
    return cell.find_first_of(",\"\r\n") != std::string_view::npos;
}

} // namespace

std::optional<std::size_t> table::column_index(std::string_view name) const
{
    auto const found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end())
        return std::nullopt;
    return static_cast<std::size_t>(found - columns.begin());
}

table read(std::string_view text, layout const& expected)
{
    return reader(text, expected).read();
}

std::string harmless(std::string_view text)
{
    // The apostrophe itself is one of them, so that it can be told from one that was put there. The
    // last four are as wide as a Chinese character; some spreadsheets read them as the narrow ones.
    static constexpr std::array<std::string_view, 12> beginnings{
        "'", "=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"};
    bool const needs_one = std::ranges::any_of(
        beginnings, [&](std::string_view each) { return text.starts_with(each); });
    return (needs_one ? "'" : "") + std::string(text);
}

void writer::row(std::span<std::string_view const> cells)
{
    // A lone empty cell would be an empty line, which is no row.
    bool const is_blank = cells.size() == 1 && cells.front().empty();
    if (is_blank)
        text_ += "\"\"";

    bool is_first = true;
    for (auto const cell : cells) {
        if (!std::exchange(is_first, false))
            text_ += ',';
        if (!needs_quotes(cell)) {
            text_ += cell;
            continue;
        }
        text_ += '"';
        for (auto const c : cell)
            text_.append(c == '"' ? 2 : 1, c);
        text_ += '"';
    }
    text_ += "\r\n";
}

void writer::row(std::initializer_list<std::string_view> cells)
{
    row(std::span(cells.begin(), cells.size()));
}

std::string writer::take()
{
    return std::exchange(text_, {});
}

} // namespace holdfast::csv

// SPDX-License-Identifier: Apache-2.0
// holdfast-embed: turns .sql files of named statements into typed C++ constants, and plain files
// into string constants, when the program is built. Refuses what it does not understand.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace fs = std::filesystem;

struct block {
    std::string name;
    std::string cardinality;
    std::vector<std::string> parameters;
    std::string text;
};

std::string read_file(fs::path const& path)
{
    std::ifstream in(path, std::ios::binary);
    if (!in)
        throw std::runtime_error(path.string() + ": cannot be read");
    return {std::istreambuf_iterator<char>(in), {}};
}

// Leaves a file alone that has the same content already, so that nothing is rebuilt for nothing.
void write_file(fs::path const& path, std::string const& content)
{
    if (fs::exists(path) && read_file(path) == content)
        return;
    fs::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    out << content;
    if (!out.flush())
        throw std::runtime_error(path.string() + ": cannot be written");
}

std::string trimmed(std::string_view s)
{
    auto const first = s.find_first_not_of(" \t");
    if (first == std::string_view::npos)
        return {};
    return std::string(s.substr(first, s.find_last_not_of(" \t") - first + 1));
}

bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

// The whole header, which may go on over several comment lines until its cardinality stands there.
std::string header_from(std::string line, std::istream& rest)
{
    while (line.find(" :") == std::string::npos) {
        std::string more;
        if (!std::getline(rest, more) || !more.starts_with("--"))
            throw std::runtime_error("a header ends without its cardinality");
        line += ' ' + trimmed(more.substr(2));
    }
    return line;
}

// Reads "take(sku, units) :exec", what follows "-- name: ".
block read_header(std::string const& header)
{
    auto const open = header.find('(');
    auto const close = header.find(')', open);
    auto const colon = header.find(':', close);
    if (open == std::string::npos || close == std::string::npos || colon == std::string::npos)
        throw std::runtime_error("expected '-- name: name(parameters) :cardinality'");
    block b;
    b.name = trimmed(header.substr(0, open));
    b.cardinality = trimmed(header.substr(colon + 1));
    std::istringstream list(header.substr(open + 1, close - open - 1));
    for (std::string one; std::getline(list, one, ',');)
        if (auto name = trimmed(one); !name.empty())
            b.parameters.push_back(std::move(name));
    static std::set<std::string> const known{"exec", "one", "maybe", "many"};
    if (b.name.empty() || !known.contains(b.cardinality))
        throw std::runtime_error("expected :exec, :one, :maybe or :many");
    return b;
}

// The :names a statement uses; a cast (::) is none.
std::set<std::string> names_used(std::string const& sql)
{
    std::set<std::string> names;
    for (std::size_t i = 0; i < sql.size(); ++i) {
        if (sql[i] != ':')
            continue;
        if (i + 1 < sql.size() && sql[i + 1] == ':') {
            ++i;
            continue;
        }
        auto end = i + 1;
        while (end < sql.size() && is_name_character(sql[end]))
            ++end;
        if (end > i + 1)
            names.insert(sql.substr(i + 1, end - i - 1));
    }
    return names;
}

void check(block& b)
{
    auto const end = b.text.find_last_not_of(" \t\n");
    if (end == std::string::npos || b.text[end] != ';')
        throw std::runtime_error(b.name + ": must end with ;");
    b.text.resize(end);
    if (b.text.find(';') != std::string::npos)
        throw std::runtime_error(b.name + ": one statement a block");
    if (b.text.find("$$") != std::string::npos || b.text.find("/*") != std::string::npos)
        throw std::runtime_error(b.name + ": neither $$ nor block comments");
    std::set<std::string> const declared(b.parameters.begin(), b.parameters.end());
    if (declared != names_used(b.text))
        throw std::runtime_error(b.name + ": the parameters named are not the ones used");
}

std::vector<block> read_blocks(fs::path const& path)
{
    std::vector<block> blocks;
    std::istringstream lines(read_file(path));
    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view mark = "-- name: ";
        if (line.starts_with(mark)) {
            blocks.push_back(read_header(header_from(line.substr(mark.size()), lines)));
            continue;
        }
        if (auto const comment = line.find("--"); comment != std::string::npos)
            line.resize(comment);
        if (trimmed(line).empty())
            continue;
        if (blocks.empty())
            throw std::runtime_error("SQL before the first '-- name:'");
        blocks.back().text += line + '\n';
    }
    std::set<std::string> names;
    for (auto& b : blocks) {
        check(b);
        if (!names.insert(b.name).second)
            throw std::runtime_error(b.name + ": named twice");
    }
    return blocks;
}

std::string header_of(std::string const& file, std::vector<block> const& blocks)
{
    std::ostringstream out;
    out << "// Made from " << file << ".sql by holdfast-embed.\n#pragma once\n\n"
        << "#include \"db/statement.hpp\"\n\nnamespace holdfast::sql::" << file << " {\n\n";
    for (auto const& b : blocks) {
        out << "inline constexpr db::statement<db::cardinality::" << b.cardinality << ", "
            << b.parameters.size() << "> " << b.name << "{\n    \"" << file << '.' << b.name
            << "\",\n    R\"sql(" << b.text << ")sql\",\n    {";
        for (auto const& p : b.parameters)
            out << '"' << p << "\", ";
        out << "}};\n\n";
    }
    out << "} // namespace holdfast::sql::" << file << '\n';
    return out.str();
}

void embed_sql(fs::path const& directory, std::vector<fs::path> const& files)
{
    std::ostringstream includes;
    std::ostringstream names;
    for (auto const& path : files) {
        auto const file = path.stem().string();
        try {
            auto const blocks = read_blocks(path);
            write_file(directory / "sql" / (file + ".hpp"), header_of(file, blocks));
            includes << "#include \"sql/" << file << ".hpp\"\n";
            for (auto const& b : blocks)
                names << "    " << file << "::" << b.name << ",\n";
        } catch (std::runtime_error const& e) {
            throw std::runtime_error(path.string() + ": " + e.what());
        }
    }
    write_file(directory / "sql" / "all.hpp",
               "// Every statement of the program, made by holdfast-embed.\n#pragma once\n\n" +
                   includes.str() + "\nnamespace holdfast::sql {\n\n" +
                   "inline constexpr db::statement_ref all[]{\n" + names.str() +
                   "};\n\n} // namespace holdfast::sql\n");
}

// String literals have a length compilers may refuse to pass; parts of this size are joined by
// them. The suffix has their length made by the compiler: counting characters in a constant
// expression has a bound as well.
constexpr std::size_t literal_max = 12'000;

std::string literal_of(std::string const& content)
{
    std::string out;
    for (std::size_t at = 0; at < content.size() || at == 0; at += literal_max)
        out += "\n    R\"asset(" + content.substr(at, literal_max) + ")asset\"";
    return out + "sv";
}

bool is_embedded(fs::path const& file)
{
    static std::set<std::string> const known{".css", ".html", ".js", ".lua", ".sql", ".svg"};
    return known.contains(file.extension().string());
}

// NAME=FILE pairs become string_views; a folder becomes an array of (file name, content), sorted.
void embed_files(fs::path const& header, std::vector<std::string> const& pairs)
{
    std::ostringstream out;
    out << "// Files of the source tree, made by holdfast-embed.\n#pragma once\n\n"
        << "#include <string_view>\n#include <utility>\n\nnamespace holdfast::assets {\n\n"
        << "using namespace std::string_view_literals;\n\n";
    for (auto const& pair : pairs) {
        auto const equals = pair.find('=');
        auto const name = pair.substr(0, equals);
        fs::path const path = pair.substr(equals + 1);
        if (!fs::is_directory(path)) {
            out << "inline constexpr std::string_view " << name << ' ' << '{'
                << literal_of(read_file(path)) << "};\n\n";
            continue;
        }
        std::map<std::string, std::string> files;
        for (auto const& entry : fs::directory_iterator(path))
            if (is_embedded(entry.path()))
                files[entry.path().filename().string()] = read_file(entry.path());
        out << "inline constexpr std::pair<std::string_view, std::string_view> " << name << "[]{\n";
        for (auto const& [file, content] : files)
            out << "    {\"" << file << "\", " << literal_of(content) << "},\n";
        out << "};\n\n";
    }
    out << "} // namespace holdfast::assets\n";
    write_file(header, out.str());
}

} // namespace

int main(int count, char** arguments)
{
    std::vector<std::string> const args(arguments + 1, arguments + count);
    try {
        if (args.size() >= 2 && args[0] == "sql")
            embed_sql(args[1], {args.begin() + 2, args.end()});
        else if (args.size() >= 2 && args[0] == "files")
            embed_files(args[1], {args.begin() + 2, args.end()});
        else
            throw std::runtime_error(
                "usage: holdfast-embed sql DIR FILE.sql… | files HEADER NAME=FILE…");
    } catch (std::exception const& e) {
        std::cerr << "holdfast-embed: " << e.what() << '\n';
        return 1;
    }
    return 0;
}

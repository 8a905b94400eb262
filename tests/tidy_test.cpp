// SPDX-License-Identifier: Apache-2.0
// The house rules that a machine can check, checked on every file of the source tree: layers,
// sizes, licences, and nothing left lying about.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t columns_max = 100;
constexpr std::size_t function_lines_max = 70;

struct source {
    std::string path; // from the root of the source tree
    std::vector<std::string> lines;
    std::string text;
};

struct finding {
    std::string path;
    std::size_t line;
    std::string detail;
};

using findings = std::vector<finding>;

std::string to_string(findings const& found)
{
    std::string text;
    for (auto const& each : found)
        text += '\n' + each.path + ':' + std::to_string(each.line) + ": " + each.detail;
    return text;
}

bool is_any_of(std::string_view text, std::initializer_list<std::string_view> all)
{
    return std::ranges::find(all, text) != all.end();
}

std::vector<std::string> lines_of(std::string const& text)
{
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        lines.push_back(std::move(line));
    return lines;
}

source named(std::string path, std::string text)
{
    return {std::move(path), lines_of(text), std::move(text)};
}

std::string extension_of(std::string const& path)
{
    return fs::path(path).extension().string();
}

bool is_cpp(source const& file)
{
    return is_any_of(extension_of(file.path), {".cpp", ".hpp"});
}

bool is_below(source const& file, std::string_view folder)
{
    return file.path.starts_with(std::string(folder) + '/');
}

// What has a comment sign and is written by us. Of files without an ending, the scripts.
bool is_source(fs::path const& path)
{
    auto const extension = path.extension().string();
    if (is_any_of(extension, {".cpp", ".hpp", ".sql", ".lua", ".cmake", ".sh", ".ts", ".yaml"}))
        return true;
    return is_any_of(path.filename().string(), {"CMakeLists.txt", "Dockerfile", "dev", "run",
                                                ".clang-format", ".clang-tidy"});
}

// Folders that hold what was made, not what was written.
bool is_made(fs::path const& folder)
{
    return is_any_of(folder.filename().string(),
                     {".git", "build", "data", "node_modules", "dist", ".cache"});
}

std::vector<source> read_all()
{
    fs::path const root = HOLDFAST_SOURCE_DIR;
    std::vector<source> files;
    for (auto entry = fs::recursive_directory_iterator(root); entry != fs::end(entry); ++entry) {
        if (entry->is_directory() && is_made(entry->path()))
            entry.disable_recursion_pending();
        if (!entry->is_regular_file() || !is_source(entry->path()))
            continue;
        std::ifstream in(entry->path(), std::ios::binary);
        std::string text{std::istreambuf_iterator<char>(in), {}};
        files.push_back(named(entry->path().lexically_relative(root).string(), std::move(text)));
    }
    std::ranges::sort(files, {}, &source::path);
    return files;
}

std::vector<source> const& all_files()
{
    static auto const files = read_all();
    return files;
}

std::size_t columns_of(std::string_view line)
{
    // Every byte but the second and later ones of a UTF-8 character begins a column.
    return static_cast<std::size_t>(std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

findings long_lines(source const& file)
{
    findings found;
    // The header of a named statement is one line, because the build reads it as one.
    for (std::size_t i = 0; i < file.lines.size(); ++i)
        if (columns_of(file.lines[i]) > columns_max && !file.lines[i].starts_with("-- name: "))
            found.push_back({file.path, i + 1, "longer than 100 columns"});
    return found;
}

// In our style the braces of a function stand alone on their lines, in the same column.
findings long_functions(source const& file)
{
    findings found;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        auto const& line = file.lines[i];
        if (!line.ends_with('{') || line.find_first_not_of(' ') != line.size() - 1)
            continue;
        auto const end = line.substr(0, line.size() - 1) + '}';
        auto last = i + 1;
        while (last < file.lines.size() && !file.lines[last].starts_with(end))
            ++last;
        if (last - i - 1 > function_lines_max)
            found.push_back({file.path, i + 1, "a function of more than 70 lines"});
    }
    return found;
}

bool is_word_character(char c)
{
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool has_word(std::string_view line, std::string_view word)
{
    for (auto at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
        auto const end = at + word.size();
        bool const begins = at == 0 || !is_word_character(line[at - 1]);
        if (begins && (end == line.size() || !is_word_character(line[end])))
            return true;
    }
    return false;
}

// Notes to oneself. Put together here so that this file has none.
findings leftover_markers(source const& file)
{
    static std::array<std::string, 5> const words{
        std::string("TO") + "DO", std::string("FIX") + "ME", std::string("XX") + "X",
        std::string("HA") + "CK", std::string("W") + "IP"};
    findings found;
    for (std::size_t i = 0; i < file.lines.size(); ++i)
        for (auto const& word : words)
            if (has_word(file.lines[i], word))
                found.push_back({file.path, i + 1, "has a " + word});
    return found;
}

findings untidy_white_space(source const& file)
{
    findings found;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        auto const& line = file.lines[i];
        if (line.ends_with(' ') || line.ends_with('\r'))
            found.push_back({file.path, i + 1, "ends with white space"});
        if (line.find('\t') != std::string::npos)
            found.push_back({file.path, i + 1, "has a tab"});
    }
    if (!file.text.ends_with('\n') || file.text.ends_with("\n\n"))
        found.push_back({file.path, file.lines.size(), "must end with one line end"});
    return found;
}

findings missing_licence(source const& file)
{
    bool const is_script = file.text.starts_with("#!");
    std::size_t const place = is_script ? 1 : 0;
    static std::array<std::string_view, 3> const signs{"//", "#", "--"};
    for (auto const sign : signs)
        if (file.lines.size() > place &&
            file.lines[place] == std::string(sign) + " SPDX-License-Identifier: Apache-2.0")
            return {};
    return {{file.path, place + 1, "must say SPDX-License-Identifier: Apache-2.0"}};
}

struct inclusion {
    std::size_t line;
    std::string name;
    bool is_ours; // written with quotes
};

std::vector<inclusion> inclusions_of(source const& file)
{
    constexpr std::string_view directive = "#include ";
    std::vector<inclusion> all;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        auto const& line = file.lines[i];
        if (!line.starts_with(directive))
            continue;
        auto const end = line.find_first_of("\">", directive.size() + 1);
        all.push_back({i + 1, line.substr(directive.size() + 1, end - directive.size() - 1),
                       line[directive.size()] == '"'});
    }
    return all;
}

// The layer a path belongs to: its folder, the sub-folders of service counting as folders. What the
// commands of the binary are made of stands above all of them.
std::string layer_of(std::string const& path)
{
    for (auto const* command :
         {"service/main.", "service/serve.", "service/keeper.", "service/doctor."})
        if (path.starts_with(command))
            return "program";
    for (auto const* layer : {"service/http", "service/workers", "service/cli"})
        if (path.starts_with(std::string(layer) + '/'))
            return layer;
    auto const slash = path.find('/');
    return slash == std::string::npos ? "made" : path.substr(0, slash);
}

// Includes point downwards only. "sql" and what has no folder is made by the build.
bool may_include(std::string const& from, std::string const& to)
{
    static std::map<std::string, std::set<std::string>> const below{
        {"stock", {"stock"}},
        {"db", {"db", "stock", "sql"}},
        {"redis", {"redis", "stock", "made"}},
        {"strategies", {"strategies", "db", "stock", "sql", "made"}},
        {"service", {"service", "strategies", "redis", "db", "stock", "sql", "made"}},
    };
    auto const is_part_of_service = from.starts_with("service/");
    if (from == to)
        return true;
    if (to == "program")
        return false;
    auto const found = below.find(is_part_of_service ? "service" : from);
    return found == below.end() || found->second.contains(to);
}

findings broken_arrows(source const& file)
{
    auto const layer = layer_of(file.path);
    // Tests, the benchmark and tools stand outside.
    if (!is_cpp(file) || is_any_of(layer, {"tests", "bench", "tools"}))
        return {};
    findings found;
    for (auto const& each : inclusions_of(file))
        if (each.is_ours && !may_include(layer, layer_of(each.name)))
            found.push_back({file.path, each.line, layer + " must not include " + each.name});
    return found;
}

// Which folders may know a library. What is not listed here may be included anywhere.
struct library {
    std::string_view prefix;
    std::vector<std::string_view> folders;
};

findings strange_libraries(source const& file)
{
    static std::vector<library> const libraries{
        {"soci/", {"db", "tests"}},
        {"libpq", {"db", "tests"}},
        {"postgresql/", {"db"}},
        {"hiredis", {"redis", "tests"}},
        {"boost/beast", {"service/http", "service/cli"}},
        {"boost/asio", {"service", "service/http", "service/workers", "service/cli", "tests"}},
        {"nlohmann/",
         {"service", "service/http", "service/workers", "service/cli", "bench", "tests"}},
        {"spdlog", {"service"}},
        {"CLI/", {"program", "service/cli", "bench"}},
        {"toml", {"service"}},
        {"prometheus/", {"service"}},
        {"doctest/", {"tests"}},
    };
    auto const layer = layer_of(file.path);
    findings found;
    for (auto const& each : inclusions_of(file))
        for (auto const& one : libraries)
            if (!each.is_ours && each.name.starts_with(one.prefix) &&
                std::ranges::find(one.folders, layer) == one.folders.end())
                found.push_back({file.path, each.line, layer + " must not know " + each.name});
    return found;
}

findings dangling_includes(source const& file)
{
    findings found;
    for (auto const& each : inclusions_of(file)) {
        bool const is_made = each.name.starts_with("sql/") || layer_of(each.name) == "made";
        if (each.is_ours && !is_made && !fs::exists(fs::path(HOLDFAST_SOURCE_DIR) / each.name))
            found.push_back({file.path, each.line, "includes must name a file from the root"});
    }
    return found;
}

findings unguarded_headers(source const& file)
{
    if (extension_of(file.path) != ".hpp" ||
        file.text.find("\n#pragma once\n") != std::string::npos)
        return {};
    return {{file.path, 1, "has no #pragma once"}};
}

findings swallowed_faults(source const& file)
{
    constexpr std::size_t reach = 8;
    findings found;
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
        if (file.lines[i].find("catch (...)") == std::string::npos)
            continue;
        bool is_passed_on = false;
        for (auto j = i; j < std::min(i + reach, file.lines.size()); ++j)
            is_passed_on = is_passed_on || has_word(file.lines[j], "throw") ||
                           has_word(file.lines[j], "rethrow_exception") ||
                           has_word(file.lines[j], "current_exception");
        if (!is_passed_on)
            found.push_back({file.path, i + 1, "catches everything and passes nothing on"});
    }
    return found;
}

template <class Check, class Filter>
std::string over_all(Check check, Filter concerns)
{
    findings found;
    for (auto const& file : all_files())
        if (concerns(file))
            std::ranges::move(check(file), std::back_inserter(found));
    return to_string(found);
}

bool is_cpp_or_sql(source const& file)
{
    return is_cpp(file) || extension_of(file.path) == ".sql";
}

bool is_any(source const&)
{
    return true;
}

} // namespace

TEST_CASE("the source tree is there to be looked at")
{
    std::map<std::string, int> count;
    for (auto const& file : all_files())
        ++count[layer_of(file.path)];
    for (auto const* layer : {"stock", "db", "strategies", "service", "service/http", "service/cli",
                              "program", "bench", "tests", "tools", "schema"}) {
        CAPTURE(layer);
        CHECK(count[layer] >= 1);
    }
}

TEST_CASE("includes point down the layers only")
{
    CHECK(over_all(broken_arrows, is_cpp) == "");
}

TEST_CASE("each library is known only where it belongs")
{
    CHECK(over_all(strange_libraries, is_cpp) == "");
}

TEST_CASE("every include of ours names a file from the root of the tree")
{
    CHECK(over_all(dangling_includes, is_cpp) == "");
}

TEST_CASE("lines fit in a hundred columns")
{
    CHECK(over_all(long_lines, is_cpp_or_sql) == "");
}

TEST_CASE("functions fit on a screen")
{
    CHECK(over_all(long_functions, is_cpp) == "");
}

TEST_CASE("no note to oneself is left in the code")
{
    CHECK(over_all(leftover_markers, is_any) == "");
}

TEST_CASE("white space is plain and files end with one line end")
{
    CHECK(over_all(untidy_white_space, is_any) == "");
}

TEST_CASE("every source file names its licence first")
{
    CHECK(over_all(missing_licence, is_any) == "");
}

TEST_CASE("every header is guarded")
{
    CHECK(over_all(unguarded_headers, is_cpp) == "");
}

TEST_CASE("whoever catches everything passes it on")
{
    CHECK(over_all(swallowed_faults, is_cpp) == "");
}

TEST_CASE("every C++ file is part of the build")
{
    // A mode's file needs no line of its own: the build finds it by its name.
    auto const is_found_by_name = [](source const& file) { return is_below(file, "strategies"); };
    std::string lists;
    for (auto const& file : all_files())
        if (file.path.ends_with("CMakeLists.txt") || extension_of(file.path) == ".cmake")
            lists += file.text;
    findings unused;
    for (auto const& file : all_files())
        if (extension_of(file.path) == ".cpp" && !is_found_by_name(file) &&
            lists.find(fs::path(file.path).filename().string()) == std::string::npos)
            unused.push_back({file.path, 1, "is in no CMakeLists.txt"});
    CHECK(to_string(unused) == "");
}

TEST_CASE("the checks themselves see what they are there for")
{
    std::string long_function = "void f()\n{\n";
    for (int i = 0; i < 71; ++i)
        long_function += "    f();\n";
    long_function += "}\n";
    CHECK(long_functions(named("a.cpp", long_function)).size() == 1);
    CHECK(long_functions(named("a.cpp", long_function.erase(11, 9))).empty());

    CHECK(long_lines(named("a.cpp", std::string(101, 'x') + "\n")).size() == 1);
    std::string hundred;
    for (int i = 0; i < 100; ++i)
        hundred += "é";
    CHECK(long_lines(named("a.cpp", hundred + "\n")).empty());

    CHECK(leftover_markers(named("a.cpp", std::string("// TO") + "DO: later\n")).size() == 1);
    CHECK(leftover_markers(named("a.cpp", "mkdtemp(XXXXXX) AUTODOC\n")).empty());

    CHECK(missing_licence(named("a.cpp", "int x;\n")).size() == 1);
    CHECK(
        missing_licence(named("a", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")).empty());

    CHECK(untidy_white_space(named("a.cpp", "int x; \n\tint y;\n\n")).size() == 3);
    CHECK(unguarded_headers(named("a.hpp", "int x;\n")).size() == 1);
    CHECK(swallowed_faults(named("a.cpp", "} catch (...) {\n    return;\n}\n")).size() == 1);
    CHECK(swallowed_faults(named("a.cpp", "} catch (...) {\n    f();\n    throw;\n}\n")).empty());
}

TEST_CASE("an arrow that points up is seen wherever it starts")
{
    struct arrow {
        char const* from;
        char const* to;
        bool is_allowed;
    };
    for (auto const& each : std::vector<arrow>{
             {"stock/a.cpp", "stock/b.hpp", true},
             {"stock/a.cpp", "db/b.hpp", false},
             {"db/a.cpp", "sql/a.hpp", true},
             {"db/a.cpp", "strategies/b.hpp", false},
             {"strategies/a.cpp", "db/b.hpp", true},
             {"strategies/a.cpp", "service/b.hpp", false},
             {"service/a.cpp", "strategies/b.hpp", true},
             {"service/a.cpp", "assets.hpp", true},
             {"service/a.cpp", "service/http/b.hpp", false},
             {"service/http/a.cpp", "service/http/b.hpp", true},
             {"service/http/a.cpp", "service/b.hpp", true},
             {"service/http/handlers/a.cpp", "service/http/b.hpp", true},
             {"service/http/a.cpp", "service/workers/b.hpp", false},
             {"service/cli/a.cpp", "service/http/b.hpp", false},
             {"redis/a.cpp", "db/b.hpp", false},
             {"service/main.cpp", "service/http/b.hpp", true},
             {"service/main.cpp", "service/serve.hpp", true},
             {"service/a.cpp", "service/serve.hpp", false},
             {"service/http/a.cpp", "service/keeper.hpp", false},
             {"tests/a.cpp", "service/http/b.hpp", true},
             {"bench/a.cpp", "service/cli/b.hpp", true},
             {"service/a.cpp", "bench/b.hpp", false},
         }) {
        CAPTURE(each.from);
        CAPTURE(each.to);
        auto const file = named(each.from, std::string("#include \"") + each.to + "\"\n");
        CHECK(broken_arrows(file).empty() == each.is_allowed);
    }
    CHECK(strange_libraries(named("stock/a.cpp", "#include <soci/soci.h>\n")).size() == 1);
    CHECK(strange_libraries(named("service/a.cpp", "#include <boost/beast/http.hpp>\n")).size() ==
          1);
    CHECK(strange_libraries(named("db/a.cpp", "#include <nlohmann/json.hpp>\n")).size() == 1);
    CHECK(strange_libraries(named("db/a.cpp", "#include <soci/soci.h>\n")).empty());
}

} // namespace holdfast::test

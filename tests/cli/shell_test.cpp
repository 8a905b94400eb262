// SPDX-License-Identifier: Apache-2.0
// What shells and man know of the commands: each of them, with each of its options, as the program
// itself tells them.
#include "tests/cli/command.hpp"
#include "tests/support/program.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

using words = std::vector<std::string>;

bool has(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

words lines_of(std::string const& text)
{
    words lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
        if (!line.empty())
            lines.push_back(std::move(line));
    return lines;
}

std::string script_for(std::string const& shell)
{
    auto const made = run_holdfast({"completion", shell});
    REQUIRE(made.status == 0);
    REQUIRE(made.err.empty());
    return made.out;
}

// A program that is asked something and has to answer without a complaint.
std::string answer_of(std::string const& name, words arguments)
{
    program asked({.name = name,
                   .packages = name == "groff" ? "groff-base" : name,
                   .arguments = std::move(arguments),
                   .environment = {}});
    auto const status = asked.wait();
    CHECK(asked.err() == "");
    CHECK(status == 0);
    return asked.out();
}

// Bash with the script, asked by its own means what may stand where the last word is.
class bash {
public:
    bash() : script_(place_.file("holdfast.bash", script_for("bash"))) {}

    [[nodiscard]] words offers(words typed) const
    {
        constexpr auto ask = "source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1));"
                             " _holdfast; printf '%s\\n' \"${COMPREPLY[@]}\"";
        typed.insert(typed.begin(), {"--norc", "-c", ask, script_});
        auto found = lines_of(answer_of("bash", std::move(typed)));
        std::ranges::sort(found);
        return found;
    }

    [[nodiscard]] temporary_directory const& place() const { return place_; }

private:
    temporary_directory place_;
    std::string script_;
};

struct help {
    words options;
    words commands;
};

// What stands in the first column of `holdfast … --help`.
help help_of(words command)
{
    command.push_back("--help");
    auto const told = run_holdfast(std::move(command));
    REQUIRE(told.status == 0);
    help found;
    std::string heading;
    for (auto const& line : lines_of(told.out)) {
        if (!line.starts_with(' '))
            heading = line;
        if (!line.starts_with("  ") || line.at(2) == ' ')
            continue;
        auto const word = line.substr(2, line.find(' ', 2) - 2);
        if (heading == "Subcommands:")
            found.commands.push_back(word);
        if (heading == "Options:")
            found.options.push_back(word.substr(word.find("--")));
    }
    return found;
}

template <class Look>
void walk(words const& command, Look const& look)
{
    auto const told = help_of(command);
    look(command, told);
    for (auto const& below : told.commands) {
        auto deeper = command;
        deeper.push_back(below);
        walk(deeper, look);
    }
}

} // namespace

TEST_CASE("bash completes every command and every option there is")
{
    bash const shell;
    int seen = 0;
    walk({}, [&](words command, help const& told) {
        CAPTURE(command);
        ++seen;
        command.insert(command.begin(), "holdfast");
        command.emplace_back("");
        if (!told.commands.empty()) {
            auto commands = told.commands;
            std::ranges::sort(commands);
            CHECK(shell.offers(command) == commands);
        }
        command.back() = "--";
        auto options = told.options;
        std::ranges::sort(options);
        CHECK(shell.offers(command) == options);
    });
    CHECK(seen > 25);
}

TEST_CASE("bash completes the values that are fixed, names of files, and no others")
{
    bash const shell;
    CHECK(shell.offers({"holdfast", "st"}) == words{"staff", "stock"});
    CHECK(shell.offers({"holdfast", "stock", "g"}) == words{"get"});
    CHECK(shell.offers({"holdfast", "import", "--mode", ""}) == words{"add", "count", "set"});
    // Readline takes the sign for a word of its own.
    CHECK(shell.offers({"holdfast", "import", "--mode", "=", "s"}) == words{"set"});
    CHECK(shell.offers({"holdfast", "import", "--mode", "="}) == words{"add", "count", "set"});
    CHECK(shell.offers({"holdfast", "stock", "adjust", "TEE-M", "--reason", "c"}) ==
          words{"correction", "count"});
    CHECK(shell.offers({"holdfast", "serve", "--strategy", "b"}) == words{"batched"});
    CHECK(shell.offers({"holdfast", "completion", ""}) == words{"bash", "fish", "zsh"});

    auto const file = shell.place().file("two words.csv", "");
    auto const begun = (shell.place().path() / "two").string();
    CHECK(shell.offers({"holdfast", "import", begun}) == words{file});
    CHECK(shell.offers({"holdfast", "export", "--output", begun}) == words{file});
    CHECK(shell.offers({"holdfast", "serve", "--data", begun}).empty());
    CHECK(shell.offers({"holdfast", "stock", "adjust", "TEE-M", "--note", begun}).empty());
}

TEST_CASE("fish and zsh are told the same")
{
    temporary_directory const place;
    auto const fish_script = place.file("holdfast.fish", script_for("fish"));
    auto const fish = [&](std::string const& typed) {
        words found;
        for (auto const& line : lines_of(
                 answer_of("fish", {"--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                                    fish_script, typed})))
            found.push_back(line.substr(0, line.find('\t')));
        return found;
    };
    CHECK(fish("holdfast stock g") == words{"get"});
    CHECK(fish("holdfast import --mode ") == words{"add", "count", "set"});
    CHECK(fish("holdfast stock get --k") == words{"--key"});

    auto const zsh_script = place.file("_holdfast", script_for("zsh"));
    auto const zsh = [&](std::string const& command) {
        return answer_of("zsh", {"-f", "-c",
                                 "compdef() { }; _arguments() { print -rl -- \"$@\" };"
                                 " source $1; $2",
                                 "zsh", zsh_script, command});
    };
    CHECK(has(zsh("_holdfast_import"), ":TEXT:(set add count)\n"));
    CHECK(has(zsh("_holdfast_import"), ":FILE:_files\n"));
    CHECK(has(zsh("_holdfast_stock"), "1:command:->command\n"));
    CHECK(has(zsh("_holdfast_stock_get"), ":SKU:\n"));
}

TEST_CASE("the manual page names every command and every option, and roff has no complaint")
{
    auto const page = run_holdfast({"man"});
    REQUIRE(page.status == 0);
    CHECK(
        std::ranges::all_of(page.out, [](char c) { return c == '\n' || (c >= ' ' && c < 0x7F); }));
    temporary_directory const place;
    auto const file = place.file("holdfast.1", page.out);
    CHECK(answer_of("groff", {"-man", "-ww", "-z", file}).empty());
    // One column for all, so that no name is broken in two.
    auto const text =
        answer_of("groff", {"-man", "-Tutf8", "-P-cbou", "-rLL=10000n", "-rHY=0", file});
    for (auto const* section : {"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS",
                                "ENVIRONMENT", "EXIT STATUS", "EXAMPLES"})
        CHECK(has(text, '\n' + std::string(section) + '\n'));
    walk({}, [&](words const& command, help const& told) {
        std::string path = "holdfast";
        for (auto const& word : command)
            path += ' ' + word;
        CAPTURE(path);
        if (told.commands.empty())
            CHECK(has(text, "   " + path + " [OPTION ...]"));
        for (auto const& option : told.options) {
            CAPTURE(option);
            CHECK(has(text, option));
        }
    });
    CHECK(has(text, "HOLDFAST_URL"));
    CHECK(has(text, "HOLDFAST_CONFIG"));
}

} // namespace holdfast::test

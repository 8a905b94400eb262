// SPDX-License-Identifier: Apache-2.0
// The commands of the program as data, read from its own parser: what is written from them, the
// completion of shells and the manual page, cannot fall behind what is understood.

#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace holdfast::cli {

// An option, a flag or a positional argument.
struct command_option {
    std::vector<std::string> names; // "-h", "--help"; of a positional argument its one name
    std::string value;              // "TEXT", "N", "FILE" or "DIR"; empty for a flag
    std::string sentence;
    std::vector<std::string> choices; // the values it takes; empty = any
    std::string preset;               // the value without it, if that is worth telling
    std::string variable;             // of the environment, that stands in for it
    bool is_required = false;
};

struct command_tree {
    std::string name;
    std::string sentence;
    std::vector<command_option> options;
    std::vector<command_option> arguments; // by position
    std::vector<command_tree> commands;
};

[[nodiscard]] command_tree read_commands(CLI::App const& app);

// A command with the words that lead to it: "holdfast stock get".
struct command_place {
    std::string path;
    command_tree const* command;
};

// The root first, each command before those below it. Points into the tree.
[[nodiscard]] std::vector<command_place> places_in(command_tree const& root);

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0

#include "service/cli/command_tree.hpp"

#include <CLI/CLI.hpp>

#include <string_view>

namespace holdfast::cli {

namespace {

std::vector<std::string> names_of(CLI::Option const& option)
{
    if (option.get_positional())
        return {option.get_name(true)};
    std::vector<std::string> names;
    for (auto const& name : option.get_snames())
        names.push_back("-" + name);
    for (auto const& name : option.get_lnames())
        names.push_back("--" + name);
    return names;
}

std::string value_of(CLI::Option const& option)
{
    if (option.get_items_expected_max() == 0)
        return {};
    auto const type = option.get_type_name();
    auto const kind = type.substr(0, type.find(':'));
    return kind == "INT" || kind == "UINT" || kind == "FLOAT" ? "N" : kind;
}

// What CLI11 shows between braces is all it says about the values of an option.
std::vector<std::string> choices_of(CLI::Option const& option)
{
    auto const type = option.get_type_name();
    auto const open = type.find('{');
    auto const close = type.find('}');
    if (open == std::string::npos || close == std::string::npos)
        return {};
    return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

command_option described(CLI::Option const& option)
{
    return {.names = names_of(option),
            .value = value_of(option),
            .sentence = option.get_description(),
            .choices = choices_of(option),
            .preset = option.get_default_str(),
            .variable = option.get_envname(),
            .is_required = option.get_required()};
}

void add_places(std::string const& path, command_tree const& command,
                std::vector<command_place>& places)
{
    places.push_back({path, &command});
    for (auto const& below : command.commands)
        add_places(path + ' ' + below.name, below, places);
}

} // namespace

command_tree read_commands(CLI::App const& app)
{
    command_tree tree{.name = app.get_name(),
                      .sentence = app.get_description(),
                      .options = {},
                      .arguments = {},
                      .commands = {}};
    for (auto const* option : app.get_options())
        (option->get_positional() ? tree.arguments : tree.options).push_back(described(*option));
    for (auto const* command : app.get_subcommands(std::function<bool(CLI::App const*)>{}))
        tree.commands.push_back(read_commands(*command));
    return tree;
}

std::vector<command_place> places_in(command_tree const& root)
{
    std::vector<command_place> places;
    add_places(root.name, root, places);
    return places;
}

} // namespace holdfast::cli

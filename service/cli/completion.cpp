// SPDX-License-Identifier: Apache-2.0

#include "service/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace holdfast::cli {

namespace {

using texts = std::vector<std::string>;

std::string replaced(std::string_view text, std::string_view special, std::string_view before)
{
    std::string written;
    for (auto const c : text) {
        if (special.find(c) != std::string_view::npos)
            written += before;
        written += c;
    }
    return written;
}

// In single quotes, for bash and zsh.
std::string quoted(std::string_view text)
{
    std::string written = "'";
    for (auto const c : text)
        written += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return written + '\'';
}

std::string fish_quoted(std::string_view text)
{
    return '\'' + replaced(text, "'\\", "\\") + '\'';
}

// "'holdfast serve' | 'holdfast key'": the patterns of a case.
std::string patterns(texts const& words)
{
    texts all;
    for (auto const& word : words)
        all.push_back(quoted(word));
    return fmt::format("{}", fmt::join(all, " | "));
}

std::string spaced(texts const& words)
{
    return fmt::format("{}", fmt::join(words, " "));
}

// Every command but the root.
texts paths_below(std::vector<command_place> const& places)
{
    texts paths;
    for (auto const& place : places)
        if (place.path.find(' ') != std::string::npos)
            paths.push_back(place.path);
    return paths;
}

bool takes(command_option const& option, std::string_view value)
{
    return option.value == value && option.choices.empty();
}

// "holdfast import --mode": the option behind its command, by each of its names.
texts paths_of(std::string const& path, command_option const& option)
{
    texts paths;
    for (auto const& name : option.names)
        paths.push_back(path + ' ' + name);
    return paths;
}

template <class Claim>
texts options_where(std::vector<command_place> const& places, Claim const& is_wanted)
{
    texts found;
    for (auto const& [path, command] : places)
        for (auto const& option : command->options)
            if (is_wanted(option))
                std::ranges::copy(paths_of(path, option), std::back_inserter(found));
    return found;
}

constexpr std::string_view bash_head =
    R"(# bash completion for holdfast, as `holdfast completion bash` writes it.
_holdfast()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=holdfast words='' options='' files='' i
    # Readline takes = for a word of its own.
    if [[ $word == '=' ]]; then
        word=''
    elif [[ $before == '=' ]]; then
        before=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$command ${COMP_WORDS[i]}" in
)";

constexpr std::string_view bash_tail =
    R"(    if [[ $word == -* || -z $words$files ]]; then words=$options files=''; fi
    if [[ -n $files ]]; then
        # Outside of a completion, as in a test, there is nothing to set.
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen "$files" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    fi
}
complete -F _holdfast holdfast
)";

// One branch of a case that says what may be completed.
std::string bash_branch(texts const& when, std::string_view words, std::string_view options,
                        std::string_view files)
{
    if (when.empty())
        return {};
    return fmt::format("    {})\n        words={} options={} files={} ;;\n", patterns(when),
                       quoted(words), quoted(options), quoted(files));
}

// Where no option waits for its value.
std::string bash_command(command_place const& place)
{
    texts words;
    std::string_view files;
    for (auto const& below : place.command->commands)
        words.push_back(below.name);
    for (auto const& argument : place.command->arguments) {
        words.insert(words.end(), argument.choices.begin(), argument.choices.end());
        if (takes(argument, "FILE"))
            files = "-f";
    }
    texts options;
    for (auto const& option : place.command->options)
        options.insert(options.end(), option.names.begin(), option.names.end());
    return bash_branch({place.path}, spaced(words), spaced(options), files);
}

std::string bash_values(std::vector<command_place> const& places)
{
    auto const which = [](std::string_view value) {
        return [value](command_option const& option) { return takes(option, value); };
    };
    auto const is_free = [](command_option const& option) {
        return !option.value.empty() && option.choices.empty() && option.value != "FILE" &&
               option.value != "DIR";
    };
    std::string branches;
    for (auto const& [path, command] : places)
        for (auto const& option : command->options)
            if (!option.choices.empty())
                branches += bash_branch(paths_of(path, option), spaced(option.choices), "", "");
    return branches + bash_branch(options_where(places, which("FILE")), "", "", "-f") +
           bash_branch(options_where(places, which("DIR")), "", "", "-d") +
           bash_branch(options_where(places, is_free), "", "", "");
}

std::string bash_script(command_tree const& tree)
{
    auto const places = places_in(tree);
    std::string script(bash_head);
    script += fmt::format("        {}) command+=\" ${{COMP_WORDS[i]}}\" ;;\n"
                          "        esac\n    done\n    case $command in\n",
                          patterns(paths_below(places)));
    for (auto const& place : places)
        script += bash_command(place);
    script += "    esac\n    case \"$command $before\" in\n" + bash_values(places) + "    esac\n";
    script += bash_tail;
    return script;
}

// Inside an option's specification brackets end its text and colons end its parts.
std::string zsh_text(std::string_view text)
{
    return replaced(text, "\\[]:", "\\");
}

std::string zsh_action(command_option const& option)
{
    if (!option.choices.empty())
        return '(' + spaced(option.choices) + ')';
    return option.value == "FILE" ? "_files" : option.value == "DIR" ? "_files -/" : "";
}

// What _arguments is told of an option; each name excludes the others.
texts zsh_specifications(command_option const& option)
{
    texts all;
    for (auto const& name : option.names) {
        auto text = option.names.size() > 1 ? '(' + spaced(option.names) + ')' : std::string();
        text += name;
        if (!option.value.empty() && name.starts_with("--"))
            text += '=';
        text += '[' + zsh_text(option.sentence) + ']';
        if (!option.value.empty())
            text += ':' + option.value + ':' + zsh_action(option);
        all.push_back(quoted(text));
    }
    return all;
}

std::string zsh_name(std::string_view path)
{
    std::string name = '_' + std::string(path);
    std::ranges::replace(name, ' ', '_');
    return name;
}

// A function for each command: those with commands below pass the rest of the line on.
std::string zsh_function(command_place const& place)
{
    auto const& command = *place.command;
    texts told;
    for (auto const& option : command.options)
        for (auto const& specification : zsh_specifications(option))
            told.push_back(specification);
    for (auto const& argument : command.arguments)
        told.push_back(quoted(fmt::format("{}{}:{}", argument.is_required ? ":" : "::",
                                          argument.names.front(), zsh_action(argument))));
    auto const name = zsh_name(place.path);
    if (command.commands.empty())
        return fmt::format("{}() {{\n    _arguments {}\n}}\n\n", name,
                           fmt::join(told, " \\\n        "));

    told.insert(told.end(), {"'1:command:->command'", "'*::argument:->argument'"});
    std::string listed;
    std::string passed_on;
    for (auto const& below : command.commands) {
        listed += "            " + quoted(below.name + ':' + zsh_text(below.sentence)) + '\n';
        passed_on +=
            fmt::format("        {}) {} ;;\n", below.name, zsh_name(place.path + ' ' + below.name));
    }
    return fmt::format(R"({}() {{
    local curcontext=$curcontext state line
    typeset -A opt_args
    _arguments -C {}
    case $state in
    command)
        local -a commands=(
{}        )
        _describe command commands
        ;;
    argument)
        case $words[1] in
{}        esac
        ;;
    esac
}}

)",
                       name, fmt::join(told, " \\\n        "), listed, passed_on);
}

std::string zsh_script(command_tree const& tree)
{
    std::string script =
        "#compdef holdfast\n"
        "# zsh completion for holdfast, as `holdfast completion zsh` writes it.\n\n";
    for (auto const& place : places_in(tree))
        script += zsh_function(place);
    // A file of $fpath is run at the first completion, with what is to be completed.
    return script + "if [[ $funcstack[1] == _holdfast ]]; then\n    _holdfast \"$@\"\n"
                    "else\n    compdef _holdfast holdfast\nfi\n";
}

constexpr std::string_view fish_head =
    R"(# fish completion for holdfast, as `holdfast completion fish` writes it.
function __holdfast_is_at
    set -l command holdfast
    for word in (commandline -opc)[2..-1]
        switch "$command $word"
            case )";

constexpr std::string_view fish_after_head = R"(
                set command "$command $word"
        end
    end
    test "$command" = "$argv[1]"
end
complete -c holdfast -f
)";

// After -a, or in place of it, what is to be completed.
std::string fish_values(command_option const& option)
{
    if (!option.choices.empty())
        return " -x -a " + fish_quoted(spaced(option.choices));
    if (option.value == "DIR")
        return " -x -a '(__fish_complete_directories)'";
    return option.value == "FILE" ? " -r -F" : option.value.empty() ? "" : " -x";
}

std::string fish_option(command_option const& option)
{
    std::string names;
    for (auto const& name : option.names)
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    return fmt::format("{} -d {}{}", names, fish_quoted(option.sentence), fish_values(option));
}

std::string fish_argument(command_option const& argument)
{
    if (!argument.choices.empty())
        return " -a " + fish_quoted(spaced(argument.choices));
    return argument.value == "FILE" ? " -F" : "";
}

std::string fish_script(command_tree const& tree)
{
    auto const places = places_in(tree);
    texts paths;
    for (auto const& path : paths_below(places))
        paths.push_back(fish_quoted(path));
    auto script = fmt::format("{}{}{}", fish_head, fmt::join(paths, " "), fish_after_head);
    for (auto const& [path, command] : places) {
        auto const begin =
            "complete -c holdfast -n " + fish_quoted("__holdfast_is_at \"" + path + '"');
        for (auto const& below : command->commands)
            script += begin + " -a " + below.name + " -d " + fish_quoted(below.sentence) + '\n';
        for (auto const& option : command->options)
            script += begin + fish_option(option) + '\n';
        for (auto const& argument : command->arguments)
            if (auto const values = fish_argument(argument); !values.empty())
                script += begin + values + '\n';
    }
    return script;
}

} // namespace

std::string completion_script(shell for_shell, command_tree const& tree)
{
    switch (for_shell) {
    case shell::bash: return bash_script(tree);
    case shell::zsh: return zsh_script(tree);
    case shell::fish: return fish_script(tree);
    }
    return {};
}

} // namespace holdfast::cli

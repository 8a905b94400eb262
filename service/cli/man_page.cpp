// SPDX-License-Identifier: Apache-2.0

#include "service/cli/man_page.hpp"

#include "stock/text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <set>

namespace holdfast::cli {

namespace {

using texts = std::vector<std::string>;

// Values that are few and short stand behind their option, others in its sentence.
constexpr std::size_t choices_size_max = 40;

// Plain text as roff shows it unchanged: a dash stays the one that can be pasted, and nothing at
// the beginning of a line is a request.
std::string roff(std::string_view text)
{
    std::string written = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
    while (auto const character = next_character(text)) {
        if (*character > 0x7F)
            written += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(*character));
        else if (*character == '\\')
            written += "\\e";
        else if (*character == '-')
            written += "\\-";
        else if (*character == '\'')
            written += "\\(aq";
        else if (*character == '`')
            written += "\\(ga";
        else
            written += static_cast<char>(*character);
    }
    return written;
}

std::string bold(std::string_view text)
{
    return "\\fB" + roff(text) + "\\fR";
}

std::string italic(std::string_view text)
{
    return "\\fI" + roff(text) + "\\fR";
}

bool has_short_choices(command_option const& option)
{
    auto const size = fmt::format("{}", fmt::join(option.choices, "|")).size();
    return !option.choices.empty() && size <= choices_size_max;
}

// "-h, --help", "--mode set|add|count", "--sku TEXT".
std::string heading_of(command_option const& option)
{
    texts names;
    for (auto const& name : option.names)
        names.push_back(name.starts_with('-') ? bold(name) : italic(name));
    auto heading = fmt::format("{}", fmt::join(names, ", "));
    if (has_short_choices(option)) {
        texts choices;
        for (auto const& choice : option.choices)
            choices.push_back(bold(choice));
        heading += fmt::format(" {}", fmt::join(choices, "|"));
    } else if (!option.value.empty() && option.names.front().starts_with('-')) {
        heading += ' ' + italic(option.value);
    }
    return heading;
}

std::string with_full_stop(std::string sentence)
{
    // What a setting accepts follows its sentence in brackets.
    auto const is_whole = sentence.ends_with('.') ||
                          (sentence.ends_with(')') && sentence.find(". (") != std::string::npos);
    if (!sentence.empty() && !is_whole)
        sentence += '.';
    return sentence;
}

std::string sentences_of(command_option const& option)
{
    auto told = with_full_stop(option.sentence);
    if (!option.choices.empty() && !has_short_choices(option))
        told += fmt::format(" One of {}.", fmt::join(option.choices, ", "));
    if (!option.preset.empty())
        told += fmt::format(" Without it: {}.", option.preset);
    if (!option.variable.empty())
        told += fmt::format(" Also {}.", option.variable);
    if (option.is_required && option.names.front().starts_with('-'))
        told += " Has to be given.";
    return told;
}

std::string entry_of(command_option const& option)
{
    return ".TP\n" + heading_of(option) + '\n' + roff(sentences_of(option)) + '\n';
}

// An option that several commands take alike is described once.
struct shared_option {
    command_option const* option;
    texts takers;
};

bool is_same(command_option const& one, command_option const& other)
{
    return one.names == other.names && one.sentence == other.sentence &&
           one.choices == other.choices;
}

// "stock get" of "holdfast stock get".
std::string below_root(std::string const& path)
{
    auto const space = path.find(' ');
    return space == std::string::npos ? std::string() : path.substr(space + 1);
}

bool is_done_by_itself(command_place const& place)
{
    return place.command->commands.empty();
}

std::vector<shared_option> options_of(std::vector<command_place> const& places)
{
    std::vector<shared_option> all;
    for (auto const& [path, command] : places)
        for (auto const& option : command->options) {
            auto const known = std::ranges::find_if(
                all, [&](auto const& each) { return is_same(*each.option, option); });
            auto& entry =
                known == all.end() ? all.emplace_back(shared_option{&option, {}}) : *known;
            entry.takers.push_back(below_root(path));
        }
    return all;
}

std::string commands_section(std::vector<command_place> const& places,
                             std::vector<shared_option> const& options)
{
    std::string section = ".SH COMMANDS\n";
    for (auto const& place : places) {
        if (!is_done_by_itself(place))
            continue;
        auto heading = ".SS " + bold(place.path) + " [" + italic("OPTION") + " ...]";
        for (auto const& argument : place.command->arguments)
            heading += argument.is_required ? ' ' + heading_of({.names = argument.names})
                                            : " [" + italic(argument.names.front()) + ']';
        section += heading + '\n' + roff(with_full_stop(place.command->sentence)) + '\n';
        for (auto const& argument : place.command->arguments)
            section += entry_of(argument);
        for (auto const& each : options)
            if (each.takers.size() == 1 && each.takers.front() == below_root(place.path))
                section += entry_of(*each.option);
    }
    return section;
}

// Of the program, then those of many commands, each group under who takes it.
std::string options_section(std::vector<shared_option> const& options, std::size_t commands)
{
    std::string section = ".SH OPTIONS\nWithout a command:\n";
    for (auto const& each : options)
        if (each.takers.size() == 1 && each.takers.front().empty())
            section += entry_of(*each.option);
    std::set<texts> told;
    for (auto const& first : options) {
        if (first.takers.size() < 2 || !told.insert(first.takers).second)
            continue;
        texts takers;
        for (auto const& taker : first.takers)
            takers.push_back(bold(taker));
        section += first.takers.size() == commands
                       ? std::string(".PP\nOf every command:\n")
                       : fmt::format(".PP\nOf {}:\n", fmt::join(takers, ", "));
        for (auto const& each : options)
            if (each.takers == first.takers)
                section += entry_of(*each.option);
    }
    return section;
}

std::string environment_section(std::vector<shared_option> const& options)
{
    std::string section = R"(.SH ENVIRONMENT
A flag decides before the environment, the environment before the file of
.BR \-\-config .
An empty variable counts as not set.
)";
    std::set<std::string> told;
    for (auto const& [option, takers] : options)
        if (!option->variable.empty() && told.insert(option->variable).second)
            section +=
                ".TP\n" + bold(option->variable) + "\nFor " + bold(option->names.back()) + ".\n";
    return section + R"(.TP
.B HOLDFAST_CONFIG
For
.BR \-\-config .
.TP
.BI HOLDFAST_ SETTING
For each option of
.BR "holdfast serve" :
.B HOLDFAST_HOLD_TTL_SECONDS
for
.BR \-\-hold\-ttl\-seconds .
A secret is best given by the name of a file that holds it:
.BR HOLDFAST_DATABASE_URL_FILE .
)";
}

constexpr std::string_view description = R"(.SH DESCRIPTION
Holdfast reserves stock over HTTP: units are held at checkout, confirmed once they are paid for, and
released otherwise.
Units sold never pass units owned, whatever is concurrent, crashes or is repeated.
.PP
.B holdfast serve
is the service.
Commands of its keeper
.RB ( migrate ", " key ", " staff ", " audit ", " doctor )
work on its database and take the same settings;
the others go over HTTP and take
.B \-\-url
and
.BR \-\-key .
)";

constexpr std::string_view end_of_page = R"(.SH EXIT STATUS
.TP
.B 0
All is well.
.TP
.B 1
There is an answer, and it is bad: an invariant broke, a request or a file was refused, something is
to be mended.
.TP
.B 2
There is no answer to judge: wrong options or settings, no database, no connection, a key that may
not.
.TP
.B 130
Interrupted by the keyboard.
.SH EXAMPLES
Serve on a database of its own, in a folder:
.PP
.RS
.nf
holdfast serve \-\-data /var/lib/holdfast
.fi
.RE
.PP
Make a key for the shop, which is printed this once:
.PP
.RS
.nf
holdfast key create \-\-role shop \-\-name checkout \-\-data /var/lib/holdfast
.fi
.RE
.PP
See what a delivery would change, then book it:
.PP
.RS
.nf
export HOLDFAST_URL=http://127.0.0.1:8080 HOLDFAST_KEY=...
holdfast import delivery.csv \-\-mode add \-\-dry\-run
holdfast import delivery.csv \-\-mode add
.fi
.RE
.PP
Write down that a stocktake found 118 shirts, unless somebody changed the 120 seen before:
.PP
.RS
.nf
holdfast stock count TEE\-M 118 \-\-expect 120
.fi
.RE
.PP
Rehearse a rush on an item of its own, and prove the numbers:
.PP
.RS
.nf
holdfast drill \-\-sku DRILL\-1 \-\-requests 200 \-\-clients 200 \-\-release
holdfast audit \-\-data /var/lib/holdfast
.fi
.RE
.SH SEE ALSO
.BI "holdfast " COMMAND " \-\-help"
tells the options of one command,
.B holdfast completion
prints what completes them in a shell.
)";

} // namespace

std::string man_page(command_tree const& tree, std::string_view version)
{
    auto const places = places_in(tree);
    auto const options = options_of(places);
    auto purpose = tree.sentence;
    if (auto const colon = purpose.find(": "); colon != std::string::npos)
        purpose.erase(0, colon + 2);
    auto page = fmt::format(".TH HOLDFAST 1 \"\" \"Holdfast {}\" \"User Commands\"\n", version);
    page += ".SH NAME\nholdfast \\- " + roff(purpose) + '\n';
    page += ".SH SYNOPSIS\n.B holdfast\n.I COMMAND\n[\\fIOPTION\\fR ...]\n.br\n.B holdfast\n"
            "\\fB\\-\\-help\\fR | \\fB\\-\\-version\\fR\n";
    page += description;
    page += commands_section(places, options);
    page += options_section(options, places.size());
    page += environment_section(options);
    page += end_of_page;
    return page;
}

} // namespace holdfast::cli

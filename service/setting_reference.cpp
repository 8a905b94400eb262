// SPDX-License-Identifier: Apache-2.0
// Settings for people: the flags of a command, the values in force, and the page of the manual.
#include "service/setting_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace holdfast {

namespace {

using settings::setting;

template <class... Visitors>
struct overloaded : Visitors... {
    using Visitors::operator()...;
};
template <class... Visitors>
overloaded(Visitors...) -> overloaded<Visitors...>;

std::string text_of(config const& of, setting const& s)
{
    return std::visit(
        overloaded{
            [&](settings::number const& kind) { return std::to_string(of.*kind.member); },
            [&](settings::text const& kind) { return of.*kind.member; },
            [&](settings::strategy_name const& kind) { return of.*kind.member; },
            [&](settings::secret const& kind) {
                return std::string((of.*kind.member).empty() ? "not set" : "set");
            },
            [&](auto const& kind) {
                return std::string(kind.names[static_cast<std::size_t>(of.*kind.member)]);
            },
        },
        s.kind);
}

// The values a setting takes, for people: "1…64", "json, text".
std::string accepted_by(setting const& s)
{
    return std::visit(
        overloaded{
            [](settings::number const& kind) { return fmt::format("{}…{}", kind.min, kind.max); },
            [](settings::text const& kind) { return std::string(kind.accepts); },
            [](settings::secret const& kind) { return std::string(kind.accepts); },
            [](settings::strategy_name const&) { return std::string("a strategy's name"); },
            [](auto const& kind) { return fmt::format("{}", fmt::join(kind.names, ", ")); },
        },
        s.kind);
}

// The same in one word, as it stands behind the flag.
std::string value_of(setting const& s)
{
    if (std::holds_alternative<settings::number>(s.kind))
        return "N";
    auto const* const kind = std::get_if<settings::text>(&s.kind);
    if (kind == nullptr)
        return "TEXT";
    return kind->accepts == "directory" ? "DIR" : kind->accepts == "file" ? "FILE" : "TEXT";
}

std::vector<std::string> choices_of(setting const& s, std::vector<std::string> const& strategies)
{
    using names = std::vector<std::string>;
    return std::visit(
        overloaded{
            [](settings::number const&) { return names{}; },
            [](settings::text const&) { return names{}; },
            [](settings::secret const&) { return names{}; },
            [&](settings::strategy_name const&) { return strategies; },
            [](auto const& kind) { return names(kind.names.begin(), kind.names.end()); },
        },
        s.kind);
}

std::string without_backticks(std::string_view sentence)
{
    std::string plain(sentence);
    std::erase(plain, '`');
    return plain;
}

constexpr std::string_view reference_head = R"(# Settings

Each setting can be given in four places. The first that has it decides:

1. a flag of the command: `--hold-ttl-seconds 600`
2. a variable of the environment: `HOLDFAST_HOLD_TTL_SECONDS=600`; an empty one counts as not set
3. the TOML file named by `--config FILE` or `HOLDFAST_CONFIG`: `hold_ttl_seconds = 600`
4. the default in the table below

`holdfast serve` takes all flags; `migrate`, `key`, `audit` and `doctor` take those marked with `*`,
and read the same environment and file.

A key that is not in the table, a value of the wrong type or out of its bounds stops the start with
a sentence for each. A variable that begins with `HOLDFAST_` and is none of these is only warned of,
because container platforms set such variables themselves.

The secrets are `database_url`, `admin_key` and `redis_url`. No log and no report shows them. Each
can also be read from a file, named by the same name with `_file` behind it:
`HOLDFAST_ADMIN_KEY_FILE`, `--admin-key-file`, `admin_key_file`. A flag is visible to everybody who
can list the machine's processes, so give a secret as a file or a variable.

A settings file for a shop behind a load balancer:

```toml
listen = "0.0.0.0:8080"
database_url_file = "/run/secrets/holdfast_database_url"
hold_ttl_seconds = 600
rate_limit_per_key = 500
```

This page is the output of `holdfast settings`.

| setting | variable | flag | default | accepts | what it does |
|---|---|---|---|---|---|
)";

} // namespace

std::vector<setting_flag> flags_of(setting_scope scope, std::vector<std::string> const& strategies)
{
    config const defaults;
    std::vector<setting_flag> flags;
    for (auto const& s : settings::table()) {
        if (scope == setting_scope::database && s.scope != setting_scope::database)
            continue;
        flags.push_back(
            {.name = std::string(s.name),
             .flag = settings::flag_of(s.name),
             .sentence = fmt::format("{} ({}; default {})", without_backticks(s.sentence),
                                     accepted_by(s), text_of(defaults, s)),
             .value = value_of(s),
             .choices = choices_of(s, strategies)});
        if (auto const name = settings::file_name_of(s.name); settings::is_secret(s))
            flags.push_back({.name = name,
                             .flag = settings::flag_of(name),
                             .sentence = fmt::format("File that holds {}.", s.name),
                             .value = "FILE",
                             .choices = {}});
    }
    return flags;
}

std::vector<setting_text> describe(config const& described)
{
    std::vector<setting_text> texts;
    for (auto const& s : settings::table())
        texts.push_back({.name = s.name, .text = text_of(described, s)});
    return texts;
}

std::string settings_reference()
{
    config const defaults;
    std::string page(reference_head);
    for (auto const& s : settings::table())
        page += fmt::format("| `{}`{} | `{}` | `{}` | {} | {} | {} |\n", s.name,
                            s.scope == setting_scope::database ? " *" : "",
                            settings::variable_of(s.name), settings::flag_of(s.name),
                            text_of(defaults, s), accepted_by(s), s.sentence);
    return page;
}

} // namespace holdfast

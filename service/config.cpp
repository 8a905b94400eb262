// SPDX-License-Identifier: Apache-2.0
#include "service/config.hpp"

#include "service/setting_table.hpp"
#include "service/setting_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <utility>

namespace holdfast {

namespace {

using settings::given_value;
using settings::setting;

// A settings file or a file with a secret is small; what is larger is the wrong file.
constexpr std::size_t file_bytes_max = 1 << 20;

// Variables that other parts of this project read: the commands that work over HTTP, and the tests.
constexpr std::array<std::string_view, 6> other_variables{
    "HOLDFAST_CONFIG",         "HOLDFAST_URL",    "HOLDFAST_KEY",
    "HOLDFAST_WEBHOOK_SECRET", "HOLDFAST_BINARY", "HOLDFAST_SEED"};
constexpr std::string_view test_variable_prefix = "HOLDFAST_TEST_";

// Characters to add, remove or change to make one text of the other (Levenshtein's distance).
std::size_t distance_between(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), 0U);
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < b.size(); ++j) {
            auto const changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, changed});
        }
    }
    return row.back();
}

// The known name that was probably meant, when one is near enough.
std::optional<std::string> nearest(std::string_view name, std::vector<std::string> const& known)
{
    auto const distance_max = std::clamp<std::size_t>(name.size() / 4, 1, 4);
    std::optional<std::string> found;
    auto least = distance_max + 1;
    for (auto const& candidate : known) {
        auto const distance = distance_between(name, candidate);
        if (distance < least) {
            least = distance;
            found = candidate;
        }
    }
    return found;
}

struct file_text {
    std::string text;
    std::string fault; // to be read after the file's name; empty = none
};

file_text read_file(std::string const& path)
{
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    if (!file)
        return {.text = {}, .fault = fmt::format("cannot be read: {}", std::strerror(errno))};
    std::string content(file_bytes_max + 1, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    if (file.bad())
        return {.text = {}, .fault = fmt::format("cannot be read: {}", std::strerror(errno))};
    content.resize(static_cast<std::size_t>(file.gcount()));
    if (content.size() > file_bytes_max)
        return {.text = {}, .fault = fmt::format("is larger than {} bytes", file_bytes_max)};
    return {.text = std::move(content), .fault = {}};
}

// Values of one source by setting name. A secret's file stands under its own name.
using given_values = std::map<std::string, given_value, std::less<>>;

given_values values_of_flags(text_by_name const& flags)
{
    given_values values;
    for (auto const& [name, value] : flags)
        values.emplace(name, given_value{.where = settings::flag_of(name), .text = value});
    return values;
}

given_values values_of_environment(text_by_name const& environment)
{
    given_values values;
    for (auto const& name : settings::known_names()) {
        auto const variable = settings::variable_of(name);
        auto const found = environment.find(variable);
        if (found != environment.end() && !found->second.empty())
            values.emplace(name, given_value{.where = variable, .text = found->second});
    }
    return values;
}

std::string type_of(toml::node const& node)
{
    switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "an array";
    case toml::node_type::floating_point: return "a number with a fraction";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or a time";
    }
}

given_value value_of_node(toml::node const& node, std::string where)
{
    using kind = given_value::kind;
    if (auto const* const quoted = node.as_string())
        return {.where = std::move(where), .text = quoted->get(), .shape = kind::quoted};
    if (auto const* const whole = node.as_integer())
        return {.where = std::move(where),
                .text = std::to_string(whole->get()),
                .shape = kind::whole_number};
    return {.where = std::move(where), .text = type_of(node), .shape = kind::other};
}

// Why a file is not TOML. The parser may quote what it read there, so a file with a secret in it
// gets no reason.
std::string reason_to_show(toml::parse_error const& error, std::string_view content)
{
    auto const has_secret = std::ranges::any_of(settings::table(), [&](setting const& s) {
        return settings::is_secret(s) && content.find(s.name) != std::string_view::npos;
    });
    return has_secret ? "" : fmt::format(": {}", error.description());
}

// Works through the sources and collects every problem, so that all can be mended in one go.
class loader {
public:
    explicit loader(setting_sources const& sources)
        : sources_(sources), target_{.into = {}, .strategies = sources.strategies}
    {}

    loaded_config load();

private:
    given_values values_of_file();
    given_values known_values(std::string_view path, toml::table const&);
    void reject_unknown(std::string_view name, std::string_view where);
    bool is_known(std::string_view name) const;
    std::optional<given_value> find(setting const&);
    std::optional<given_value> read_secret(given_value const& file);
    void apply(setting const&, given_value const&);
    void check_together();
    std::vector<std::string> warnings() const;

    setting_sources const& sources_;
    std::vector<std::string> const names_ = settings::known_names();
    settings::target target_;
    std::vector<std::string> problems_;
    std::vector<given_values> by_precedence_; // flags, environment, file
};

loaded_config loader::load()
{
    by_precedence_ = {values_of_flags(sources_.flags), values_of_environment(sources_.environment),
                      values_of_file()};
    for (auto const& [name, given] : by_precedence_.front())
        if (!is_known(name))
            reject_unknown(name, given.where);
    for (auto const& s : settings::table())
        if (auto const given = find(s))
            apply(s, *given);
    if (problems_.empty())
        check_together();
    if (!problems_.empty())
        throw config_error(fmt::format("{}", fmt::join(problems_, "\n")));
    return {.settings = std::move(target_.into), .warnings = warnings()};
}

given_values loader::values_of_file()
{
    auto path = sources_.config_file;
    if (auto const variable = sources_.environment.find("HOLDFAST_CONFIG");
        path.empty() && variable != sources_.environment.end())
        path = variable->second;
    if (path.empty())
        return {};

    auto const [content, fault] = read_file(path);
    if (!fault.empty()) {
        problems_.push_back(fmt::format("The settings file {} {}.", path, fault));
        return {};
    }
    try {
        return known_values(path, toml::parse(std::string_view(content)));
    } catch (toml::parse_error const& error) {
        problems_.push_back(fmt::format("{} line {} is not valid TOML{}.", path,
                                        error.source().begin.line, reason_to_show(error, content)));
        return {};
    }
}

given_values loader::known_values(std::string_view path, toml::table const& table)
{
    given_values values;
    for (auto const& [key, node] : table) {
        auto const where = fmt::format("{} line {}", path, key.source().begin.line);
        if (is_known(key.str()))
            values.emplace(key.str(), value_of_node(node, where));
        else
            reject_unknown(key.str(), where);
    }
    return values;
}

void loader::reject_unknown(std::string_view name, std::string_view where)
{
    auto const meant = nearest(name, names_);
    problems_.push_back(fmt::format("There is no setting {} ({}){}", settings::shown(name), where,
                                    meant ? fmt::format("; did you mean {}?", *meant) : "."));
}

// The value of the first source that has one.
std::optional<given_value> loader::find(setting const& s)
{
    for (auto const& source : by_precedence_) {
        auto const direct = source.find(s.name);
        auto const file =
            settings::is_secret(s) ? source.find(settings::file_name_of(s.name)) : source.end();
        if (direct != source.end() && file != source.end()) {
            problems_.push_back(fmt::format("{} is given twice ({} and {}); keep one.", s.name,
                                            direct->second.where, file->second.where));
            return std::nullopt;
        }
        if (direct != source.end())
            return direct->second;
        if (file != source.end())
            return read_secret(file->second);
    }
    return std::nullopt;
}

// The content of the file a secret stands in, without the line end that editors add.
std::optional<given_value> loader::read_secret(given_value const& file)
{
    if (!settings::is_text(file)) {
        problems_.push_back(fmt::format("{} must be the path of a file in quotes.", file.where));
        return std::nullopt;
    }
    auto [content, fault] = read_file(file.text);
    if (content.ends_with('\n'))
        content.pop_back();
    if (content.ends_with('\r'))
        content.pop_back();
    if (fault.empty() && content.empty())
        fault = "is empty";
    // The path is not shown: it may be the secret itself, given by mistake instead of a file.
    if (!fault.empty()) {
        problems_.push_back(fmt::format("The file named by {} {}.", file.where, fault));
        return std::nullopt;
    }
    return given_value{.where = file.where, .text = std::move(content)};
}

void loader::apply(setting const& s, given_value const& given)
{
    if (auto problem = settings::assign(target_, s, given))
        problems_.push_back(std::move(*problem));
}

void loader::check_together()
{
    auto const [lock_ms, statement_ms] =
        std::pair(target_.into.lock_timeout_ms, target_.into.statement_timeout_ms);
    if (lock_ms > statement_ms)
        problems_.push_back(fmt::format(
            "lock_timeout_ms ({}) must not be above statement_timeout_ms ({}), which would end the "
            "wait first.",
            lock_ms, statement_ms));
}

bool loader::is_known(std::string_view name) const
{
    return std::ranges::find(names_, name) != names_.end();
}

std::vector<std::string> loader::warnings() const
{
    std::vector<std::string> found;
    for (auto const& [variable, value] : sources_.environment) {
        if (!variable.starts_with(settings::variable_prefix) ||
            variable.starts_with(test_variable_prefix) ||
            std::ranges::find(other_variables, variable) != other_variables.end())
            continue;
        auto const name = settings::name_of_variable(variable);
        if (is_known(name))
            continue;
        auto const meant = nearest(name, names_);
        found.push_back(fmt::format(
            "{} is not a setting and is ignored{}", variable,
            meant ? fmt::format("; did you mean {}?", settings::variable_of(*meant)) : "."));
    }
    return found;
}

} // namespace

loaded_config load(setting_sources const& sources)
{
    return loader(sources).load();
}

text_by_name holdfast_environment()
{
    text_by_name found;
    for (auto const* const* entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
        std::string_view const line(*entry);
        auto const equals = line.find('=');
        if (line.starts_with(settings::variable_prefix) && equals != std::string_view::npos)
            found.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
    return found;
}

} // namespace holdfast

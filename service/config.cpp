// SPDX-License-Identifier: Apache-2.0
#include "service/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <span>
#include <system_error>
#include <utility>
#include <variant>

namespace holdfast {

namespace {

// A settings file or a file with a secret is small; what is larger is the wrong file.
constexpr std::size_t file_bytes_max = 1 << 20;

constexpr std::string_view variable_prefix = "HOLDFAST_";
constexpr std::string_view file_suffix = "_file";

// Variables that other parts of this project read: the commands that work over HTTP, and the tests.
constexpr std::array<std::string_view, 5> other_variables{
    "HOLDFAST_CONFIG", "HOLDFAST_URL", "HOLDFAST_KEY", "HOLDFAST_BINARY", "HOLDFAST_SEED"};
constexpr std::string_view test_variable_prefix = "HOLDFAST_TEST_";

// Says what is wrong with a text, to be read after "must be"; nothing when it may stand.
using text_rule = std::optional<std::string> (*)(std::string_view);

struct number {
    int config::*member;
    int min;
    int max;
};

struct text {
    std::string config::*member;
    std::string_view accepts;
    text_rule fault_of;
};

// Text that no log, report or error may show; may also be given as a file that holds it.
struct secret {
    std::string config::*member;
    std::string_view accepts;
    text_rule fault_of;
};

// One of setting_sources::strategies.
struct strategy_name {
    std::string config::*member;
};

template <class Enum>
struct choice {
    Enum config::*member;
    std::span<std::string_view const> names; // in the order of the enum
};

using setting_kind =
    std::variant<number, text, secret, strategy_name, choice<log::level>, choice<log::format>>;

struct setting {
    std::string_view name;
    setting_kind kind;
    setting_scope scope; // the smallest that takes its flag
    std::string_view sentence;
};

bool is_printable_ascii(std::string_view value) noexcept
{
    return std::ranges::all_of(value, [](char c) { return c > ' ' && c < 0x7F; });
}

bool is_control_character(char c) noexcept
{
    return (c >= 0 && c < ' ') || c == 0x7F;
}

bool has_control_characters(std::string_view value) noexcept
{
    return std::ranges::any_of(value, is_control_character);
}

std::optional<std::string> fault_of_endpoint(std::string_view value)
{
    if (parse_endpoint(value))
        return std::nullopt;
    return "an address and a port, such as 127.0.0.1:8080 or [::1]:8080";
}

std::optional<std::string> fault_of_path(std::string_view value)
{
    if (!value.empty() && !has_control_characters(value))
        return std::nullopt;
    return "the path of a directory";
}

std::optional<std::string> fault_of_database_url(std::string_view value)
{
    if (!has_control_characters(value))
        return std::nullopt;
    return "one line of text";
}

// What a bearer token can carry, and long enough not to be guessed over the network.
std::optional<std::string> fault_of_admin_key(std::string_view value)
{
    if (value.empty() || (value.size() >= 16 && value.size() <= 200 && is_printable_ascii(value)))
        return std::nullopt;
    return "16 to 200 printable ASCII characters without spaces";
}

constexpr auto service = setting_scope::service;
constexpr auto database = setting_scope::database;

setting const settings[] = {
    {"listen", text{&config::listen, "address:port", fault_of_endpoint}, service,
     "Where the HTTP API listens; port 0 takes a free one, which the ready line names."},
    {"data", text{&config::data, "directory", fault_of_path}, database,
     "Directory of the private PostgreSQL cluster, made when it is missing; not used when "
     "`database_url` is set."},
    {"database_url", secret{&config::database_url, "connection string", fault_of_database_url},
     database,
     "PostgreSQL server to use, as a `postgresql://` URL or as `key=value` pairs; empty means the "
     "private cluster in `data`."},
    {"admin_key", secret{&config::admin_key, "16…200 characters", fault_of_admin_key}, service,
     "An admin's API key that is known from the start, to make the others with; empty means none."},
    {"strategy", strategy_name{&config::strategy}, service,
     "How units are deducted where an item names no strategy of its own; a wrong name is answered "
     "with the right ones."},
    {"hold_ttl_seconds", number{&config::hold_ttl_seconds, 1, 604'800}, service,
     "How long a hold lasts when the request does not say."},
    {"open_holds_per_customer", number{&config::open_holds_per_customer, 0, 1'000'000}, service,
     "Holds one customer may have open at once, against hoarding; 0 means no cap."},

    {"io_threads", number{&config::io_threads, 1, 64}, service,
     "Threads that read requests and write answers; one serves tens of thousands a second."},
    {"database_sessions", number{&config::database_sessions, 1, 200}, service,
     "Database sessions, and so transactions at once; more only help while the server has idle "
     "processors, and must fit its `max_connections`."},
    {"queue_length_max", number{&config::queue_length_max, 16, 1'000'000}, service,
     "Requests that may wait for a database session; one more is answered 503 `overloaded` at "
     "once."},
    {"queue_wait_ms", number{&config::queue_wait_ms, 10, 60'000}, service,
     "Longest wait for a database session, after which a request is answered 503 `overloaded`."},
    {"statement_timeout_ms", number{&config::statement_timeout_ms, 100, 600'000}, database,
     "Longest time PostgreSQL may work on one statement before it is cancelled."},
    {"lock_timeout_ms", number{&config::lock_timeout_ms, 50, 60'000}, database,
     "Longest wait for a row's lock, and how long a repeated `Idempotency-Key` waits for the first "
     "request; never above `statement_timeout_ms`."},

    {"connections_max", number{&config::connections_max, 8, 1'000'000}, service,
     "HTTP connections open at once; one more is answered 503 `overloaded` and closed. The process "
     "needs as many file descriptors and some more."},
    {"request_read_seconds", number{&config::request_read_seconds, 1, 3600}, service,
     "Time a client has to send a whole request once it began; a slower one is cut off."},
    {"idle_connection_seconds", number{&config::idle_connection_seconds, 1, 3600}, service,
     "How long a connection may stay open without a request; keep it longer than the load "
     "balancer's, so that the balancer closes first."},
    {"drain_seconds", number{&config::drain_seconds, 0, 600}, service,
     "Longest time requests in flight have to end after SIGTERM."},

    {"rate_limit_per_key", number{&config::rate_limit_per_key, 0, 1'000'000}, service,
     "Requests a second for one API key; 0 means no limit."},
    {"rate_burst_per_key", number{&config::rate_burst_per_key, 0, 1'000'000}, service,
     "Requests a rested API key may make at once; 0 means as many as `rate_limit_per_key`."},
    {"rate_limit_per_customer", number{&config::rate_limit_per_customer, 0, 1'000'000}, service,
     "Reservations a second for one customer; 0 means no limit."},
    {"rate_burst_per_customer", number{&config::rate_burst_per_customer, 0, 1'000'000}, service,
     "Reservations a rested customer may make at once; 0 means as many as "
     "`rate_limit_per_customer`."},

    {"log_level", choice<log::level>{&config::log_level, log::level_names}, service,
     "The least serious lines written to the log; `debug` has a line for every request."},
    {"log_format", choice<log::format>{&config::log_format, log::format_names}, service,
     "How a line of the log is written: `json` for machines, `text` for people."},
};

template <class... Visitors>
struct overloaded : Visitors... {
    using Visitors::operator()...;
};

bool is_secret(setting const& s)
{
    return std::holds_alternative<secret>(s.kind);
}

std::string variable_of(std::string_view name)
{
    std::string variable(variable_prefix);
    for (auto const c : name)
        variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return variable;
}

// The other way round; a variable in lower case is no setting's, as `variable_of` never makes one.
std::string name_of_variable(std::string_view variable)
{
    std::string name;
    for (auto const c : variable.substr(variable_prefix.size()))
        name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return variable_of(name) == variable ? name : std::string(variable);
}

std::string flag_of(std::string_view name)
{
    auto flag = fmt::format("--{}", name);
    std::ranges::replace(flag, '_', '-');
    return flag;
}

std::string file_name_of(std::string_view name)
{
    return fmt::format("{}{}", name, file_suffix);
}

// Every name a setting may be given under: its own, and for a secret that of the file as well.
std::vector<std::string> known_names()
{
    std::vector<std::string> names;
    for (auto const& s : settings) {
        names.emplace_back(s.name);
        if (is_secret(s))
            names.push_back(file_name_of(s.name));
    }
    return names;
}

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

// A value as somebody gave it, and where, in words: "HOLDFAST_LISTEN" or "shop.toml line 3".
struct given_value {
    enum class kind { plain, quoted, whole_number, other }; // plain: of a flag, variable or file

    std::string where;
    std::string text; // for `other`, what it is, such as "an array"
    given_value::kind shape = kind::plain;
};

// Values of one source by setting name. A secret's file stands under its own name.
using given_values = std::map<std::string, given_value, std::less<>>;

given_values values_of_flags(text_by_name const& flags)
{
    given_values values;
    for (auto const& [name, value] : flags)
        values.emplace(name, given_value{.where = flag_of(name), .text = value});
    return values;
}

given_values values_of_environment(text_by_name const& environment)
{
    given_values values;
    for (auto const& name : known_names()) {
        auto const variable = variable_of(name);
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
    auto const has_secret = std::ranges::any_of(settings, [&](setting const& s) {
        return is_secret(s) && content.find(s.name) != std::string_view::npos;
    });
    return has_secret ? "" : fmt::format(": {}", error.description());
}

// A value in quotes, shortened, and with nothing in it that could upset a terminal.
std::string shown(std::string_view value)
{
    constexpr std::size_t shown_max = 60;
    std::string text(value.substr(0, shown_max));
    std::ranges::replace_if(text, is_control_character, '?');
    return fmt::format("\"{}{}\"", text, value.size() > shown_max ? "…" : "");
}

// Where values go, with the names that `strategy` may have.
struct target {
    config into;
    std::vector<std::string> const& strategies;
};

// What `set` found wrong, to be read after "must be"; nothing once the setting has the value.
using expectation = std::optional<std::string>;

expectation set(target& to, number const& kind, given_value const& given)
{
    std::int64_t parsed = 0;
    auto const* const end = given.text.data() + given.text.size();
    auto const [stop, fault] = std::from_chars(given.text.data(), end, parsed);
    auto const is_number = fault == std::errc{} && stop == end;
    auto const is_quoted = given.shape == given_value::kind::quoted;
    if (!is_number || is_quoted || parsed < kind.min || parsed > kind.max)
        return fmt::format("a whole number from {} to {}{}", kind.min, kind.max,
                           is_number && is_quoted ? " without quotes" : "");
    to.into.*kind.member = static_cast<int>(parsed);
    return std::nullopt;
}

bool is_text(given_value const& given)
{
    return given.shape == given_value::kind::plain || given.shape == given_value::kind::quoted;
}

expectation set_text(std::string& into, text_rule fault_of, given_value const& given)
{
    if (!is_text(given))
        return "text in quotes";
    if (auto fault = fault_of(given.text))
        return fault;
    into = given.text;
    return std::nullopt;
}

expectation set(target& to, text const& kind, given_value const& given)
{
    return set_text(to.into.*kind.member, kind.fault_of, given);
}

expectation set(target& to, secret const& kind, given_value const& given)
{
    return set_text(to.into.*kind.member, kind.fault_of, given);
}

expectation set(target& to, strategy_name const& kind, given_value const& given)
{
    auto const is_known = std::ranges::find(to.strategies, given.text) != to.strategies.end();
    if (!is_text(given) || !is_known)
        return fmt::format("one of {}", fmt::join(to.strategies, ", "));
    to.into.*kind.member = given.text;
    return std::nullopt;
}

template <class Enum>
expectation set(target& to, choice<Enum> const& kind, given_value const& given)
{
    auto const found = std::ranges::find(kind.names, given.text);
    if (!is_text(given) || found == kind.names.end())
        return fmt::format("one of {}", fmt::join(kind.names, ", "));
    to.into.*kind.member = static_cast<Enum>(found - kind.names.begin());
    return std::nullopt;
}

std::string problem_with(setting const& s, given_value const& given, std::string_view expected)
{
    if (is_secret(s))
        return fmt::format("{} must be {} ({}).", s.name, expected, given.where);
    auto const instead = given.shape == given_value::kind::other ? given.text : shown(given.text);
    return fmt::format("{} must be {}, not {} ({}).", s.name, expected, instead, given.where);
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
    std::vector<std::string> const names_ = known_names();
    target target_;
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
    for (auto const& s : settings)
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
    problems_.push_back(fmt::format("There is no setting {} ({}){}", shown(name), where,
                                    meant ? fmt::format("; did you mean {}?", *meant) : "."));
}

// The value of the first source that has one.
std::optional<given_value> loader::find(setting const& s)
{
    for (auto const& source : by_precedence_) {
        auto const direct = source.find(s.name);
        auto const file = is_secret(s) ? source.find(file_name_of(s.name)) : source.end();
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
    if (!is_text(file)) {
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
    auto const expected =
        std::visit([&](auto const& kind) { return set(target_, kind, given); }, s.kind);
    if (expected)
        problems_.push_back(problem_with(s, given, *expected));
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
        if (!variable.starts_with(variable_prefix) || variable.starts_with(test_variable_prefix) ||
            std::ranges::find(other_variables, variable) != other_variables.end())
            continue;
        auto const name = name_of_variable(variable);
        if (is_known(name))
            continue;
        auto const meant = nearest(name, names_);
        found.push_back(
            fmt::format("{} is not a setting and is ignored{}", variable,
                        meant ? fmt::format("; did you mean {}?", variable_of(*meant)) : "."));
    }
    return found;
}

std::string text_of(config const& of, setting const& s)
{
    return std::visit(overloaded{
                          [&](number const& kind) { return std::to_string(of.*kind.member); },
                          [&](text const& kind) { return of.*kind.member; },
                          [&](strategy_name const& kind) { return of.*kind.member; },
                          [&](secret const& kind) {
                              return std::string((of.*kind.member).empty() ? "not set" : "set");
                          },
                          [&](auto const& kind) {
                              return std::string(
                                  kind.names[static_cast<std::size_t>(of.*kind.member)]);
                          },
                      },
                      s.kind);
}

// The values a setting takes, for people: "1…64", "json, text".
std::string accepted_by(setting const& s)
{
    return std::visit(
        overloaded{
            [](number const& kind) { return fmt::format("{}…{}", kind.min, kind.max); },
            [](text const& kind) { return std::string(kind.accepts); },
            [](secret const& kind) { return std::string(kind.accepts); },
            [](strategy_name const&) { return std::string("a strategy's name"); },
            [](auto const& kind) { return fmt::format("{}", fmt::join(kind.names, ", ")); },
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

The secrets are `database_url` and `admin_key`. No log and no report shows them. Each can also be
read from a file, named by the same name with `_file` behind it: `HOLDFAST_ADMIN_KEY_FILE`,
`--admin-key-file`, `admin_key_file`. A flag is visible to everybody who can list the machine's
processes, so give a secret as a file or a variable.

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
        if (line.starts_with(variable_prefix) && equals != std::string_view::npos)
            found.emplace(line.substr(0, equals), line.substr(equals + 1));
    }
    return found;
}

std::vector<setting_flag> flags_of(setting_scope scope)
{
    config const defaults;
    std::vector<setting_flag> flags;
    for (auto const& s : settings) {
        if (scope == setting_scope::database && s.scope != setting_scope::database)
            continue;
        flags.push_back(
            {.name = std::string(s.name),
             .flag = flag_of(s.name),
             .sentence = fmt::format("{} ({}; default {})", without_backticks(s.sentence),
                                     accepted_by(s), text_of(defaults, s))});
        if (auto const name = file_name_of(s.name); is_secret(s))
            flags.push_back({.name = name,
                             .flag = flag_of(name),
                             .sentence = fmt::format("File that holds {}.", s.name)});
    }
    return flags;
}

std::vector<setting_text> describe(config const& described)
{
    std::vector<setting_text> texts;
    for (auto const& s : settings)
        texts.push_back({.name = s.name, .text = text_of(described, s)});
    return texts;
}

std::string settings_reference()
{
    config const defaults;
    std::string page(reference_head);
    for (auto const& s : settings)
        page += fmt::format("| `{}`{} | `{}` | `{}` | {} | {} | {} |\n", s.name,
                            s.scope == setting_scope::database ? " *" : "", variable_of(s.name),
                            flag_of(s.name), text_of(defaults, s), accepted_by(s), s.sentence);
    return page;
}

std::optional<endpoint> parse_endpoint(std::string_view text) noexcept
{
    auto const colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    auto host = text.substr(0, colon);
    auto const is_bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
    if (is_bracketed)
        host = host.substr(1, host.size() - 2);
    else if (host.find_first_of(":[]") != std::string_view::npos)
        return std::nullopt;
    if (host.empty() || !is_printable_ascii(host))
        return std::nullopt;

    std::uint16_t port = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, fault] = std::from_chars(text.data() + colon + 1, end, port);
    if (fault != std::errc{} || stop != end)
        return std::nullopt;
    return endpoint{.host = std::string(host), .port = port};
}

} // namespace holdfast

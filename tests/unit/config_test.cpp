// SPDX-License-Identifier: Apache-2.0
// Settings: which source decides, what is refused with which sentence, and that the page in docs/
// is the table in the code.
#include "service/config.hpp"

#include <boost/pfr/core.hpp>
#include <boost/pfr/tuple_size.hpp>
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

using namespace holdfast;

namespace {

// A directory of this process that goes away with the test.
class scratch_directory {
public:
    scratch_directory()
        : path_(std::filesystem::temp_directory_path() /
                ("holdfast-config-" + std::to_string(getpid())))
    {
        std::filesystem::create_directories(path_);
    }

    ~scratch_directory() { std::filesystem::remove_all(path_); }
    scratch_directory(scratch_directory const&) = delete;
    scratch_directory& operator=(scratch_directory const&) = delete;

    [[nodiscard]] std::string file(std::string const& name, std::string const& content) const
    {
        auto const path = path_ / name;
        std::ofstream(path, std::ios::binary) << content;
        return path.string();
    }

    [[nodiscard]] std::string str() const { return path_.string(); }

private:
    std::filesystem::path path_;
};

loaded_config load_from(setting_sources sources)
{
    if (sources.strategies.empty())
        sources.strategies = {"batched", "conditional_update", "optimistic", "row_lock"};
    return load(sources);
}

// What load() says is wrong, "" when it takes everything.
std::string problems_of(setting_sources sources)
{
    try {
        load_from(std::move(sources));
        return "";
    } catch (config_error const& error) {
        return error.what();
    }
}

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

std::string text_of_setting(config const& settings, std::string_view name)
{
    auto const texts = describe(settings);
    auto const found = std::ranges::find(texts, name, &setting_text::name);
    return found == texts.end() ? "" : found->text;
}

// The members of a config as text, in the order they are declared in.
std::vector<std::string> fields_of(config const& settings)
{
    std::vector<std::string> fields;
    boost::pfr::for_each_field(settings, [&](auto const& member) {
        using type = std::decay_t<decltype(member)>;
        if constexpr (std::is_same_v<type, std::string>)
            fields.push_back(member);
        else
            fields.push_back(std::to_string(static_cast<int>(member)));
    });
    return fields;
}

} // namespace

TEST_CASE("with nothing given, every setting has its default")
{
    auto const [settings, warnings] = load_from({});

    CHECK(settings.listen == "127.0.0.1:8080");
    CHECK(settings.database_url.empty());
    CHECK(settings.strategy == "batched");
    CHECK(settings.hold_ttl_seconds == 900);
    CHECK(settings.lock_timeout_ms == 2000);
    CHECK(settings.log_level == log::level::info);
    CHECK(warnings.empty());
}

TEST_CASE("a flag decides before the environment, that before the file, that before the default")
{
    scratch_directory const scratch;
    auto const file = scratch.file("shop.toml", "hold_ttl_seconds = 1\nio_threads = 2\n"
                                                "drain_seconds = 3\nlog_level = \"debug\"\n");

    auto const settings = load_from({
                                        .flags = {{"hold_ttl_seconds", "100"}},
                                        .environment = {{"HOLDFAST_HOLD_TTL_SECONDS", "10"},
                                                        {"HOLDFAST_IO_THREADS", "20"}},
                                        .config_file = file,
                                    })
                              .settings;

    CHECK(settings.hold_ttl_seconds == 100);
    CHECK(settings.io_threads == 20);
    CHECK(settings.drain_seconds == 3);
    CHECK(settings.log_level == log::level::debug);
    CHECK(settings.queue_wait_ms == 2000);
}

TEST_CASE("the settings file may be named by HOLDFAST_CONFIG, and the flag wins")
{
    scratch_directory const scratch;
    auto const mine = scratch.file("mine.toml", "io_threads = 3\n");
    auto const theirs = scratch.file("theirs.toml", "io_threads = 4\n");

    CHECK(load_from({.environment = {{"HOLDFAST_CONFIG", theirs}}}).settings.io_threads == 4);
    CHECK(load_from({.environment = {{"HOLDFAST_CONFIG", theirs}}, .config_file = mine})
              .settings.io_threads == 3);
}

TEST_CASE("an empty variable counts as not set, as containers write it for a missing value")
{
    CHECK(load_from({.environment = {{"HOLDFAST_IO_THREADS", ""}}}).settings.io_threads == 1);
}

TEST_CASE("a bound itself is taken, one past it is refused with the bounds in the sentence")
{
    CHECK(load_from({.flags = {{"hold_ttl_seconds", "1"}}}).settings.hold_ttl_seconds == 1);
    CHECK(load_from({.flags = {{"hold_ttl_seconds", "604800"}}}).settings.hold_ttl_seconds ==
          604'800);
    CHECK(problems_of({.flags = {{"hold_ttl_seconds", "604801"}}}) ==
          "hold_ttl_seconds must be a whole number from 1 to 604800, not \"604801\" "
          "(--hold-ttl-seconds).");
    CHECK(contains(problems_of({.flags = {{"hold_ttl_seconds", "0"}}}), "from 1 to 604800"));
}

TEST_CASE("what is no whole number is not taken for one")
{
    for (auto const* const text :
         {"abc", "1.0", "1e3", " 5", "5 ", "0x10", "+5", "-", "99999999999999999999999"})
        CHECK_MESSAGE(contains(problems_of({.environment = {{"HOLDFAST_IO_THREADS", text}}}),
                               "io_threads must be a whole number from 1 to 64"),
                      text);
}

TEST_CASE("a value of the wrong TOML type is refused, naming the line")
{
    scratch_directory const scratch;
    auto const problem_in = [&](std::string const& line) {
        return problems_of({.config_file = scratch.file("wrong.toml", "# first\n" + line)});
    };
    auto const file = scratch.str() + "/wrong.toml line 2";

    CHECK(problem_in("io_threads = \"2\"") ==
          "io_threads must be a whole number from 1 to 64 without quotes, not \"2\" (" + file +
              ").");
    CHECK(contains(problem_in("io_threads = 2.5"), "not a number with a fraction"));
    CHECK(contains(problem_in("io_threads = [2]"), "not an array"));
    CHECK(contains(problem_in("listen = 8080"), "listen must be text in quotes, not \"8080\""));
    CHECK(contains(problem_in("log_format = true"), "log_format must be one of json, text"));
    CHECK(contains(problem_in("database_url = 5"), "database_url must be text in quotes ("));
}

TEST_CASE("an unknown key in the file is refused, with the one that was probably meant")
{
    scratch_directory const scratch;
    auto const file = scratch.file("typo.toml", "\nhold_ttl_second = 5\nwebshop = 1\n[http]\n");

    CHECK(problems_of({.config_file = file}) == "There is no setting \"hold_ttl_second\" (" + file +
                                                    " line 2); did you mean hold_ttl_seconds?\n"
                                                    "There is no setting \"http\" (" +
                                                    file +
                                                    " line 4).\n"
                                                    "There is no setting \"webshop\" (" +
                                                    file + " line 3).");
}

TEST_CASE("a file that is missing, no file, or not TOML is refused with a sentence")
{
    scratch_directory const scratch;

    CHECK(problems_of({.config_file = scratch.str() + "/none.toml"}) ==
          "The settings file " + scratch.str() +
              "/none.toml cannot be read: No such file or directory.");
    CHECK(contains(problems_of({.config_file = scratch.str()}), "cannot be read: Is a directory"));
    CHECK(contains(problems_of({.config_file = scratch.file("bad.toml", "a = 1\na = 2\n")}),
                   "bad.toml line 2 is not valid TOML: "));
    CHECK(contains(
        problems_of({.config_file = scratch.file("big.toml", std::string((1 << 20) + 1, '\n'))}),
        "big.toml is larger than 1048576 bytes."));
}

TEST_CASE("every problem is told at once, not only the first")
{
    auto const problems = problems_of({
        .flags = {{"io_threads", "0"}, {"strategy", "guess"}},
        .environment = {{"HOLDFAST_LISTEN", "8080"}, {"HOLDFAST_LOG_LEVEL", "loud"}},
    });

    CHECK(std::ranges::count(problems, '\n') == 3);
    CHECK(contains(problems, "io_threads must be"));
    CHECK(contains(problems, "strategy must be one of batched, conditional_update, optimistic, "
                             "row_lock, not \"guess\" (--strategy)."));
    CHECK(contains(problems, "listen must be an address and a port"));
    CHECK(contains(problems, "log_level must be one of debug, info, warning, error, critical"));
}

TEST_CASE("a wait for a lock longer than a statement may take is refused")
{
    CHECK(contains(problems_of({.flags = {{"lock_timeout_ms", "6000"}}}),
                   "lock_timeout_ms (6000) must not be above statement_timeout_ms (5000)"));
    CHECK(problems_of({.flags = {{"lock_timeout_ms", "5000"}}}).empty());
}

TEST_CASE("a secret may stand in a file, with or without a line end")
{
    scratch_directory const scratch;
    auto const plain = scratch.file("plain", "0123456789abcdef");
    auto const unix_end = scratch.file("unix", "0123456789abcdef\n");
    auto const dos_end = scratch.file("dos", "0123456789abcdef\r\n");

    for (auto const& file : {plain, unix_end, dos_end})
        CHECK(load_from({.environment = {{"HOLDFAST_ADMIN_KEY_FILE", file}}}).settings.admin_key ==
              "0123456789abcdef");
    CHECK(load_from({.config_file = scratch.file("s.toml", "admin_key_file = \"" + plain + "\"")})
              .settings.admin_key == "0123456789abcdef");
    CHECK(load_from({.flags = {{"admin_key_file", plain}}}).settings.admin_key ==
          "0123456789abcdef");
}

TEST_CASE("a secret given both ways in one place is refused; from another place the rank decides")
{
    scratch_directory const scratch;
    auto const file = scratch.file("key", "from-the-secret-file\n");

    CHECK(problems_of({.environment = {{"HOLDFAST_ADMIN_KEY", "from-the-variable"},
                                       {"HOLDFAST_ADMIN_KEY_FILE", file}}}) ==
          "admin_key is given twice (HOLDFAST_ADMIN_KEY and HOLDFAST_ADMIN_KEY_FILE); keep one.");
    CHECK(load_from({.flags = {{"admin_key_file", file}},
                     .environment = {{"HOLDFAST_ADMIN_KEY", "from-the-variable"}}})
              .settings.admin_key == "from-the-secret-file");
}

TEST_CASE("a secret's file that is missing or empty stops the start")
{
    scratch_directory const scratch;
    auto const problem_with = [](std::string const& path) {
        return problems_of({.environment = {{"HOLDFAST_DATABASE_URL_FILE", path}}});
    };

    CHECK(problem_with(scratch.str() + "/none") ==
          "The file named by HOLDFAST_DATABASE_URL_FILE cannot be read: No such file or "
          "directory.");
    CHECK(problem_with(scratch.file("empty", "\n")) ==
          "The file named by HOLDFAST_DATABASE_URL_FILE is empty.");
}

TEST_CASE("an admin key too short to be safe, or that no header can carry, is refused")
{
    for (auto const* const key :
         {"fifteen-letters", "sixteen or more words", "schlüssel-schlüssel"})
        CHECK_MESSAGE(contains(problems_of({.flags = {{"admin_key", key}}}),
                               "admin_key must be 16 to 200 printable ASCII characters"),
                      key);
    CHECK(problems_of({.flags = {{"admin_key", "sixteen-letters!"}}}).empty());
}

TEST_CASE("no sentence and no report shows a secret")
{
    scratch_directory const scratch;
    std::string const secret = "hunter2";
    auto const hides_it = [&](setting_sources sources) {
        auto const problems = problems_of(std::move(sources));
        return !problems.empty() && !contains(problems, secret);
    };

    CHECK(hides_it({.flags = {{"admin_key", secret}}}));
    CHECK(hides_it({.flags = {{"database_url", secret + "\n"}}}));
    CHECK(hides_it({.flags = {{"admin_key_file", secret}}}));
    CHECK(hides_it({.flags = {{"admin_key_file", scratch.file("short", secret)}}}));
    CHECK(hides_it({.config_file = scratch.file("a.toml", "admin_key = " + secret)}));
    CHECK(hides_it({.config_file = scratch.file("b.toml", "admin_key = \"" + secret + "\"")}));

    config settings;
    settings.database_url = "postgresql://shop:" + secret + "@db/shop";
    CHECK(text_of_setting(settings, "database_url") == "set");
    CHECK(text_of_setting(settings, "admin_key") == "not set");
    CHECK(text_of_setting(settings, "log_format") == "json");
    for (auto const& [name, text] : describe(settings))
        CHECK(!contains(text, secret));
}

TEST_CASE("the reason a file is not TOML does not quote a secret in it")
{
    scratch_directory const scratch;
    auto const number = std::string("12345678901234567890123");

    auto const with_secret =
        problems_of({.config_file = scratch.file("s.toml", "admin_key = " + number)});
    auto const without =
        problems_of({.config_file = scratch.file("n.toml", "io_threads = " + number)});

    CHECK(contains(with_secret, "s.toml line 1 is not valid TOML."));
    CHECK(!contains(with_secret, number));
    CHECK(contains(without, number));
}

TEST_CASE("a variable that only looks like a setting is warned of; those of the commands are not")
{
    auto const [settings, warnings] = load_from({.environment = {
                                                     {"HOLDFAST_HOLD_TTL_SECOND", "5"},
                                                     {"HOLDFAST_SERVICE_HOST", "10.0.0.1"},
                                                     {"HOLDFAST_PORT", "tcp://10.0.0.1:8080"},
                                                     {"HOLDFAST_URL", "http://127.0.0.1:8080"},
                                                     {"HOLDFAST_KEY", "hf_x"},
                                                     {"HOLDFAST_BINARY", "build/holdfast"},
                                                     {"PATH", "/bin"},
                                                 }});

    CHECK(settings.hold_ttl_seconds == 900);
    CHECK(warnings == std::vector<std::string>{
                          "HOLDFAST_HOLD_TTL_SECOND is not a setting and is ignored; did you mean "
                          "HOLDFAST_HOLD_TTL_SECONDS?",
                          "HOLDFAST_PORT is not a setting and is ignored.",
                          "HOLDFAST_SERVICE_HOST is not a setting and is ignored."});
}

TEST_CASE("an address to listen on has a host and a port")
{
    auto const reads_as = [](std::string_view text, std::string_view host, int port) {
        auto const read = parse_endpoint(text);
        return read && read->host == host && read->port == port;
    };

    CHECK(reads_as("127.0.0.1:8080", "127.0.0.1", 8080));
    CHECK(reads_as("localhost:0", "localhost", 0));
    CHECK(reads_as("[::1]:65535", "::1", 65535));
    for (auto const* const text : {"", "8080", ":8080", "host:", "host:65536", "host:-1", "::1:80",
                                   "[]:80", "[::1]", "a b:80", "host:80 "})
        CHECK_MESSAGE(!parse_endpoint(text), text);
}

TEST_CASE(
    "the commands of the server's keeper take the flags that find the database, serve takes all")
{
    auto const names_of = [](setting_scope scope) {
        std::vector<std::string> flags;
        for (auto const& each : flags_of(scope))
            flags.push_back(each.flag);
        return flags;
    };
    auto const all = names_of(setting_scope::service);

    CHECK(names_of(setting_scope::database) ==
          std::vector<std::string>{"--data", "--database-url", "--database-url-file",
                                   "--statement-timeout-ms", "--lock-timeout-ms"});
    CHECK(std::ranges::count(all, "--rate-limit-per-customer") == 1);
    CHECK(std::ranges::count(all, "--admin-key-file") == 1);
    CHECK(problems_of({.flags = {{"no_such", "1"}}}) ==
          "There is no setting \"no_such\" (--no-such).");
}

TEST_CASE("every member of config is in the table once, and its default passes its own bounds")
{
    auto const texts = describe(config{});
    CHECK(texts.size() == boost::pfr::tuple_size_v<config>);

    setting_sources sources;
    for (auto const& [name, text] : texts)
        if (text != "not set")
            CHECK(sources.flags.emplace(name, text).second);
    CHECK(problems_of(sources).empty());
}

TEST_CASE("a number given by flag reaches the member in the place of its row, and no other")
{
    auto const rows = describe(config{});
    auto const before = fields_of(config{});
    for (std::size_t row = 0; row < rows.size(); ++row) {
        auto const& name = rows[row].name;
        auto const& text = rows[row].text;
        if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos)
            continue;
        auto expected = before;
        expected[row] = std::to_string(std::stoi(text) + 1);

        auto const after =
            fields_of(load_from({.flags = {{std::string(name), expected[row]}}}).settings);

        CHECK_MESSAGE(after == expected, name);
    }
}

TEST_CASE("docs/reference/settings.md says what the code says: write it with `holdfast settings`")
{
    std::ifstream file(HOLDFAST_SOURCE_DIR "/docs/reference/settings.md", std::ios::binary);
    std::string const page{std::istreambuf_iterator<char>(file), {}};

    CHECK(page == settings_reference());
}

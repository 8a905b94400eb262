// SPDX-License-Identifier: Apache-2.0
// Looks for the programs of the server, and asks them for their version.

#include "db/server_programs.hpp"

#include "db/child_process.hpp"
#include "db/cluster_files.hpp"
#include "db/embedded_cluster.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;

constexpr auto debian_binaries = "/usr/lib/postgresql/15/bin";
constexpr auto question_limit = 10s; // `postgres --version` and the like

bool is_program(fs::path const& path)
{
    std::error_code absent;
    return fs::is_regular_file(path, absent) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<fs::path> search_path()
{
    auto const* variable = std::getenv("PATH");
    std::vector<fs::path> directories;
    std::istringstream stream{variable ? variable : "/usr/bin:/bin"};
    for (std::string directory; std::getline(stream, directory, ':');)
        if (fs::path{directory}.is_absolute())
            directories.emplace_back(directory);
    return directories;
}

std::optional<fs::path> directory_from_pg_config()
{
    for (auto const& directory : search_path()) {
        if (!is_program(directory / "pg_config"))
            continue;
        auto const answer =
            run({.program = directory / "pg_config", .arguments = {"--bindir"}}, question_limit);
        auto const lines = lines_of(answer.output);
        if (answer.has_succeeded() && !lines.empty())
            return fs::path{lines.front()};
    }
    return std::nullopt;
}

bool holds_server(fs::path const& directory)
{
    if (!is_program(directory / "initdb") || !is_program(directory / "postgres"))
        return false;
    auto const answer =
        run({.program = directory / "postgres", .arguments = {"--version"}}, question_limit);
    return answer.has_succeeded() &&
           answer.output.find(fmt::format("(PostgreSQL) {}", major_version)) != std::string::npos;
}

} // namespace

fs::path find_binaries(fs::path const& wanted)
{
    if (!wanted.empty()) {
        auto directory = fs::absolute(wanted);
        if (holds_server(directory))
            return directory;
        throw cluster_error(fmt::format("There is no PostgreSQL {} in {}: initdb and postgres are "
                                        "needed there.",
                                        major_version, directory.string()));
    }
    if (holds_server(debian_binaries))
        return debian_binaries;
    if (auto const told = directory_from_pg_config(); told && holds_server(*told))
        return *told;
    for (auto const& directory : search_path())
        if (holds_server(directory))
            return directory;
    throw cluster_error(fmt::format(
        "PostgreSQL {0} is not installed, and no other database was given. Install it with "
        "`apt-get install postgresql-{0}`, or set HOLDFAST_DATABASE_URL to your own server.",
        major_version));
}

} // namespace holdfast::db

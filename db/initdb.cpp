// SPDX-License-Identifier: Apache-2.0
// Runs initdb, and names what it made only when that is whole.

#include "db/initdb.hpp"

#include "db/cluster_files.hpp"
#include "db/cluster_note.hpp"
#include "db/server_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;

constexpr auto initdb_limit = 180s;

bool is_synced(cluster_options const& options)
{
    return std::ranges::find(options.settings, std::pair<std::string, std::string>{
                                                   "fsync", "off"}) == options.settings.end();
}

// Authentication is `trust`, for a socket in a directory that only the cluster's owner (and root)
// can enter, and `reject` for everything else. Whoever passes that directory could read and change
// the cluster's files themselves, so a password kept beside them would protect nothing; and `peer`
// cannot serve a root service whose server has stepped down to another user.
//
// The collation is plain bytes, which no library upgrade can change under an index; lower() and
// the like still know all of Unicode.
std::vector<std::string> initdb_arguments(fs::path const& target, cluster_options const& options)
{
    std::vector<std::string> arguments{
        "--pgdata=" + target.string(),
        fmt::format("--username={}", administrator),
        "--encoding=UTF8",
        "--lc-collate=C",
        "--lc-ctype=C.UTF-8",
        "--lc-messages=C",
        "--lc-monetary=C",
        "--lc-numeric=C",
        "--lc-time=C",
        "--text-search-config=simple",
        "--data-checksums",
        "--auth-local=trust",
        "--auth-host=reject",
        "--no-instructions",
    };
    if (!is_synced(options))
        arguments.emplace_back("--no-sync");
    return arguments;
}

std::string reason_in(std::string const& output)
{
    auto const lines = lines_of(output);
    for (auto const& line : lines)
        if (line.find("error:") != std::string::npos || line.find("FATAL:") != std::string::npos)
            return line;
    return lines.empty() ? "it said nothing" : lines.back();
}

} // namespace

void make_cluster(cluster_place const& where, initdb_tools const& with,
                  cluster_options const& options)
{
    tell(options.note, fmt::format("Making a database cluster in {}.", where.cluster().string()));
    auto const unfinished = where.home / (unfinished_prefix + random_name());
    make_private(unfinished, where.user);

    child_command initdb{.program = with.binaries / "initdb"};
    initdb.arguments = initdb_arguments(unfinished, options);
    initdb.user = where.user;
    initdb.fate = when_parent_ends::ends;
    initdb.inherited = with.server_lock.number();
    auto const made = run(initdb, initdb_limit);
    if (!made.has_succeeded()) {
        fs::remove_all(unfinished);
        throw cluster_error(fmt::format(
            "The database cluster in {} could not be made: {}", where.home.string(),
            made.status ? reason_in(made.output) : "initdb did not come to an end in time."));
    }

    include_settings(unfinished, where.owner.uid);
    write_text(where.home / settings_name, settings_text());
    fs::rename(unfinished, where.cluster());
    sync_directory(where.home);
}

std::vector<fs::path> unfinished_in(fs::path const& home)
{
    std::vector<fs::path> found;
    for (auto const& entry : fs::directory_iterator(home))
        if (entry.path().filename().string().starts_with(unfinished_prefix))
            found.push_back(entry.path());
    return found;
}

} // namespace holdfast::db

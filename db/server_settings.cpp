// SPDX-License-Identifier: Apache-2.0
// Writes what the server is told: durable, private, and fit for a small machine.

#include "db/server_settings.hpp"

#include "db/child_process.hpp"
#include "db/cluster_files.hpp"
#include "db/server_log.hpp"
#include "db/server_process.hpp"
#include "db/server_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

std::uint64_t memory_bytes()
{
    auto const physical = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
    auto const limit = first_line_of("/sys/fs/cgroup/memory.max"); // a container's, or "max"
    std::uint64_t bytes = 0;
    auto const parsed = std::from_chars(limit.data(), limit.data() + limit.size(), bytes);
    return parsed.ec == std::errc{} ? std::min(physical, bytes) : physical;
}

} // namespace

std::string settings_text()
{
    constexpr std::uint64_t megabyte = 1024 * 1024;
    auto const memory = memory_bytes() / megabyte;
    auto const shared = std::clamp<std::uint64_t>(memory / 4, 32, 512);
    return fmt::format(
        R"(# Written by Holdfast at every start: what is changed here is lost. Settings of your own
# go through ALTER SYSTEM, which wins over this file (connect with psql as role `postgres`).

# Nothing acknowledged is lost, also not in a power cut.
fsync = on
full_page_writes = on
synchronous_commit = on

# Reached through a socket in a private directory only.
listen_addresses = ''
max_connections = 100

# For a small machine; the stock itself is small and hot.
shared_buffers = {}MB
effective_cache_size = {}MB
random_page_cost = 1.1
jit = off
checkpoint_timeout = 10min
# After a crash one call per file system, not one per file: on a busy disk that is minutes less.
recovery_init_sync_method = syncfs
max_wal_size = 2GB
min_wal_size = 256MB

# Rows that change thousands of times a minute are cleaned up early and often.
autovacuum_naptime = 15s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_analyze_scale_factor = 0.05
autovacuum_vacuum_insert_scale_factor = 0.1

timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'

# The oldest files beyond {} are deleted by Holdfast.
logging_collector = on
log_directory = 'log'
log_filename = 'postgresql-%Y%m%d-%H%M%S.log'
log_rotation_size = 10MB
log_rotation_age = 7d
log_line_prefix = '%m [%p] %q%a '
)",
        shared, std::max<std::uint64_t>(memory / 2, shared), log_files_kept);
}

void include_settings(fs::path const& cluster, uid_t owner)
{
    auto const path = cluster / "postgresql.conf";
    file_descriptor const file{::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC)};
    struct stat now {};
    if (!file.is_open() || ::fstat(file.number(), &now) != 0)
        fail("writing " + path.string());
    if (!S_ISREG(now.st_mode) || now.st_uid != owner || now.st_nlink != 1)
        throw cluster_error(fmt::format("Somebody interfered with {}.", path.string()));
    write_all(file.number(), fmt::format("\ninclude '../{}'\n", settings_name));
    if (::fsync(file.number()) != 0)
        fail("writing " + path.string());
}

std::vector<std::string> server_arguments(fs::path const& cluster, fs::path const& socket_directory,
                                          cluster_options const& options)
{
    // These decide whether we can find the server at all, so no settings file may differ.
    auto const sockets = "\"" + quoted(socket_directory.string(), "\"", '"') + "\"";
    std::vector<std::string> arguments{"-D", cluster.string()};
    auto const add = [&](std::string_view name, std::string_view value) {
        arguments.emplace_back("-c");
        arguments.push_back(fmt::format("{}={}", name, value));
    };
    add("listen_addresses", "");
    add("port", socket_port);
    add("unix_socket_directories", sockets);
    add("unix_socket_permissions", "0700");
    add("cluster_name", title_of(cluster));
    for (auto const& [name, value] : options.settings)
        add(name, value);
    return arguments;
}

} // namespace holdfast::db

// SPDX-License-Identifier: Apache-2.0
// The private PostgreSQL cluster of a service that was given no database: made on first use, kept
// running while the service lives, found again after either of them was killed.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::db {

// Its text is a sentence for the shop owner: what is wrong, and what to do about it.
class cluster_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// Another process keeps this cluster; see embedded_cluster::find_running().
class cluster_in_use : public cluster_error {
public:
    using cluster_error::cluster_error;
};

struct cluster_options {
    // Made when absent, such as ./data/postgres. Holds the cluster with its socket, log and lock.
    std::filesystem::path directory{};

    // Where initdb and postgres are. Empty: Debian's place, then pg_config, then PATH.
    std::filesystem::path binaries{};

    // Further settings for the server; they win over everything else.
    std::vector<std::pair<std::string, std::string>> settings{};

    // How long a start may take without a sign of progress.
    std::chrono::seconds start_timeout{60};

    // Hears what is going on, in sentences. May be empty.
    std::function<void(std::string_view)> note{};

    // Where the cluster of a root service lives when the database's user cannot reach `directory`,
    // as in /root. A file in `directory` leads there.
    std::filesystem::path refuge{"/var/lib/holdfast"};
};

// Owns a running server. stop(), supervise() and the questions may be used by several threads.
//
// The server outlives a service that is killed: the next start finds it and goes on with it. Only
// one process at a time keeps a cluster; a file lock in its directory, which the kernel gives up
// with the process, sees to that.
class embedded_cluster {
public:
    // Makes the cluster if there is none, starts it or finds it running, waits until it has
    // recovered, and makes the role and the database. Throws cluster_error.
    [[nodiscard]] static embedded_cluster start(cluster_options options);

    // The connection string of a cluster that another process keeps, for commands that work beside
    // the service. Nothing when no server answers there.
    [[nodiscard]] static std::optional<std::string>
    find_running(std::filesystem::path const& directory);

    // Whether start() would find a cluster there, and make none.
    [[nodiscard]] static bool exists(std::filesystem::path const& directory);

    embedded_cluster(embedded_cluster&&) noexcept;
    embedded_cluster& operator=(embedded_cluster&&) noexcept;
    ~embedded_cluster(); // stops it

    // Keywords for libpq. Stays the same for the life of this object.
    [[nodiscard]] std::string const& connection_string() const;

    // The server's process is alive; it may still be recovering.
    [[nodiscard]] bool is_running() const;

    // To be called about once a second. Starts the server again when it has died, at once the
    // first time and then less and less often. Never waits long. Throws when the server's program
    // cannot be started at all; the next call tries again.
    void supervise();

    // Fast shutdown, and harder when that takes too long. Every wait is bounded; when this returns,
    // no process of the cluster is left. Does nothing the second time.
    void stop();

    [[nodiscard]] pid_t postmaster_pid() const;

private:
    class keeper;
    explicit embedded_cluster(std::unique_ptr<keeper> made);

    std::unique_ptr<keeper> keeper_;
};

} // namespace holdfast::db

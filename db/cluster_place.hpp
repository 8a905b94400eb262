// SPDX-License-Identifier: Apache-2.0
// Where the private cluster lives and whose it is: in the data directory, or in a refuge when the
// database's user cannot reach that.
#pragma once

#include "db/child_process.hpp"
#include "db/cluster_files.hpp"
#include "db/embedded_cluster.hpp"

#include <filesystem>
#include <optional>
#include <vector>

namespace holdfast::db {

// Where everything of one cluster lies, and whose it is.
struct cluster_place {
    // Holds the cluster, its socket and its settings: the data directory or a refuge.
    std::filesystem::path home;
    std::optional<unix_user> user; // whom the server's processes step down to; absent: as we are
    unix_user owner;               // whose the cluster's files are
    std::vector<file_descriptor> locks;

    [[nodiscard]] std::filesystem::path cluster() const { return home / cluster_name; }
};

// Makes the data directory when it is absent, and locks it. Throws cluster_error when it is not
// ours to use.
[[nodiscard]] cluster_place settle_place(cluster_options const& options);

// Whether a cluster is there, or a pointer to where it lives.
[[nodiscard]] bool holds_cluster(std::filesystem::path const& directory);

// Where the pointer leads, else the directory itself.
[[nodiscard]] std::filesystem::path home_of(std::filesystem::path const& directory);

// Throws cluster_error when another version of PostgreSQL made the cluster.
void check_version(std::filesystem::path const& cluster);

} // namespace holdfast::db

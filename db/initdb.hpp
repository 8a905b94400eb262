// SPDX-License-Identifier: Apache-2.0
// Makes a database cluster with the initdb program.
#pragma once

#include "db/child_process.hpp"
#include "db/cluster_place.hpp"
#include "db/embedded_cluster.hpp"

#include <filesystem>
#include <vector>

namespace holdfast::db {

// The cluster's superuser, not a user of the machine.
inline constexpr auto administrator = "postgres";

struct initdb_tools {
    std::filesystem::path binaries;
    file_descriptor const& server_lock;
};

// Made under another name and then renamed: a kill at any moment leaves a whole cluster or none.
void make_cluster(cluster_place const& where, initdb_tools const& with,
                  cluster_options const& options);

// What makings that were killed have left in this home.
[[nodiscard]] std::vector<std::filesystem::path> unfinished_in(std::filesystem::path const& home);

} // namespace holdfast::db

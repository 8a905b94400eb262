// SPDX-License-Identifier: Apache-2.0
// The private server's settings: a file that we write at every start, and the command line for what
// no file may change.
#pragma once

#include "db/embedded_cluster.hpp"

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace holdfast::db {

// For the file beside the cluster, after the memory of this machine.
[[nodiscard]] std::string settings_text();

// The settings lie beside the cluster, where only we can write, and are found from within it also
// when the folder has been moved.
void include_settings(std::filesystem::path const& cluster, uid_t owner);

// For the postgres program. The settings of the options come last, so they win.
[[nodiscard]] std::vector<std::string>
server_arguments(std::filesystem::path const& cluster,
                 std::filesystem::path const& socket_directory, cluster_options const& options);

} // namespace holdfast::db

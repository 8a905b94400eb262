// SPDX-License-Identifier: Apache-2.0
// File locks that say who keeps a cluster. The kernel gives them up with the processes that hold
// them, so a killed service never leaves one behind.
#pragma once

#include "db/child_process.hpp"

#include <filesystem>

namespace holdfast::db {

// Makes the file when there is none; nothing is locked yet.
[[nodiscard]] file_descriptor open_lock(std::filesystem::path const& path);

// Never waits. True when the lock is ours now.
[[nodiscard]] bool is_taken(file_descriptor const& lock);

// Keeps the directory for this process. Throws cluster_in_use when another one keeps it.
[[nodiscard]] file_descriptor take_lock(std::filesystem::path const& directory);

} // namespace holdfast::db

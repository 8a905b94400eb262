// SPDX-License-Identifier: Apache-2.0
// The private server's log, which it writes itself.
#pragma once

#include "db/cluster_place.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace holdfast::db {

// 10 files of 10 MB: a flood of errors must not fill the disk that the stock lives on.
inline constexpr std::size_t log_files_kept = 10;

// Grows as long as the server gets on.
[[nodiscard]] std::uintmax_t log_bytes(std::filesystem::path const& cluster);

// What the server said last before it gave up: before its log is open it speaks to the start log.
[[nodiscard]] std::string last_complaint(cluster_place const& where);

// Deletes the oldest files beyond those kept.
void prune_logs(std::filesystem::path const& cluster);

} // namespace holdfast::db

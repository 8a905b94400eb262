// SPDX-License-Identifier: Apache-2.0
// The small files around the private cluster: their names, and reading and writing them so that a
// kill or a power cut leaves none of them half done.
#pragma once

#include "db/child_process.hpp"

#include <sys/stat.h>
#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::db {

// Names inside the data directory, or inside the refuge when the cluster lives there.
inline constexpr auto lock_name = "lock"; // held by the service that keeps the cluster
inline constexpr auto server_lock_name = "server.lock"; // held by every process of the server
inline constexpr auto cluster_name = "cluster";
inline constexpr auto unfinished_prefix = "cluster.new-";
inline constexpr auto cluster_pointer = "cluster.at"; // leads to the refuge
// In the refuge: which data directory it serves.
inline constexpr auto owner_note = "data-directory";
inline constexpr auto socket_directory_name = "socket";
inline constexpr auto socket_pointer = "socket.at"; // leads to a shorter path
inline constexpr auto settings_name = "holdfast.conf";
inline constexpr auto start_log_name = "postgres-start.log";

// Throws std::system_error with what errno says.
[[noreturn]] void fail(std::string const& doing);

// Nothing when there is no such file. Gives the end of a file that is too long. Never follows a
// link: some of these files lie in a directory of the database's user while we may be root.
[[nodiscard]] std::optional<std::string> read_text(std::filesystem::path const& path);

[[nodiscard]] std::vector<std::string> lines_of(std::string const& text);

// Empty when there is no such file.
[[nodiscard]] std::string first_line_of(std::filesystem::path const& path);

void write_all(int file, std::string_view text);

void sync_directory(std::filesystem::path const& directory);

// The file is there whole or not at all, also after a power cut.
void write_text(std::filesystem::path const& path, std::string_view text);

[[nodiscard]] std::string random_name();

// Makes a directory that only its owner can enter. Takes one that is there already if it is ours or
// the user's, which in /tmp need not be so.
void make_private(std::filesystem::path const& directory, std::optional<unix_user> const& user);

[[nodiscard]] bool is_private(std::filesystem::path const& directory, uid_t owner);

[[nodiscard]] bool is_same_file(struct stat const& one, struct stat const& other);

} // namespace holdfast::db

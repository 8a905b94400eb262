// SPDX-License-Identifier: Apache-2.0
// The private server's socket: its directory, its name, and how libpq is led to it.
#pragma once

#include "db/child_process.hpp"
#include "db/cluster_place.hpp"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::db {

inline constexpr auto socket_port = "5432"; // only a part of the socket's name: nothing listens
inline constexpr auto socket_name = ".s.PGSQL.5432";

// The directory of an earlier start, where a server may still be answering; nothing if it is gone
// or is not ours any more (anybody may make a folder in /tmp).
[[nodiscard]] std::optional<std::filesystem::path>
known_socket_directory(std::filesystem::path const& home, uid_t owner);

// The known directory, else a new one: beside the cluster, or elsewhere if that has a long name.
[[nodiscard]] std::filesystem::path settle_socket_directory(cluster_place const& where);

// Called when no server of this cluster runs. A socket's lock file that names a number now in use
// by another process would stop the start.
void clear_socket_directory(std::filesystem::path const& directory,
                            std::optional<unix_user> const& user);

// Keywords for libpq. `name` is the role's and the database's.
[[nodiscard]] std::string connection_to(std::filesystem::path const& socket_directory,
                                        unix_user const& owner, std::string_view name);

// Puts `escape` before each letter that is one of `special`.
[[nodiscard]] std::string quoted(std::string_view text, std::string_view special, char escape);

} // namespace holdfast::db

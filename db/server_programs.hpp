// SPDX-License-Identifier: Apache-2.0
// The programs of PostgreSQL on this machine.
#pragma once

#include <filesystem>

namespace holdfast::db {

inline constexpr auto major_version = "15";

// The directory with initdb and postgres: `wanted`, or when that is empty Debian's place, then what
// pg_config says, then PATH. Throws cluster_error when the version we work with is not there.
[[nodiscard]] std::filesystem::path find_binaries(std::filesystem::path const& wanted);

} // namespace holdfast::db

// SPDX-License-Identifier: Apache-2.0
// The processes of the private server: which they are, found by the directory they work in, and how
// the server among them is stopped.
#pragma once

#include "db/child_process.hpp"
#include "db/cluster_note.hpp"

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::db {

struct pid_file {
    pid_t pid = 0;        // negative: somebody works in single-user mode
    std::string status{}; // "starting", "ready", "stopping"
    std::string text{};
};

// Nothing when there is no such file.
[[nodiscard]] std::optional<pid_file> read_pid_file(std::filesystem::path const& cluster);

// Shown in the title of every process of the server, and different for every cluster.
[[nodiscard]] std::string title_of(std::filesystem::path const& cluster);

// The running postmaster of this cluster, whoever started it.
[[nodiscard]] std::optional<process> find_postmaster(std::filesystem::path const& cluster);

// The postmaster and its children, or what is left of them.
[[nodiscard]] std::vector<process> processes_in(std::filesystem::path const& cluster);

// The end of a sentence, from a wait status.
[[nodiscard]] std::string ending_of(std::optional<int> status);

// Called when no server of this cluster runs. postgres itself removes the file of a dead server,
// but stops at one whose number belongs to any living process, as after a reboot or in a container.
void remove_misleading_pid_file(std::filesystem::path const& cluster);

// Fast shutdown, and harder when that takes too long. Every wait is bounded.
void shut_down(process const& server, note_function const& note);

} // namespace holdfast::db

// SPDX-License-Identifier: Apache-2.0
// The machine and the server that figures are true for. Without these they mean nothing.
#pragma once

#include "db/session.hpp"

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::bench {

// A name and what it is on this machine, such as "kernel" and "6.1.0".
using machine_facts = std::vector<std::pair<std::string, std::string>>;

struct machine {
    machine_facts facts;
    double fdatasync_ms = 0; // median for one page of PostgreSQL
};

// Throws std::runtime_error when the server would not wait for the disk: its figures would be worth
// nothing.
[[nodiscard]] machine describe_machine(std::filesystem::path const& data_directory, db::session&);

[[nodiscard]] std::string processor_model();

} // namespace holdfast::bench

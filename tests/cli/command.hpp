// SPDX-License-Identifier: Apache-2.0
// Runs commands of the real binary as a person at a terminal or a script would.
#pragma once

#include "tests/support/http_client.hpp"

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

struct command_result {
    int status = -1; // or 128 + the signal that ended it
    std::string out = {};
    std::string err = {};
};

struct command_options {
    std::vector<std::string> arguments = {};

    // Set on top of an environment that has no HOLDFAST_* and PG* of the caller's.
    header_list environment = {};

    std::string input = {};
    std::chrono::seconds deadline{60};
};

// The program under test.
[[nodiscard]] std::string binary_path();

// Waits for the end; a command that takes longer than its deadline is killed, which its status
// tells.
[[nodiscard]] command_result run_holdfast(command_options const& options);

// The arguments alone.
[[nodiscard]] command_result run_holdfast(std::vector<std::string> arguments);

// A directory for the files of one test, removed at the end.
class temporary_directory {
public:
    temporary_directory();
    temporary_directory(temporary_directory const&) = delete;
    temporary_directory& operator=(temporary_directory const&) = delete;
    ~temporary_directory();

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

    // Writes a file and returns its path.
    [[nodiscard]] std::string file(std::string_view name, std::string_view content) const;

private:
    std::filesystem::path path_;
};

[[nodiscard]] std::string text_of_file(std::filesystem::path const& file);

// Makes a key by `holdfast key create` and returns it. Throws when that fails.
[[nodiscard]] std::string create_key(std::string const& database_url, std::string_view role,
                                     std::string_view name = "a key of a test");

} // namespace holdfast::test

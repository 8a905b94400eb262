// SPDX-License-Identifier: Apache-2.0
// Runs a program that is not ours, such as node or openssl, as a child that does not outlive the
// test binary.
#pragma once

#include "tests/cli/command.hpp"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

struct program_options {
    std::string name;
    std::string packages; // of Debian, to be installed when there is no such program
    std::vector<std::string> arguments = {};

    // All it sees besides PATH, HOME and a locale of UTF-8.
    header_list environment = {};
};

// One run of a program, in an empty directory of its own. For one thread.
class program {
public:
    // Throws when the program is not installed, with the command that installs it.
    explicit program(program_options const& options);
    program(program const&) = delete;
    program& operator=(program const&) = delete;

    // Kills what still runs.
    ~program();

    [[nodiscard]] bool is_running();
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

    // Waits for its end and returns its exit status, or 128 + the signal that ended it. Kills it
    // when it takes longer.
    int wait(std::chrono::seconds longest = std::chrono::seconds(60));

    // As if the machine lost power under it, and waits until it is gone.
    void kill9();

    // What it has printed so far.
    [[nodiscard]] std::string out() const;
    [[nodiscard]] std::string err() const;

private:
    void note(int wait_status);

    temporary_directory place_;
    pid_t pid_ = -1;
    std::optional<int> status_;
};

} // namespace holdfast::test

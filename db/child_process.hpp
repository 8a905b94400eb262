// SPDX-License-Identifier: Apache-2.0
// Starting and watching other programs from a program with many threads. Between fork and exec the
// child makes nothing but system calls, and a process is held by its pidfd, so a number which the
// kernel has given to another process since is never mistaken for it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::db {

// Owns one file descriptor and closes it.
class file_descriptor {
public:
    file_descriptor() = default;
    explicit file_descriptor(int number) : number_(number) {}
    file_descriptor(file_descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    file_descriptor& operator=(file_descriptor&& other) noexcept
    {
        std::swap(number_, other.number_);
        return *this;
    }
    ~file_descriptor();

    [[nodiscard]] int number() const { return number_; }
    [[nodiscard]] bool is_open() const { return number_ >= 0; }

private:
    int number_ = -1;
};

struct unix_user {
    uid_t uid = 0;
    gid_t gid = 0;
    std::string name{}; // empty when the number has no name on this machine
};

[[nodiscard]] std::optional<unix_user> find_user(std::string const& name);

// Always answers: a number without an entry in the user database gets its own group and no name.
[[nodiscard]] unix_user user_of(uid_t uid, gid_t gid);

enum class when_parent_ends {
    goes_on, // outlives us: a database must not fall because its keeper did
    ends,    // is killed when the thread that started it ends, for work that is useless alone
};

struct child_command {
    std::filesystem::path program{}; // absolute; PATH is not searched
    std::vector<std::string> arguments{};
    std::optional<unix_user> user{}; // steps down to this user; absent: stays who we are
    when_parent_ends fate = when_parent_ends::goes_on;
    int output = -1;    // takes stdout and stderr; -1 throws them away
    int inherited = -1; // the one descriptor of ours that the child, and its children, keep
};

// A process we started or found. Not safe for use by several threads at once.
//
// A child leads its own session, so Ctrl-C at the terminal does not reach it; it inherits no
// ignored or blocked signal, no open file but the one it is given, and of the environment only
// LD_LIBRARY_PATH, so neither PG* variables nor our secrets get into it.
class process {
public:
    // Throws std::system_error when the program cannot be run, and says at which step.
    [[nodiscard]] static process start(child_command const& command);

    // Nothing when no such process exists.
    [[nodiscard]] static std::optional<process> attach(pid_t pid);

    [[nodiscard]] pid_t pid() const { return pid_; }

    // False as soon as it has ended, though nobody may have collected it yet.
    [[nodiscard]] bool is_alive() const;

    // True when it has ended by then.
    [[nodiscard]] bool wait_until(std::chrono::steady_clock::time_point deadline) const;

    // Does nothing when the process has ended.
    void send(int signal) const;

    // Kills the process and everything in its session's process group.
    void kill_group() const;

    // Collects an ended child and gives its wait status; nothing while it lives or when it is not
    // our child.
    std::optional<int> collect();

private:
    process(pid_t pid, file_descriptor handle) : pid_(pid), handle_(std::move(handle)) {}

    pid_t pid_ = 0;
    file_descriptor handle_;
    std::optional<int> status_;
};

struct finished_command {
    std::optional<int> status; // wait status; nothing when it was killed for taking too long
    std::string output;        // stdout and stderr together, the last 64 KiB

    [[nodiscard]] bool has_succeeded() const { return status && *status == 0; }
};

// Runs a program to its end and kills it at the deadline. `command.output` is not used.
[[nodiscard]] finished_command run(child_command command, std::chrono::milliseconds limit);

} // namespace holdfast::db

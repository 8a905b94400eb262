// SPDX-License-Identifier: Apache-2.0
// Looks the server's processes up in /proc and in the file of the postmaster.

#include "db/server_process.hpp"

#include "db/cluster_files.hpp"
#include "db/embedded_cluster.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

std::string title_of(struct stat const& cluster)
{
    return fmt::format("holdfast-{:x}-{:x}", cluster.st_dev, cluster.st_ino);
}

struct stat status_of(fs::path const& path)
{
    struct stat now {};
    if (::stat(path.c_str(), &now) != 0)
        fail("looking at " + path.string());
    return now;
}

// A container's root may not look into other users' processes, but command lines are open to all:
// the postmaster shows its arguments, and its children show their title.
bool says_it_works_in(fs::path const& process_files, struct stat const& cluster)
{
    struct stat now {};
    if (::stat(process_files.c_str(), &now) != 0 || now.st_uid != cluster.st_uid)
        return false;
    auto const text = read_text(process_files / "cmdline").value_or("");
    if (text.starts_with("postgres: " + title_of(cluster)))
        return true;
    auto const flag = text.find(std::string_view{"\0-D\0", 4});
    return flag != std::string::npos && ::stat(text.c_str() + flag + 4, &now) == 0 &&
           is_same_file(now, cluster);
}

// Every process of a server works in its cluster's directory, so a number that now belongs to
// another program, or to another cluster's server, is told apart.
bool works_in(pid_t pid, fs::path const& cluster)
{
    auto const files = fs::path{"/proc"} / std::to_string(pid);
    auto const name = read_text(files / "comm");
    struct stat here {};
    if ((name != "postgres\n" && name != "postmaster\n") || ::stat(cluster.c_str(), &here) != 0)
        return false;
    struct stat there {};
    if (::stat((files / "cwd").c_str(), &there) == 0)
        return is_same_file(there, here);
    return (errno == EACCES || errno == EPERM) && says_it_works_in(files, here);
}

// Held before it is looked at, so that the answer is about the process we hold.
std::optional<process> attach_if_works_in(pid_t pid, fs::path const& cluster)
{
    auto found = process::attach(pid);
    if (found && found->is_alive() && works_in(pid, cluster) && found->is_alive())
        return found;
    return std::nullopt;
}

} // namespace

// postmaster.pid: process, directory, start, port, socket directory, address, memory, status.
std::optional<pid_file> read_pid_file(fs::path const& cluster)
{
    auto const text = read_text(cluster / "postmaster.pid");
    if (!text)
        return std::nullopt;
    auto const lines = lines_of(*text);
    pid_file found{.text = *text};
    if (!lines.empty())
        std::from_chars(lines[0].data(), lines[0].data() + lines[0].size(), found.pid);
    if (lines.size() >= 8)
        found.status = lines[7].substr(0, lines[7].find(' '));
    return found;
}

std::string title_of(fs::path const& cluster)
{
    return title_of(status_of(cluster));
}

std::optional<process> find_postmaster(fs::path const& cluster)
{
    auto const file = read_pid_file(cluster);
    if (!file || file->pid == 0)
        return std::nullopt;
    auto found = attach_if_works_in(std::abs(file->pid), cluster);
    if (found && file->pid < 0)
        throw cluster_error(fmt::format(
            "Somebody works on the database in {} in single-user mode (process {}). Start Holdfast "
            "again when that is done.",
            cluster.string(), found->pid()));
    return found;
}

std::vector<process> processes_in(fs::path const& cluster)
{
    std::vector<process> found;
    for (auto const& entry : fs::directory_iterator("/proc")) {
        auto const name = entry.path().filename().string();
        pid_t pid = 0;
        auto const parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (parsed.ec != std::errc{} || parsed.ptr != name.data() + name.size())
            continue;
        if (!works_in(pid, cluster))
            continue;
        if (auto one = attach_if_works_in(pid, cluster))
            found.push_back(std::move(*one));
    }
    return found;
}

std::string ending_of(std::optional<int> status)
{
    if (!status)
        return "ended";
    if (WIFSIGNALED(*status))
        return fmt::format("was killed by signal {}", WTERMSIG(*status));
    return fmt::format("ended with status {}", WEXITSTATUS(*status));
}

void remove_misleading_pid_file(fs::path const& cluster)
{
    auto const stale = read_pid_file(cluster);
    if (!stale || stale->pid == 0)
        return;
    if (::kill(std::abs(stale->pid), 0) != 0 && errno == ESRCH)
        return;
    if (find_postmaster(cluster))
        throw cluster_error(
            fmt::format("A database server was just started in {} by hand.", cluster.string()));
    auto const again = read_pid_file(cluster);
    if (again && again->text == stale->text)
        fs::remove(cluster / "postmaster.pid");
}

void shut_down(process const& server, note_function const& note)
{
    struct stage {
        int signal;
        std::chrono::seconds limit;
    };
    // Fast shutdown writes a checkpoint; quitting leaves the rest to recovery. SIGTERM would wait
    // for clients that may never leave.
    static constexpr std::array stages{stage{SIGINT, 30s}, stage{SIGQUIT, 10s}, stage{SIGKILL, 5s}};
    for (auto const& [signal, limit] : stages) {
        if (signal != SIGINT)
            tell(note, fmt::format("The database does not stop; sending signal {}.", signal));
        server.send(signal);
        if (server.wait_until(clock::now() + limit))
            return;
    }
}

} // namespace holdfast::db

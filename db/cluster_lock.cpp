// SPDX-License-Identifier: Apache-2.0
// Locks by flock, which belong to an open file and not to a process number.

#include "db/cluster_lock.hpp"

#include "db/cluster_files.hpp"
#include "db/embedded_cluster.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// A command such as `key create` may hold the lock for a moment while the service starts.
constexpr auto lock_limit = 2s;
constexpr auto poll_pause = 25ms; // how soon a lock given up is noticed

} // namespace

file_descriptor open_lock(fs::path const& path)
{
    file_descriptor lock{::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)};
    if (!lock.is_open() && errno == EACCES)
        throw cluster_error(fmt::format(
            "This user may not write to {}. Start Holdfast as the user who made that folder, or "
            "choose another one with --data.",
            path.parent_path().string()));
    if (!lock.is_open())
        fail("making " + path.string());
    return lock;
}

bool is_taken(file_descriptor const& lock)
{
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) == 0)
        return true;
    if (errno != EWOULDBLOCK && errno != EINTR)
        fail("locking a file");
    return false;
}

// The kernel gives this up with the process that holds it, however that ends. Children never
// inherit it.
file_descriptor take_lock(fs::path const& directory)
{
    auto const path = directory / lock_name;
    auto lock = open_lock(path);
    auto const deadline = clock::now() + lock_limit;
    while (!is_taken(lock)) {
        if (clock::now() >= deadline)
            throw cluster_in_use(fmt::format(
                "The data folder {} is in use by another Holdfast (process {}). Stop that one "
                "first, or choose another folder with --data.",
                directory.string(), first_line_of(path)));
        std::this_thread::sleep_for(poll_pause);
    }
    if (::ftruncate(lock.number(), 0) != 0)
        fail("writing " + path.string());
    write_all(lock.number(), fmt::format("{}\n", ::getpid()));
    return lock;
}

} // namespace holdfast::db

// SPDX-License-Identifier: Apache-2.0
// Small files by system calls: links are not followed, and what is written is synced.

#include "db/cluster_files.hpp"

#include "db/embedded_cluster.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <sstream>
#include <system_error>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t text_bytes_max = 64 * 1024;

} // namespace

[[noreturn]] void fail(std::string const& doing)
{
    throw std::system_error(errno, std::generic_category(), doing);
}

std::optional<std::string> read_text(fs::path const& path)
{
    auto const flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    file_descriptor const file{::open(path.c_str(), flags)};
    struct stat now {};
    if (!file.is_open() || ::fstat(file.number(), &now) != 0) {
        if (errno == ENOENT || errno == ENOTDIR || errno == ESRCH)
            return std::nullopt;
        fail("reading " + path.string());
    }
    if (now.st_size > static_cast<off_t>(text_bytes_max))
        ::lseek(file.number(), now.st_size - static_cast<off_t>(text_bytes_max), SEEK_SET);
    std::string text(text_bytes_max, '\0');
    std::size_t length = 0;
    while (length < text.size()) {
        auto const got = ::read(file.number(), text.data() + length, text.size() - length);
        if (got < 0 && errno == ESRCH) // a process that ended while we read about it
            return std::nullopt;
        if (got < 0 && errno != EINTR)
            fail("reading " + path.string());
        if (got == 0)
            break;
        length += got > 0 ? static_cast<std::size_t>(got) : 0;
    }
    text.resize(length);
    return text;
}

std::vector<std::string> lines_of(std::string const& text)
{
    std::vector<std::string> lines;
    std::istringstream stream{text};
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

std::string first_line_of(fs::path const& path)
{
    auto const lines = lines_of(read_text(path).value_or(""));
    return lines.empty() ? std::string{} : lines.front();
}

void write_all(int file, std::string_view text)
{
    while (!text.empty()) {
        auto const written = ::write(file, text.data(), text.size());
        if (written < 0 && errno != EINTR)
            fail("writing a file");
        text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
}

void sync_directory(fs::path const& directory)
{
    file_descriptor const handle{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!handle.is_open() || ::fsync(handle.number()) != 0)
        fail("syncing " + directory.string());
}

void write_text(fs::path const& path, std::string_view text)
{
    auto const fresh = path.string() + ".new";
    {
        auto const flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
        file_descriptor const file{::open(fresh.c_str(), flags, 0644)};
        // Whatever the umask: the database's user reads some of these, and none holds a secret.
        if (!file.is_open() || ::fchmod(file.number(), 0644) != 0)
            fail("writing " + fresh);
        write_all(file.number(), text);
        if (::fsync(file.number()) != 0)
            fail("writing " + fresh);
    }
    fs::rename(fresh, path);
    sync_directory(path.parent_path());
}

std::string random_name()
{
    std::uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
        fail("finding a random name");
    return fmt::format("{:016x}", number);
}

void make_private(fs::path const& directory, std::optional<unix_user> const& user)
{
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
        fail("making " + directory.string());
    file_descriptor const handle{
        ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    struct stat now {};
    if (!handle.is_open() || ::fstat(handle.number(), &now) != 0)
        fail("making " + directory.string());
    if (now.st_uid != ::geteuid() && (!user || now.st_uid != user->uid))
        throw cluster_error(fmt::format("The folder {} belongs to another user. Delete it and "
                                        "start again.",
                                        directory.string()));
    if (::fchmod(handle.number(), 0700) != 0)
        fail("making " + directory.string());
    if (user && ::fchown(handle.number(), user->uid, user->gid) != 0)
        fail("giving " + directory.string() + " to " + user->name);
}

bool is_private(fs::path const& directory, uid_t owner)
{
    struct stat now {};
    return ::lstat(directory.c_str(), &now) == 0 && S_ISDIR(now.st_mode) && now.st_uid == owner &&
           (now.st_mode & 0777) == 0700;
}

bool is_same_file(struct stat const& one, struct stat const& other)
{
    return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

} // namespace holdfast::db

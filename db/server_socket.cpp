// SPDX-License-Identifier: Apache-2.0
// Finds a directory for the socket whose path is short enough and which only its owner enters.

#include "db/server_socket.hpp"

#include "db/cluster_files.hpp"
#include "db/embedded_cluster.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

// A socket's path must be shorter than 107 bytes, and libpq takes a comma for a list of hosts.
bool can_hold_socket(fs::path const& directory)
{
    auto const path = (directory / socket_name).string();
    return path.size() + 1 < sizeof(sockaddr_un::sun_path) && path.find(',') == std::string::npos;
}

// Candidates with short names, best first. A root service's own runtime directory is closed to the
// user whom the server runs as.
std::vector<fs::path> short_directories(cluster_place const& where)
{
    if (where.user)
        return {"/run", "/tmp"};
    return {fmt::format("/run/user/{}", ::geteuid()), "/tmp"};
}

fs::path make_short_socket_directory(cluster_place const& where)
{
    for (auto const& base : short_directories(where)) {
        auto pattern = (base / "holdfast-XXXXXX").string();
        if (!::mkdtemp(pattern.data()))
            continue;
        make_private(pattern, where.user);
        write_text(where.home / socket_pointer, pattern + "\n");
        return pattern;
    }
    throw cluster_error(fmt::format(
        "The path {} is too long for a socket or has a comma, and no shorter place for one can be "
        "written. Choose another folder with --data.",
        where.home.string()));
}

} // namespace

std::optional<fs::path> known_socket_directory(fs::path const& home, uid_t owner)
{
    if (fs::path const pointed{first_line_of(home / socket_pointer)}; is_private(pointed, owner))
        return pointed;
    auto const inside = home / socket_directory_name;
    if (can_hold_socket(inside) && is_private(inside, owner))
        return inside;
    return std::nullopt;
}

fs::path settle_socket_directory(cluster_place const& where)
{
    if (auto const known = known_socket_directory(where.home, where.owner.uid))
        return *known;
    auto inside = where.home / socket_directory_name;
    if (!can_hold_socket(inside))
        return make_short_socket_directory(where);
    fs::remove_all(inside); // of another owner, in a copied folder
    make_private(inside, where.user);
    return inside;
}

void clear_socket_directory(fs::path const& directory, std::optional<unix_user> const& user)
{
    make_private(directory, user); // /tmp may have been swept
    file_descriptor const handle{
        ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!handle.is_open())
        fail("opening " + directory.string());
    for (auto const& name : {std::string{socket_name}, std::string{socket_name} + ".lock"})
        if (::unlinkat(handle.number(), name.c_str(), 0) != 0 && errno != ENOENT)
            fail("removing " + (directory / name).string());
}

std::string quoted(std::string_view text, std::string_view special, char escape)
{
    std::string result;
    for (auto const letter : text) {
        if (special.find(letter) != std::string_view::npos)
            result += escape;
        result += letter;
    }
    return result;
}

// `requirepeer` makes libpq refuse a server of any other user, should someone get to put a socket
// of his own in the place of ours.
std::string connection_to(fs::path const& socket_directory, unix_user const& owner,
                          std::string_view name)
{
    auto const value = [](std::string_view text) { return "'" + quoted(text, "'\\", '\\') + "'"; };
    auto text = fmt::format("host={} port={} user={} dbname={}", value(socket_directory.string()),
                            socket_port, name, name);
    if (!owner.name.empty())
        text += " requirepeer=" + value(owner.name);
    return text;
}

} // namespace holdfast::db

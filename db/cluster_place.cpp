// SPDX-License-Identifier: Apache-2.0
// Chooses the place of the cluster and its user; refuses folders that hold something else.

#include "db/cluster_place.hpp"

#include "db/cluster_lock.hpp"
#include "db/cluster_note.hpp"
#include "db/server_programs.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;

constexpr auto question_limit = 10s; // whether a user may write to a folder

bool is_root()
{
    return ::geteuid() == 0;
}

bool is_ours(std::string const& name)
{
    static constexpr std::array names{lock_name,        server_lock_name,      cluster_name,
                                      cluster_pointer,  socket_directory_name, socket_pointer,
                                      settings_name,    start_log_name,        "lost+found",
                                      "cluster.at.new", "socket.at.new",       "holdfast.conf.new"};
    return name.starts_with(unfinished_prefix) || std::ranges::find(names, name) != names.end();
}

// Before anything is written: a folder named by mistake must stay as it was.
void refuse_foreign(fs::path const& directory)
{
    if (!fs::is_directory(directory))
        throw cluster_error(fmt::format("{} is not a folder.", directory.string()));
    if (fs::exists(directory / "PG_VERSION")) {
        check_version(directory);
        throw cluster_error(fmt::format(
            "{} is a PostgreSQL data directory that Holdfast did not make. Choose another folder "
            "with --data, or run that server yourself and set HOLDFAST_DATABASE_URL.",
            directory.string()));
    }
    if (holds_cluster(directory))
        return;
    for (auto const& entry : fs::directory_iterator(directory))
        if (auto const name = entry.path().filename().string(); !is_ours(name))
            throw cluster_error(fmt::format(
                "The folder {} is not empty ({}) and holds no database of Holdfast. Choose an "
                "empty or a new folder with --data.",
                directory.string(), name));
}

fs::path make_data_directory(fs::path const& wanted)
{
    auto directory = fs::absolute(wanted).lexically_normal();
    if (!directory.has_filename()) // "data/" names the same folder as "data"
        directory = directory.parent_path();
    if (!fs::exists(directory)) {
        fs::create_directories(directory);
        // The database's user passes through what root makes, and cannot list it.
        fs::permissions(directory, is_root() ? fs::perms{0711} : fs::perms{0700});
    }
    return fs::canonical(directory);
}

// postgres and initdb refuse root. Debian's package brings a user for them.
unix_user database_user()
{
    for (auto const* name : {"postgres", "nobody"})
        if (auto user = find_user(name))
            return *user;
    throw cluster_error("The database may not run as root, and this machine has neither a user "
                        "`postgres` nor `nobody`. Make one with `adduser --system postgres`, or "
                        "start Holdfast as an ordinary user.");
}

// Tried rather than computed: access lists, network disks and containers have a say as well.
bool can_use(fs::path const& home, unix_user const& user)
{
    auto const probe = home / (unfinished_prefix + random_name());
    fs::create_directory(probe);
    auto is_reachable = false;
    if (::chown(probe.c_str(), user.uid, user.gid) == 0) {
        child_command question{.program = "/usr/bin/test"};
        question.arguments = {"-w", probe.string()};
        question.user = user;
        is_reachable = run(question, question_limit).has_succeeded();
    }
    fs::remove(probe);
    return is_reachable;
}

fs::path first_closed_parent(fs::path const& directory, unix_user const& user)
{
    fs::path walked;
    for (auto const& part : directory) {
        walked /= part;
        struct stat now {};
        if (::stat(walked.c_str(), &now) != 0)
            return walked;
        auto const bit = now.st_uid == user.uid   ? S_IXUSR
                         : now.st_gid == user.gid ? S_IXGRP
                                                  : S_IXOTH;
        if ((now.st_mode & bit) == 0)
            return walked;
    }
    return directory;
}

[[noreturn]] void refuse_closed(fs::path const& directory, unix_user const& user)
{
    throw cluster_error(fmt::format(
        "The database runs as user `{}`, because PostgreSQL refuses root, and that user cannot "
        "reach {}. Let it pass with `chmod o+x {}`, or choose another folder with --data.",
        user.name, directory.string(), first_closed_parent(directory, user).string()));
}

// The data folder was deleted or its making was cut short: what it left in the refuge is either
// nothing, and goes, or a database, which only its owner may throw away.
void look_at_earlier_refuges(fs::path const& directory, cluster_options const& options)
{
    for (auto const& entry : fs::directory_iterator(options.refuge)) {
        if (first_line_of(entry.path() / owner_note) != directory.string())
            continue;
        if (fs::exists(entry.path() / cluster_name))
            tell(options.note,
                 fmt::format("A database of an earlier {} is still in {}; delete it if you do not "
                             "need it.",
                             directory.string(), entry.path().string()));
        else
            fs::remove_all(entry.path());
    }
}

// The database's user cannot reach the data directory, and opening the parents to it would be
// worse: the cluster goes where it can be reached, and a file in the data directory leads there.
// The name is random, so a data directory made anew never finds the data of a deleted one.
fs::path take_refuge(fs::path const& directory, cluster_options const& options)
{
    if (!fs::exists(options.refuge)) {
        fs::create_directories(options.refuge);
        fs::permissions(options.refuge, fs::perms{0711});
    }
    look_at_earlier_refuges(directory, options);
    auto home = fs::canonical(options.refuge) / random_name();
    fs::create_directory(home);
    fs::permissions(home, fs::perms{0711});
    write_text(home / owner_note, directory.string() + "\n");
    sync_directory(home.parent_path());
    write_text(directory / cluster_pointer, home.string() + "\n");
    return home;
}

// A copy made by root, from a backup say, belongs to root, and postgres would refuse it.
void give_away(fs::path const& tree, unix_user const& user)
{
    auto const give = [&](fs::path const& path) {
        if (::lchown(path.c_str(), user.uid, user.gid) != 0)
            fail("giving " + path.string() + " to " + user.name);
    };
    give(tree);
    for (auto const& entry : fs::recursive_directory_iterator(tree))
        give(entry.path());
}

// As root, an existing cluster keeps its owner and a new one gets the database's user.
void settle_user(cluster_place& where)
{
    struct stat now {};
    auto const is_made = ::stat(where.cluster().c_str(), &now) == 0;
    if (!is_root()) {
        where.owner = user_of(::geteuid(), ::getegid());
        if (is_made && now.st_uid != where.owner.uid)
            throw cluster_error(fmt::format(
                "The database in {} belongs to user `{}`. Start Holdfast as that user or as root, "
                "or choose another folder with --data.",
                where.cluster().string(), user_of(now.st_uid, now.st_gid).name));
        return;
    }
    where.user = is_made && now.st_uid != 0 ? user_of(now.st_uid, now.st_gid) : database_user();
    where.owner = *where.user;
    if (is_made && now.st_uid == 0)
        give_away(where.cluster(), *where.user);
}

} // namespace

void check_version(fs::path const& cluster)
{
    auto const version = first_line_of(cluster / "PG_VERSION");
    if (version == major_version)
        return;
    if (version.empty())
        throw cluster_error(fmt::format(
            "{} is damaged: it holds no PG_VERSION file. Nothing was changed. Put back a backup of "
            "the data folder, or choose another one with --data.",
            cluster.string()));
    throw cluster_error(fmt::format(
        "The database in {0} was made by PostgreSQL {1}, and this Holdfast works with PostgreSQL "
        "{2}. Nothing was changed. Dump it with pg_dump of PostgreSQL {1}, start Holdfast on an "
        "empty folder (--data) and load the dump there; or go on with the Holdfast that made it.",
        cluster.string(), version, major_version));
}

bool holds_cluster(fs::path const& directory)
{
    return fs::exists(directory / cluster_name) || fs::exists(directory / cluster_pointer);
}

fs::path home_of(fs::path const& directory)
{
    if (!fs::exists(directory / cluster_pointer))
        return directory;
    fs::path home{first_line_of(directory / cluster_pointer)};
    if (!home.is_absolute() || !fs::is_directory(home))
        throw cluster_error(fmt::format(
            "The database of {} lived in {}, which is gone. Put that folder back from a backup, or "
            "delete {} to begin with an empty database.",
            directory.string(), home.string(), (directory / cluster_pointer).string()));
    return home;
}

cluster_place settle_place(cluster_options const& options)
{
    auto const directory = make_data_directory(options.directory);
    refuse_foreign(directory);

    cluster_place where;
    where.locks.push_back(take_lock(directory));
    where.home = home_of(directory);
    settle_user(where);
    if (where.user && !can_use(where.home, *where.user)) {
        if (where.home != directory || fs::exists(where.cluster()))
            refuse_closed(where.home, *where.user);
        where.home = take_refuge(directory, options);
        if (!can_use(where.home, *where.user))
            refuse_closed(where.home, *where.user);
        tell(options.note,
             fmt::format("User `{}`, whom the database runs as, cannot reach {}, so the database "
                         "lives in {}.",
                         where.user->name, directory.string(), where.home.string()));
    }
    if (where.home != directory)
        where.locks.push_back(take_lock(where.home)); // copies of a data directory lead to it too
    return where;
}

} // namespace holdfast::db

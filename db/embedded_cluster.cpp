// SPDX-License-Identifier: Apache-2.0
// Makes, finds, starts, watches and stops the private PostgreSQL cluster. In order: small files,
// the server's processes, its programs, the place of the cluster, its making, its keeper.

#include "db/embedded_cluster.hpp"

#include "db/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <libpq-fe.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <system_error>
#include <thread>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto major_version = "15";
constexpr auto debian_binaries = "/usr/lib/postgresql/15/bin";
constexpr auto administrator = "postgres"; // the cluster's superuser, not a user of the machine
constexpr auto application = "holdfast";   // role and database of the service
constexpr auto port = "5432";              // only a part of the socket's name: nothing listens
constexpr auto socket_name = ".s.PGSQL.5432";

// Names inside the data directory, or inside the refuge when the cluster lives there.
constexpr auto lock_name = "lock";               // held by the service that keeps the cluster
constexpr auto server_lock_name = "server.lock"; // held by every process of the server
constexpr auto cluster_name = "cluster";
constexpr auto unfinished_prefix = "cluster.new-";
constexpr auto cluster_pointer = "cluster.at"; // leads to the refuge
constexpr auto owner_note = "data-directory";  // in the refuge: which data directory it serves
constexpr auto socket_directory_name = "socket";
constexpr auto socket_pointer = "socket.at"; // leads to a shorter path
constexpr auto settings_name = "holdfast.conf";
constexpr auto start_log_name = "postgres-start.log";

// A command such as `key create` may hold the lock for a moment while the service starts.
constexpr auto lock_limit = 2s;

constexpr auto initdb_limit = 180s;
constexpr auto question_limit = 10s;  // `postgres --version` and the like
constexpr auto statement_limit = 60s; // making the database, on a slow disk
constexpr auto poll_pause = 25ms;     // how soon a start or an end is noticed
constexpr auto waiting_note_every = 10s;

// A server that reports progress may take this many times the start's limit to recover.
constexpr int patience_max = 20;

// Server processes that lost their postmaster end by themselves unless they are busy.
constexpr auto leftover_quit_after = 1s;
constexpr auto leftover_kill_after = 5s;
constexpr auto leftover_limit = 15s;

constexpr auto restart_pause_first = 1s;
constexpr auto restart_pause_max = 30s;
constexpr auto restart_forgotten_after = 60s; // has run this long: the next death is a first one

// 10 files of 10 MB: a flood of errors must not fill the disk that the stock lives on.
constexpr std::size_t log_files_kept = 10;
constexpr auto log_prune_every = 60s;

constexpr std::size_t text_bytes_max = 64 * 1024;

using note_function = std::function<void(std::string_view)>;

void tell(note_function const& note, std::string const& sentence)
{
    if (note)
        note(sentence);
}

[[noreturn]] void fail(std::string const& doing)
{
    throw std::system_error(errno, std::generic_category(), doing);
}

bool is_root()
{
    return ::geteuid() == 0;
}

// ---- small files

// Nothing when there is no such file. Gives the end of a file that is too long. Never follows a
// link: some of these files lie in a directory of the database's user while we may be root.
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

// The file is there whole or not at all, also after a power cut.
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

// Makes a directory that only its owner can enter. Takes one that is there already if it is ours or
// the user's, which in /tmp need not be so.
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

// ---- the server's processes

struct pid_file {
    pid_t pid = 0;        // negative: somebody works in single-user mode
    std::string status{}; // "starting", "ready", "stopping"
    std::string text{};
};

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

// Shown in the title of every process of the server, and different for every cluster.
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

// The running postmaster of this cluster, whoever started it.
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

// ---- its programs

bool is_program(fs::path const& path)
{
    std::error_code absent;
    return fs::is_regular_file(path, absent) && ::access(path.c_str(), X_OK) == 0;
}

std::vector<fs::path> search_path()
{
    auto const* variable = std::getenv("PATH");
    std::vector<fs::path> directories;
    std::istringstream stream{variable ? variable : "/usr/bin:/bin"};
    for (std::string directory; std::getline(stream, directory, ':');)
        if (fs::path{directory}.is_absolute())
            directories.emplace_back(directory);
    return directories;
}

std::optional<fs::path> directory_from_pg_config()
{
    for (auto const& directory : search_path()) {
        if (!is_program(directory / "pg_config"))
            continue;
        auto const answer =
            run({.program = directory / "pg_config", .arguments = {"--bindir"}}, question_limit);
        auto const lines = lines_of(answer.output);
        if (answer.has_succeeded() && !lines.empty())
            return fs::path{lines.front()};
    }
    return std::nullopt;
}

bool holds_server(fs::path const& directory)
{
    if (!is_program(directory / "initdb") || !is_program(directory / "postgres"))
        return false;
    auto const answer =
        run({.program = directory / "postgres", .arguments = {"--version"}}, question_limit);
    return answer.has_succeeded() &&
           answer.output.find(fmt::format("(PostgreSQL) {}", major_version)) != std::string::npos;
}

fs::path find_binaries(fs::path const& wanted)
{
    if (!wanted.empty()) {
        auto const directory = fs::absolute(wanted);
        if (holds_server(directory))
            return directory;
        throw cluster_error(fmt::format("There is no PostgreSQL {} in {}: initdb and postgres are "
                                        "needed there.",
                                        major_version, directory.string()));
    }
    if (holds_server(debian_binaries))
        return debian_binaries;
    if (auto const told = directory_from_pg_config(); told && holds_server(*told))
        return *told;
    for (auto const& directory : search_path())
        if (holds_server(directory))
            return directory;
    throw cluster_error(fmt::format(
        "PostgreSQL {0} is not installed, and no other database was given. Install it with "
        "`apt-get install postgresql-{0}`, or set HOLDFAST_DATABASE_URL to your own server.",
        major_version));
}

// ---- the place of the cluster

// Where everything of one cluster lies, and whose it is.
struct place {
    fs::path home; // holds the cluster, its socket and its settings: the data directory or a refuge
    std::optional<unix_user> user; // whom the server's processes step down to; absent: as we are
    unix_user owner;               // whose the cluster's files are
    std::vector<file_descriptor> locks;

    [[nodiscard]] fs::path cluster() const { return home / cluster_name; }
};

bool is_ours(std::string const& name)
{
    static constexpr std::array names{lock_name,        server_lock_name,      cluster_name,
                                      cluster_pointer,  socket_directory_name, socket_pointer,
                                      settings_name,    start_log_name,        "lost+found",
                                      "cluster.at.new", "socket.at.new",       "holdfast.conf.new"};
    return name.starts_with(unfinished_prefix) || std::ranges::find(names, name) != names.end();
}

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
    if (fs::exists(directory / cluster_name) || fs::exists(directory / cluster_pointer))
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
    auto const home = fs::canonical(options.refuge) / random_name();
    fs::create_directory(home);
    fs::permissions(home, fs::perms{0711});
    write_text(home / owner_note, directory.string() + "\n");
    sync_directory(home.parent_path());
    write_text(directory / cluster_pointer, home.string() + "\n");
    return home;
}

// Where the pointer leads, else the directory itself.
fs::path home_of(fs::path const& directory)
{
    if (!fs::exists(directory / cluster_pointer))
        return directory;
    fs::path const home{first_line_of(directory / cluster_pointer)};
    if (!home.is_absolute() || !fs::is_directory(home))
        throw cluster_error(fmt::format(
            "The database of {} lived in {}, which is gone. Put that folder back from a backup, or "
            "delete {} to begin with an empty database.",
            directory.string(), home.string(), (directory / cluster_pointer).string()));
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
void settle_user(place& where)
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

place settle(cluster_options const& options)
{
    auto const directory = make_data_directory(options.directory);
    refuse_foreign(directory);

    place where;
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

// ---- the socket's directory

// A socket's path must be shorter than 107 bytes, and libpq takes a comma for a list of hosts.
bool can_hold_socket(fs::path const& directory)
{
    auto const path = (directory / socket_name).string();
    return path.size() + 1 < sizeof(sockaddr_un::sun_path) && path.find(',') == std::string::npos;
}

// Candidates with short names, best first. A root service's own runtime directory is closed to the
// user whom the server runs as.
std::vector<fs::path> short_directories(place const& where)
{
    if (where.user)
        return {"/run", "/tmp"};
    return {fmt::format("/run/user/{}", ::geteuid()), "/tmp"};
}

fs::path make_short_socket_directory(place const& where)
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

// The directory of an earlier start, where a server may still be answering; nothing if it is gone
// or is not ours any more (anybody may make a folder in /tmp).
std::optional<fs::path> known_socket_directory(fs::path const& home, uid_t owner)
{
    if (fs::path const pointed{first_line_of(home / socket_pointer)}; is_private(pointed, owner))
        return pointed;
    auto const inside = home / socket_directory_name;
    if (can_hold_socket(inside) && is_private(inside, owner))
        return inside;
    return std::nullopt;
}

fs::path settle_socket_directory(place const& where)
{
    if (auto const known = known_socket_directory(where.home, where.owner.uid))
        return *known;
    auto const inside = where.home / socket_directory_name;
    if (!can_hold_socket(inside))
        return make_short_socket_directory(where);
    fs::remove_all(inside); // of another owner, in a copied folder
    make_private(inside, where.user);
    return inside;
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
                            port, name, name);
    if (!owner.name.empty())
        text += " requirepeer=" + value(owner.name);
    return text;
}

// ---- making a cluster

std::uint64_t memory_bytes()
{
    auto const physical = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                          static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
    auto const limit = first_line_of("/sys/fs/cgroup/memory.max"); // a container's, or "max"
    std::uint64_t bytes = 0;
    auto const parsed = std::from_chars(limit.data(), limit.data() + limit.size(), bytes);
    return parsed.ec == std::errc{} ? std::min(physical, bytes) : physical;
}

std::string settings_text()
{
    constexpr std::uint64_t megabyte = 1024 * 1024;
    auto const memory = memory_bytes() / megabyte;
    auto const shared = std::clamp<std::uint64_t>(memory / 4, 32, 512);
    return fmt::format(
        R"(# Written by Holdfast at every start: what is changed here is lost. Settings of your own
# go through ALTER SYSTEM, which wins over this file (connect with psql as role `postgres`).

# Nothing acknowledged is lost, also not in a power cut.
fsync = on
full_page_writes = on
synchronous_commit = on

# Reached through a socket in a private directory only.
listen_addresses = ''
max_connections = 100

# For a small machine; the stock itself is small and hot.
shared_buffers = {}MB
effective_cache_size = {}MB
random_page_cost = 1.1
jit = off
checkpoint_timeout = 10min
max_wal_size = 2GB
min_wal_size = 256MB

# Rows that change thousands of times a minute are cleaned up early and often.
autovacuum_naptime = 15s
autovacuum_vacuum_scale_factor = 0.05
autovacuum_analyze_scale_factor = 0.05
autovacuum_vacuum_insert_scale_factor = 0.1

timezone = 'UTC'
log_timezone = 'UTC'
lc_messages = 'C'

# The oldest files beyond {} are deleted by Holdfast.
logging_collector = on
log_directory = 'log'
log_filename = 'postgresql-%Y%m%d-%H%M%S.log'
log_rotation_size = 10MB
log_rotation_age = 7d
log_line_prefix = '%m [%p] %q%a '
)",
        shared, std::max<std::uint64_t>(memory / 2, shared), log_files_kept);
}

bool is_synced(cluster_options const& options)
{
    return std::ranges::find(options.settings, std::pair<std::string, std::string>{
                                                   "fsync", "off"}) == options.settings.end();
}

// Authentication is `trust`, for a socket in a directory that only the cluster's owner (and root)
// can enter, and `reject` for everything else. Whoever passes that directory could read and change
// the cluster's files themselves, so a password kept beside them would protect nothing; and `peer`
// cannot serve a root service whose server has stepped down to another user.
//
// The collation is plain bytes, which no library upgrade can change under an index; lower() and
// the like still know all of Unicode.
std::vector<std::string> initdb_arguments(fs::path const& target, cluster_options const& options)
{
    std::vector<std::string> arguments{
        "--pgdata=" + target.string(),
        fmt::format("--username={}", administrator),
        "--encoding=UTF8",
        "--lc-collate=C",
        "--lc-ctype=C.UTF-8",
        "--lc-messages=C",
        "--lc-monetary=C",
        "--lc-numeric=C",
        "--lc-time=C",
        "--text-search-config=pg_catalog.simple",
        "--data-checksums",
        "--auth-local=trust",
        "--auth-host=reject",
        "--no-instructions",
    };
    if (!is_synced(options))
        arguments.emplace_back("--no-sync");
    return arguments;
}

std::string reason_in(std::string const& output)
{
    auto const lines = lines_of(output);
    for (auto const& line : lines)
        if (line.find("error:") != std::string::npos || line.find("FATAL:") != std::string::npos)
            return line;
    return lines.empty() ? "it said nothing" : lines.back();
}

// The settings lie beside the cluster, where only we can write, and are found from within it also
// when the folder has been moved.
void include_settings(fs::path const& cluster, uid_t owner)
{
    auto const path = cluster / "postgresql.conf";
    file_descriptor const file{::open(path.c_str(), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC)};
    struct stat now {};
    if (!file.is_open() || ::fstat(file.number(), &now) != 0)
        fail("writing " + path.string());
    if (!S_ISREG(now.st_mode) || now.st_uid != owner || now.st_nlink != 1)
        throw cluster_error(fmt::format("Somebody interfered with {}.", path.string()));
    write_all(file.number(), fmt::format("\ninclude '../{}'\n", settings_name));
    if (::fsync(file.number()) != 0)
        fail("writing " + path.string());
}

std::vector<fs::path> unfinished_in(fs::path const& home)
{
    std::vector<fs::path> found;
    for (auto const& entry : fs::directory_iterator(home))
        if (entry.path().filename().string().starts_with(unfinished_prefix))
            found.push_back(entry.path());
    return found;
}

struct tools {
    fs::path binaries;
    file_descriptor const& server_lock;
};

// Made under another name and then renamed: a kill at any moment leaves a whole cluster or none.
void make_cluster(place const& where, tools const& with, cluster_options const& options)
{
    tell(options.note, fmt::format("Making a database cluster in {}.", where.cluster().string()));
    auto const unfinished = where.home / (unfinished_prefix + random_name());
    make_private(unfinished, where.user);

    child_command initdb{.program = with.binaries / "initdb"};
    initdb.arguments = initdb_arguments(unfinished, options);
    initdb.user = where.user;
    initdb.fate = when_parent_ends::ends;
    initdb.inherited = with.server_lock.number();
    auto const made = run(initdb, initdb_limit);
    if (!made.has_succeeded()) {
        fs::remove_all(unfinished);
        throw cluster_error(fmt::format(
            "The database cluster in {} could not be made: {}", where.home.string(),
            made.status ? reason_in(made.output) : "initdb did not come to an end in time."));
    }

    include_settings(unfinished, where.owner.uid);
    write_text(where.home / settings_name, settings_text());
    fs::rename(unfinished, where.cluster());
    sync_directory(where.home);
}

// ---- the role and the database

// One connection whose every wait is bounded.
class administration {
public:
    explicit administration(std::string const& keywords)
        : connection_(::PQconnectdb(keywords.c_str()), &::PQfinish)
    {
        if (::PQstatus(connection_.get()) != CONNECTION_OK)
            complain(::PQerrorMessage(connection_.get()));
    }

    // The session of a service that was killed in the middle of this may still be at it, so the
    // statement may fail for what is there a moment later, or for what it is copied from.
    void make(char const* presence, char const* statement) const
    {
        static constexpr std::array passing{"23505", "42710", "42P04", "55006"};
        auto const deadline = clock::now() + statement_limit;
        while (answer_to(presence).rows == 0) {
            auto const made = answer_to(statement);
            if (made.error.empty())
                return;
            if (std::ranges::find(passing, made.sqlstate) == passing.end() ||
                clock::now() >= deadline)
                complain(made.error);
            std::this_thread::sleep_for(poll_pause);
        }
    }

private:
    struct answer {
        int rows = 0;
        std::string sqlstate{};
        std::string error{};
    };
    using result = std::unique_ptr<PGresult, decltype(&::PQclear)>;

    [[noreturn]] static void complain(std::string const& error)
    {
        throw cluster_error(fmt::format("The database started and then did not answer: {}", error));
    }

    void wait_for_answer(clock::time_point deadline) const
    {
        while (::PQisBusy(connection_.get())) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
            if (left.count() <= 0)
                throw cluster_error("The database started and then did not answer in time.");
            pollfd watched{::PQsocket(connection_.get()), POLLIN, 0};
            if (::poll(&watched, 1, static_cast<int>(left.count())) < 0 && errno != EINTR)
                fail("waiting for the database");
            if (::PQconsumeInput(connection_.get()) == 0)
                complain(::PQerrorMessage(connection_.get()));
        }
    }

    answer answer_to(char const* statement) const
    {
        if (::PQsendQuery(connection_.get(), statement) == 0)
            complain(::PQerrorMessage(connection_.get()));
        auto const deadline = clock::now() + statement_limit;
        answer all;
        for (;;) {
            wait_for_answer(deadline);
            result const one{::PQgetResult(connection_.get()), &::PQclear};
            if (!one)
                return all;
            all.rows += ::PQntuples(one.get());
            if (auto const* state = ::PQresultErrorField(one.get(), PG_DIAG_SQLSTATE))
                all.sqlstate = state;
            all.error += ::PQresultErrorMessage(one.get());
        }
    }

    std::unique_ptr<PGconn, decltype(&::PQfinish)> connection_;
};

// Each statement is whole or not there, so a kill in between is mended by the next start. The role
// owns its database and is no superuser.
void make_role_and_database(std::string const& keywords)
{
    administration const server{keywords + " connect_timeout=10"};
    server.make("SELECT 1 FROM pg_roles WHERE rolname = 'holdfast'", "CREATE ROLE holdfast LOGIN");
    server.make("SELECT 1 FROM pg_database WHERE datname = 'holdfast'",
                "CREATE DATABASE holdfast OWNER holdfast");
}

} // namespace

// ---- the keeper

class embedded_cluster::keeper {
public:
    explicit keeper(cluster_options options);
    ~keeper();
    keeper(keeper const&) = delete;
    keeper& operator=(keeper const&) = delete;

    void start();
    void supervise();
    void stop();

    [[nodiscard]] std::string const& connection_string() const { return connection_; }
    [[nodiscard]] bool is_running() const;
    [[nodiscard]] pid_t postmaster_pid() const;

private:
    void note(std::string const& sentence) const { tell(options_.note, sentence); }

    [[nodiscard]] file_descriptor adopt_or_lock();
    [[nodiscard]] std::optional<process> find_orphan() const;
    [[nodiscard]] bool adopt(process found);
    void launch(file_descriptor const& server_lock);
    [[nodiscard]] std::vector<std::string> server_arguments() const;
    void clear_socket_directory() const;
    void remove_misleading_pid_file() const;

    [[nodiscard]] bool is_ready() const;
    [[nodiscard]] bool becomes_ready();
    [[nodiscard]] file_descriptor lock_if_nobody_works() const;
    void end_leftovers() const;
    [[nodiscard]] std::string complaint() const;
    [[nodiscard]] std::uintmax_t log_bytes() const;
    void prune_logs() const;

    void look_after_living();
    void look_after_dead();
    void shut_down(process const& server) const;

    cluster_options options_;
    fs::path binaries_;
    place where_;
    fs::path socket_directory_;
    std::string connection_;

    std::mutex work_;           // one supervise() or stop() at a time
    mutable std::mutex handle_; // guards postmaster_ against questions while it is replaced
    std::optional<process> postmaster_;

    bool is_stopped_ = false;
    bool is_answering_ = false;
    clock::time_point launched_at_;
    clock::time_point died_at_;
    clock::time_point next_launch_;
    clock::time_point next_prune_;
    std::chrono::seconds restart_pause_ = restart_pause_first;
};

embedded_cluster::keeper::keeper(cluster_options options) : options_(std::move(options)) {}

embedded_cluster::keeper::~keeper()
{
    try {
        stop();
    } catch (std::exception const& error) {
        note(fmt::format("The database could not be stopped: {}", error.what()));
    }
}

void embedded_cluster::keeper::start()
{
    binaries_ = find_binaries(options_.binaries);
    where_ = settle(options_);
    if (fs::exists(where_.cluster()))
        check_version(where_.cluster());
    socket_directory_ = settle_socket_directory(where_);
    connection_ = connection_to(socket_directory_, where_.owner, application);

    if (auto const lock = adopt_or_lock(); lock.is_open()) {
        for (auto const& directory : unfinished_in(where_.home))
            fs::remove_all(directory);
        if (!fs::exists(where_.cluster()))
            make_cluster(where_, {binaries_, lock}, options_);
        launch(lock);
        if (!becomes_ready())
            throw cluster_error(fmt::format("The database in {} does not start: {}",
                                            where_.cluster().string(), complaint()));
    }
    make_role_and_database(connection_to(socket_directory_, where_.owner, administrator));
    is_answering_ = true;
    prune_logs();
}

// Goes on with the server of the last run and gives no lock, or gives the lock that says that no
// process of any run is left. A service may have been killed at any moment, so in between there may
// be one that is about to become a server, and some that lost theirs.
file_descriptor embedded_cluster::keeper::adopt_or_lock()
{
    died_at_ = clock::now();
    for (;;) {
        if (auto orphan = find_orphan()) {
            if (adopt(std::move(*orphan)))
                return {};
            died_at_ = clock::now();
        }
        if (auto lock = lock_if_nobody_works(); lock.is_open())
            return lock;
        if (clock::now() >= died_at_ + leftover_limit)
            throw cluster_error(fmt::format(
                "Processes of an earlier database server still work in {} and cannot be ended.",
                where_.home.string()));
        std::this_thread::sleep_for(poll_pause);
    }
}

// A server that outlived a killed service. One that we cannot reach, since its socket was swept out
// of /tmp, is stopped; one that somebody started by hand is not ours to use or to stop.
std::optional<process> embedded_cluster::keeper::find_orphan() const
{
    auto found = find_postmaster(where_.cluster());
    if (!found)
        return std::nullopt;
    // The socket's own lock file names its server; a server that is still starting has none yet.
    auto const lock = socket_directory_ / (std::string{socket_name} + ".lock");
    auto const deadline = clock::now() + question_limit;
    while (found->is_alive()) {
        if (first_line_of(lock) == std::to_string(found->pid()))
            return found;
        auto const file = read_pid_file(where_.cluster());
        if (file && file->status == "stopping")
            return found;
        if ((file && file->status == "ready") || clock::now() >= deadline) {
            if (is_taken(open_lock(where_.home / server_lock_name)))
                throw cluster_error(fmt::format(
                    "The database in {} was started by hand (process {}). Stop that server, or "
                    "set HOLDFAST_DATABASE_URL to it.",
                    where_.cluster().string(), found->pid()));
            note(fmt::format("The database of the last run (process {}) lost its socket; starting "
                             "it again.",
                             found->pid()));
            shut_down(*found);
        }
        std::this_thread::sleep_for(poll_pause);
    }
    return std::nullopt;
}

// False when it ended, which one that was told to stop before its service was killed will do.
bool embedded_cluster::keeper::adopt(process found)
{
    auto const file = read_pid_file(where_.cluster());
    if (file && file->status == "stopping") {
        note(fmt::format("The database of the last run (process {}) is stopping; waiting for it.",
                         found.pid()));
        if (!found.wait_until(clock::now() + options_.start_timeout))
            throw cluster_error(fmt::format(
                "The database of the last run (process {}) does not come to its end. Look into "
                "{}/log, and stop it with `kill -QUIT {}`.",
                found.pid(), where_.cluster().string(), found.pid()));
        return false;
    }
    note(fmt::format("The database of the last run is still alive (process {}); going on with it.",
                     found.pid()));
    {
        std::scoped_lock const replacing{handle_};
        postmaster_ = std::move(found);
    }
    launched_at_ = clock::now();
    return becomes_ready();
}

std::vector<std::string> embedded_cluster::keeper::server_arguments() const
{
    // These decide whether we can find the server at all, so no settings file may differ.
    auto const sockets = "\"" + quoted(socket_directory_.string(), "\"", '"') + "\"";
    std::vector<std::string> arguments{"-D", where_.cluster().string()};
    auto const add = [&](std::string_view name, std::string_view value) {
        arguments.emplace_back("-c");
        arguments.push_back(fmt::format("{}={}", name, value));
    };
    add("listen_addresses", "");
    add("port", port);
    add("unix_socket_directories", sockets);
    add("unix_socket_permissions", "0700");
    add("cluster_name", title_of(status_of(where_.cluster())));
    for (auto const& [name, value] : options_.settings)
        add(name, value);
    return arguments;
}

// Called when no server of this cluster runs. A socket's lock file that names a number now in use
// by another process would stop the start.
void embedded_cluster::keeper::clear_socket_directory() const
{
    make_private(socket_directory_, where_.user); // /tmp may have been swept
    file_descriptor const directory{
        ::open(socket_directory_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!directory.is_open())
        fail("opening " + socket_directory_.string());
    for (auto const& name : {std::string{socket_name}, std::string{socket_name} + ".lock"})
        if (::unlinkat(directory.number(), name.c_str(), 0) != 0 && errno != ENOENT)
            fail("removing " + (socket_directory_ / name).string());
}

// Called when no server of this cluster runs. postgres itself removes the file of a dead server,
// but stops at one whose number belongs to any living process, as after a reboot or in a container.
void embedded_cluster::keeper::remove_misleading_pid_file() const
{
    auto const stale = read_pid_file(where_.cluster());
    if (!stale || stale->pid == 0)
        return;
    if (::kill(std::abs(stale->pid), 0) != 0 && errno == ESRCH)
        return;
    if (find_postmaster(where_.cluster()))
        throw cluster_error(fmt::format("A database server was just started in {} by hand.",
                                        where_.cluster().string()));
    auto const again = read_pid_file(where_.cluster());
    if (again && again->text == stale->text)
        fs::remove(where_.cluster() / "postmaster.pid");
}

// The server inherits the lock and hands it on to each of its processes, so it is free when the
// last of them is gone, whichever way they went.
void embedded_cluster::keeper::launch(file_descriptor const& server_lock)
{
    check_version(where_.cluster());
    clear_socket_directory();
    remove_misleading_pid_file();
    write_text(where_.home / settings_name, settings_text());

    auto const path = where_.home / start_log_name;
    auto const flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    file_descriptor const log{::open(path.c_str(), flags, 0600)};
    if (!log.is_open())
        fail("writing " + path.string());
    auto started = process::start({.program = binaries_ / "postgres",
                                   .arguments = server_arguments(),
                                   .user = where_.user,
                                   .output = log.number(),
                                   .inherited = server_lock.number()});
    std::scoped_lock const replacing{handle_};
    postmaster_ = std::move(started);
    launched_at_ = clock::now();
    is_answering_ = false;
}

// The server writes this itself; asking it over the socket would fill its log with refusals.
bool embedded_cluster::keeper::is_ready() const
{
    auto const file = read_pid_file(where_.cluster());
    return file && file->pid == postmaster_->pid() && file->status == "ready";
}

// Waits while the server recovers, as long as its log says that it gets on. False when it ended.
bool embedded_cluster::keeper::becomes_ready()
{
    auto const began = clock::now();
    auto const limit = began + options_.start_timeout * patience_max;
    auto patient_until = began + options_.start_timeout;
    auto next_note = began + waiting_note_every;
    auto seen = log_bytes();
    while (!is_ready()) {
        if (postmaster_->wait_until(clock::now() + poll_pause)) {
            postmaster_->collect();
            return false;
        }
        auto const now = clock::now();
        if (now >= next_note) {
            auto const waited = std::chrono::duration_cast<std::chrono::seconds>(now - began);
            note(fmt::format("The database is recovering; waiting for {} s so far.",
                             waited.count()));
            next_note = now + waiting_note_every;
        }
        if (auto const bytes = log_bytes(); bytes != seen) {
            seen = bytes;
            patient_until = now + options_.start_timeout;
        }
        if (now >= std::min(patient_until, limit))
            throw cluster_error(fmt::format(
                "The database in {} did not become ready within {} s. Its log is in {}/log; start "
                "again to let it go on.",
                where_.cluster().string(), options_.start_timeout.count(),
                where_.cluster().string()));
    }
    return true;
}

// The processes of a postmaster that was killed go on for a moment, the busy ones for longer, and a
// new one will not start beside them: they are told to quit, then killed. What a killed initdb left
// is of no use to anybody.
void embedded_cluster::keeper::end_leftovers() const
{
    auto const age = clock::now() - died_at_;
    if (age >= leftover_quit_after)
        for (auto const& one : processes_in(where_.cluster()))
            one.send(age >= leftover_kill_after ? SIGKILL : SIGQUIT);
    for (auto const& directory : unfinished_in(where_.home))
        for (auto const& one : processes_in(directory))
            one.send(SIGKILL);
}

// The second look finds those of a server that was started by hand, without the lock.
file_descriptor embedded_cluster::keeper::lock_if_nobody_works() const
{
    auto lock = open_lock(where_.home / server_lock_name);
    if (is_taken(lock) && processes_in(where_.cluster()).empty())
        return lock;
    end_leftovers();
    return {};
}

std::uintmax_t embedded_cluster::keeper::log_bytes() const
{
    std::uintmax_t bytes = 0;
    std::error_code absent;
    for (auto const& entry : fs::directory_iterator(where_.cluster() / "log", absent)) {
        auto const size = entry.file_size(absent);
        bytes += absent ? 0 : size;
    }
    return bytes;
}

// What the server said last before it gave up: before its log is open it speaks to the start log.
std::string embedded_cluster::keeper::complaint() const
{
    std::vector<fs::path> files;
    std::error_code absent;
    for (auto const& entry : fs::directory_iterator(where_.cluster() / "log", absent))
        files.push_back(entry.path());
    std::ranges::sort(files, std::greater{});
    files.resize(std::min<std::size_t>(files.size(), 1));
    files.insert(files.begin(), where_.home / start_log_name);

    for (auto const& file : files) {
        auto lines = lines_of(read_text(file).value_or(""));
        std::ranges::reverse(lines);
        for (auto const& line : lines)
            for (std::string_view const level : {"FATAL:  ", "PANIC:  ", "postgres: "})
                if (auto const at = line.find(level); at != std::string::npos)
                    return line.substr(at + level.size());
    }
    return fmt::format("see {}", (where_.home / start_log_name).string());
}

void embedded_cluster::keeper::prune_logs() const
{
    auto const path = where_.cluster() / "log";
    file_descriptor const directory{
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!directory.is_open())
        return;
    std::vector<std::string> names;
    std::error_code absent;
    for (auto const& entry : fs::directory_iterator(path, absent))
        if (auto name = entry.path().filename().string(); name.starts_with("postgresql-"))
            names.push_back(std::move(name));
    std::ranges::sort(names, std::greater{}); // the names are times
    for (std::size_t i = log_files_kept; i < names.size(); ++i)
        ::unlinkat(directory.number(), names[i].c_str(), 0);
}

bool embedded_cluster::keeper::is_running() const
{
    std::scoped_lock const asking{handle_};
    return postmaster_ && postmaster_->is_alive();
}

pid_t embedded_cluster::keeper::postmaster_pid() const
{
    std::scoped_lock const asking{handle_};
    return postmaster_ ? postmaster_->pid() : 0;
}

void embedded_cluster::keeper::supervise()
{
    std::scoped_lock const work{work_};
    if (is_stopped_)
        return;
    if (postmaster_->is_alive())
        look_after_living();
    else
        look_after_dead();
}

void embedded_cluster::keeper::look_after_living()
{
    auto const now = clock::now();
    if (!is_answering_ && is_ready()) {
        is_answering_ = true;
        note("The database is running again.");
    }
    if (now >= launched_at_ + restart_forgotten_after)
        restart_pause_ = restart_pause_first;
    if (now >= next_prune_) {
        prune_logs();
        next_prune_ = now + log_prune_every;
    }
}

void embedded_cluster::keeper::look_after_dead()
{
    auto const now = clock::now();
    if (died_at_ < launched_at_) {
        died_at_ = now;
        auto const status = postmaster_->collect();
        note(is_answering_
                 ? fmt::format("The database server {}; starting it again.", ending_of(status))
                 : fmt::format("The database server {} before it was ready: {}", ending_of(status),
                               complaint()));
        is_answering_ = false;
    }
    if (now < next_launch_)
        return;
    auto const lock = lock_if_nobody_works();
    if (!lock.is_open())
        return;
    next_launch_ = now + restart_pause_;
    restart_pause_ = std::min<std::chrono::seconds>(restart_pause_ * 2, restart_pause_max);
    launch(lock);
}

void embedded_cluster::keeper::shut_down(process const& server) const
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
            note(fmt::format("The database does not stop; sending signal {}.", signal));
        server.send(signal);
        if (server.wait_until(clock::now() + limit))
            return;
    }
}

void embedded_cluster::keeper::stop()
{
    std::scoped_lock const work{work_};
    if (is_stopped_)
        return;
    is_stopped_ = true;
    if (postmaster_) {
        if (postmaster_->is_alive())
            shut_down(*postmaster_);
        {
            std::scoped_lock const asking{handle_};
            postmaster_->collect();
        }
        died_at_ = clock::now();
        while (!lock_if_nobody_works().is_open()) {
            if (clock::now() >= died_at_ + leftover_limit) {
                note("Some processes of the database could not be ended.");
                break;
            }
            std::this_thread::sleep_for(poll_pause);
        }
        if (socket_directory_.parent_path() != where_.home) {
            std::error_code ignored; // a socket left by a kill is cleared by the next start
            if (fs::remove(socket_directory_, ignored))
                fs::remove(where_.home / socket_pointer, ignored);
        }
    }
    where_.locks.clear();
}

// ---- the public face

embedded_cluster::embedded_cluster(std::unique_ptr<keeper> made) : keeper_(std::move(made)) {}

embedded_cluster::embedded_cluster(embedded_cluster&&) noexcept = default;
embedded_cluster& embedded_cluster::operator=(embedded_cluster&&) noexcept = default;
embedded_cluster::~embedded_cluster() = default;

embedded_cluster embedded_cluster::start(cluster_options options)
{
    auto const directory = options.directory;
    auto made = std::make_unique<keeper>(std::move(options));
    try {
        made->start();
    } catch (std::system_error const& error) {
        throw cluster_error(fmt::format("The data folder {} cannot be used: {}.",
                                        directory.string(), error.what()));
    }
    return embedded_cluster{std::move(made)};
}

std::optional<std::string> embedded_cluster::find_running(fs::path const& directory)
{
    try {
        if (!fs::is_directory(directory))
            return std::nullopt;
        auto const home = home_of(fs::canonical(directory));
        auto const cluster = home / cluster_name;
        struct stat now {};
        auto const file = read_pid_file(cluster);
        if (::stat(cluster.c_str(), &now) != 0 || !file || file->status != "ready" ||
            !find_postmaster(cluster))
            return std::nullopt;
        auto const socket_directory = known_socket_directory(home, now.st_uid);
        if (!socket_directory || !fs::exists(*socket_directory / socket_name))
            return std::nullopt;
        return connection_to(*socket_directory, user_of(now.st_uid, now.st_gid), application);
    } catch (std::system_error const& error) {
        throw cluster_error(fmt::format("The data folder {} cannot be used: {}.",
                                        directory.string(), error.what()));
    }
}

std::string const& embedded_cluster::connection_string() const
{
    return keeper_->connection_string();
}

bool embedded_cluster::is_running() const
{
    return keeper_->is_running();
}

void embedded_cluster::supervise()
{
    keeper_->supervise();
}

void embedded_cluster::stop()
{
    keeper_->stop();
}

pid_t embedded_cluster::postmaster_pid() const
{
    return keeper_->postmaster_pid();
}

} // namespace holdfast::db

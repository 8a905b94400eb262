// SPDX-License-Identifier: Apache-2.0
// The keeper of the private cluster: finds or starts its server, watches it, starts it again when
// it died, and stops it.

#include "db/embedded_cluster.hpp"

#include "db/child_process.hpp"
#include "db/cluster_files.hpp"
#include "db/cluster_lock.hpp"
#include "db/cluster_note.hpp"
#include "db/cluster_place.hpp"
#include "db/initdb.hpp"
#include "db/server_administration.hpp"
#include "db/server_log.hpp"
#include "db/server_process.hpp"
#include "db/server_programs.hpp"
#include "db/server_settings.hpp"
#include "db/server_socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

namespace holdfast::db {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto application = "holdfast"; // role and database of the service

constexpr auto poll_pause = 25ms;  // how soon a start or an end is noticed
constexpr auto socket_limit = 10s; // a server that starts has made its socket by then
constexpr auto waiting_note_every = 10s;

// A server that reports progress may take this many times the start's limit to recover.
constexpr int patience_max = 20;

// Server processes that lost their postmaster end by themselves unless they are busy.
constexpr auto leftover_quit_after = 1s;
constexpr auto leftover_kill_after = 5s;
constexpr auto leftover_limit = 15s;

// After a server that did not come up; one that did, and died, is started again at once.
constexpr auto restart_pause_first = 1s;
constexpr auto restart_pause_max = 30s;

constexpr auto log_prune_every = 60s;

} // namespace

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

    [[nodiscard]] bool is_ready() const;
    [[nodiscard]] bool becomes_ready();
    [[nodiscard]] file_descriptor lock_if_nobody_works() const;
    void end_leftovers() const;

    void look_after_living();
    void look_after_dead();
    void note_death();

    cluster_options options_;
    fs::path binaries_;
    cluster_place where_;
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
    where_ = settle_place(options_);
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
                                            where_.cluster().string(), last_complaint(where_)));
    }
    make_role_and_database(connection_to(socket_directory_, where_.owner, administrator));
    is_answering_ = true;
    prune_logs(where_.cluster());
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
    auto const deadline = clock::now() + socket_limit;
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
            shut_down(*found, options_.note);
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

// The server inherits the lock and hands it on to each of its processes, so it is free when the
// last of them is gone, whichever way they went.
void embedded_cluster::keeper::launch(file_descriptor const& server_lock)
{
    check_version(where_.cluster());
    clear_socket_directory(socket_directory_, where_.user);
    remove_misleading_pid_file(where_.cluster());
    write_text(where_.home / settings_name, settings_text());

    auto const path = where_.home / start_log_name;
    auto const flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    file_descriptor const log{::open(path.c_str(), flags, 0600)};
    if (!log.is_open())
        fail("writing " + path.string());
    auto started = process::start(
        {.program = binaries_ / "postgres",
         .arguments = server_arguments(where_.cluster(), socket_directory_, options_),
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
    auto seen = log_bytes(where_.cluster());
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
        if (auto const bytes = log_bytes(where_.cluster()); bytes != seen) {
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
    if (now >= next_prune_) {
        prune_logs(where_.cluster());
        next_prune_ = now + log_prune_every;
    }
}

void embedded_cluster::keeper::look_after_dead()
{
    if (died_at_ < launched_at_)
        note_death();
    auto const now = clock::now();
    if (now < next_launch_)
        return;
    auto const lock = lock_if_nobody_works();
    if (!lock.is_open())
        return;
    next_launch_ = now + restart_pause_;
    launch(lock);
}

void embedded_cluster::keeper::note_death()
{
    died_at_ = clock::now();
    // A server that is killed leaves its file behind, in which it says how far it had come.
    bool const was_ready = is_answering_ || is_ready();
    is_answering_ = false;
    auto const status = postmaster_->collect();
    if (was_ready) {
        note(fmt::format("The database server {}; starting it again.", ending_of(status)));
        restart_pause_ = restart_pause_first;
        next_launch_ = launched_at_ + restart_pause_;
    } else {
        note(fmt::format("The database server {} before it was ready: {}", ending_of(status),
                         last_complaint(where_)));
        next_launch_ = launched_at_ + restart_pause_;
        restart_pause_ = std::min<std::chrono::seconds>(restart_pause_ * 2, restart_pause_max);
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
            shut_down(*postmaster_, options_.note);
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

bool embedded_cluster::exists(fs::path const& directory)
{
    return holds_cluster(directory);
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
    try {
        keeper_->supervise();
    } catch (std::system_error const& error) {
        throw cluster_error(
            fmt::format("The database could not be looked after just now: {}.", error.what()));
    }
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

// SPDX-License-Identifier: Apache-2.0
// The private database cluster and its processes, with real PostgreSQL programs in directories
// under /tmp. Runs as root and as an ordinary user; what differs is said in the case.

#include "db/child_process.hpp"
#include "db/embedded_cluster.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <libpq-fe.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace fs = std::filesystem;
namespace db = holdfast::db;
using namespace std::chrono_literals;
using db::cluster_options;
using db::embedded_cluster;

struct temporary_directory {
    fs::path path;

    temporary_directory()
    {
        std::string pattern{"/tmp/holdfast-test-XXXXXX"};
        if (!::mkdtemp(pattern.data()))
            throw std::runtime_error("no temporary directory");
        path = pattern;
        fs::permissions(path, fs::perms{0755}); // root's server steps down and passes through
    }
    temporary_directory(temporary_directory const&) = delete;
    temporary_directory& operator=(temporary_directory const&) = delete;
    ~temporary_directory() { fs::remove_all(path); }
};

bool is_root()
{
    return ::geteuid() == 0;
}

bool comes_true(std::function<bool()> const& claim, std::chrono::seconds limit = 30s)
{
    auto const deadline = std::chrono::steady_clock::now() + limit;
    while (!claim()) {
        if (std::chrono::steady_clock::now() >= deadline)
            return false;
        std::this_thread::sleep_for(20ms);
    }
    return true;
}

std::string text_of(fs::path const& path)
{
    std::ifstream file{path, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
}

void write(fs::path const& path, std::string const& text)
{
    std::ofstream{path, std::ios::binary} << text;
}

// Quick. What a killed process had written is in the kernel, so these cases need no fsync.
std::vector<std::pair<std::string, std::string>> hasty()
{
    return {{"fsync", "off"}, {"shared_buffers", "16MB"}};
}

cluster_options in(temporary_directory const& place)
{
    return {.directory = place.path / "data", .settings = hasty(), .refuge = place.path / "refuge"};
}

// A data folder with a cluster in it, copied from one that is made once: initdb takes a while.
cluster_options made_in(temporary_directory const& place)
{
    static temporary_directory const pattern;
    if (auto const options = in(pattern); !fs::exists(options.directory))
        embedded_cluster::start(options).stop();
    auto options = in(place);
    auto const copied = db::run(
        {.program = "/bin/cp", .arguments = {"-a", in(pattern).directory, options.directory}}, 60s);
    if (!copied.has_succeeded())
        throw std::runtime_error(copied.output);
    return options;
}

std::optional<std::string> answer(std::string const& connection, std::string const& statement)
{
    std::unique_ptr<PGconn, decltype(&PQfinish)> const session{
        PQconnectdb((connection + " connect_timeout=5").c_str()), &PQfinish};
    std::unique_ptr<PGresult, decltype(&PQclear)> const result{
        PQexec(session.get(), statement.c_str()), &PQclear};
    auto const status = PQresultStatus(result.get());
    if (status == PGRES_COMMAND_OK)
        return "";
    if (status != PGRES_TUPLES_OK || PQntuples(result.get()) == 0)
        return std::nullopt;
    return PQgetvalue(result.get(), 0, 0);
}

// What the refusal says, or nothing when it was not refused.
std::string refusal_of(cluster_options const& options)
{
    try {
        auto const cluster = embedded_cluster::start(options);
        return "";
    } catch (db::cluster_error const& error) {
        return error.what();
    }
}

bool has(std::string const& text, std::string const& part)
{
    return text.find(part) != std::string::npos;
}

// Every live process that works in or below this directory.
std::vector<pid_t> processes_below(fs::path const& directory)
{
    std::vector<pid_t> found;
    for (auto const& entry : fs::directory_iterator("/proc")) {
        std::error_code gone;
        auto const at = fs::read_symlink(entry.path() / "cwd", gone);
        if (!gone && has(at.string(), directory.string()))
            found.push_back(std::stoi(entry.path().filename().string()));
    }
    return found;
}

// A service of its own, to be killed the hard way. Says "ready" through a pipe when it has started.
class other_service {
public:
    explicit other_service(cluster_options const& options)
    {
        std::array<int, 2> ends{};
        if (::pipe2(ends.data(), O_CLOEXEC) != 0)
            throw std::runtime_error("no pipe");
        pid_ = ::fork();
        if (pid_ == 0)
            serve(options, ends[1]);
        ::close(ends[1]);
        reader_ = db::file_descriptor{ends[0]};
    }
    other_service(other_service const&) = delete;
    other_service& operator=(other_service const&) = delete;
    ~other_service() { kill(); }

    // The process of its database server; 0 when it died before it had one.
    pid_t wait_until_ready() const
    {
        pid_t pid = 0;
        return ::read(reader_.number(), &pid, sizeof pid) == sizeof pid ? pid : 0;
    }

    void kill()
    {
        if (pid_ == 0)
            return;
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }

private:
    [[noreturn]] static void serve(cluster_options const& options, int writer)
    {
        try {
            auto const cluster = embedded_cluster::start(options);
            auto const pid = cluster.postmaster_pid();
            if (::write(writer, &pid, sizeof pid) == sizeof pid)
                for (;;)
                    ::pause();
        } catch (std::exception const& error) {
            MESSAGE(error.what());
        }
        ::_exit(1);
    }

    pid_t pid_ = 0;
    db::file_descriptor reader_;
};

// Gives up the right to look into other users' processes for good, so only for a child.
bool has_given_up_looking()
{
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> sets{};
    if (::syscall(SYS_capget, &header, sets.data()) != 0)
        return false;
    auto const bit = 1U << CAP_SYS_PTRACE;
    sets[0].effective &= ~bit;
    sets[0].permitted &= ~bit;
    return ::syscall(SYS_capset, &header, sets.data()) == 0;
}

bool comes_back_without_looking(cluster_options const& options)
{
    if (!has_given_up_looking())
        return false;
    auto cluster = embedded_cluster::start(options);
    std::unique_ptr<PGconn, decltype(&PQfinish)> const busy{
        PQconnectdb(cluster.connection_string().c_str()), &PQfinish};
    PQsendQuery(busy.get(), "SELECT count(*) FROM generate_series(1, 100000000000)");
    auto const killed = cluster.postmaster_pid();
    ::kill(killed, SIGKILL);
    return comes_true([&] { return !cluster.is_running(); }) && comes_true([&] {
               cluster.supervise();
               return answer(cluster.connection_string(), "SELECT 1") == "1";
           }) &&
           cluster.postmaster_pid() != killed;
}

// An ended process that nobody has collected yet is gone as well.
bool is_gone(pid_t pid)
{
    auto const found = db::process::attach(pid);
    return !found || !found->is_alive();
}

} // namespace

TEST_CASE("an empty folder becomes a database that answers, on a socket only")
{
    temporary_directory const place;
    std::vector<std::string> notes;
    auto options = in(place);
    options.note = [&](std::string_view sentence) { notes.emplace_back(sentence); };
    auto const cluster = embedded_cluster::start(options);

    CHECK(cluster.is_running());
    auto const& at = cluster.connection_string();
    CHECK(answer(at, "SELECT current_user || '@' || current_database()") == "holdfast@holdfast");
    CHECK(answer(at, "SHOW server_encoding") == "UTF8");
    CHECK(answer(at, "SHOW listen_addresses") == "");
    CHECK(answer(at, "SHOW data_checksums") == "on");
    CHECK(answer(at, "SHOW unix_socket_permissions") == "0700");
    CHECK(answer(at, "SHOW TimeZone") == "UTC");
    CHECK(answer(at, "SELECT lower('ÄÉ') || ('a' < 'B')") == "äéfalse");
    CHECK(answer(at, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") == "f");
    CHECK(answer(at, "CREATE TABLE stock (units bigint)") == "");
    REQUIRE(notes.size() == 1);
    CHECK(has(notes[0], "Making a database cluster in " + place.path.string()));
}

TEST_CASE("without further settings the database is durable")
{
    temporary_directory const place;
    auto options = made_in(place);
    options.settings = {};
    auto const cluster = embedded_cluster::start(options);

    for (auto const* setting : {"fsync", "full_page_writes", "synchronous_commit"})
        CHECK(answer(cluster.connection_string(), std::string{"SHOW "} + setting) == "on");
    CHECK(answer(cluster.connection_string(), "SHOW recovery_init_sync_method") == "syncfs");
    CHECK(answer(cluster.connection_string(), "SHOW max_wal_size") == "2GB");
    CHECK(answer(cluster.connection_string(), "SHOW logging_collector") == "on");
}

TEST_CASE("only the database's own user and root can enter the socket's folder and the files")
{
    temporary_directory const place;
    auto const cluster = embedded_cluster::start(made_in(place));

    for (auto const* name : {"cluster", "socket"}) {
        struct stat now {};
        REQUIRE(::stat((place.path / "data" / name).c_str(), &now) == 0);
        CHECK((now.st_mode & 0777) == 0700);
        CHECK((now.st_uid != 0));
    }
    struct stat server {};
    auto const process = "/proc/" + std::to_string(cluster.postmaster_pid());
    REQUIRE(::stat(process.c_str(), &server) == 0);
    CHECK(server.st_uid != 0);
    if (!is_root())
        CHECK(server.st_uid == ::geteuid());
}

TEST_CASE("a second start finds what the first one stored, and stopping leaves no process")
{
    temporary_directory const place;
    auto const options = made_in(place);
    pid_t first = 0;
    {
        auto cluster = embedded_cluster::start(options);
        first = cluster.postmaster_pid();
        REQUIRE(answer(cluster.connection_string(), "CREATE TABLE kept AS SELECT 42 AS units"));
        cluster.stop();
        CHECK_FALSE(cluster.is_running());
        CHECK(is_gone(first));
        CHECK(processes_below(place.path).empty());
        cluster.stop();
        cluster.supervise();
        CHECK_FALSE(cluster.is_running());
    }
    auto const cluster = embedded_cluster::start(options);
    CHECK(cluster.postmaster_pid() != first);
    CHECK(answer(cluster.connection_string(), "SELECT units FROM kept") == "42");
}

TEST_CASE("an open client does not hold up the stop")
{
    temporary_directory const place;
    auto cluster = embedded_cluster::start(made_in(place));
    std::unique_ptr<PGconn, decltype(&PQfinish)> const client{
        PQconnectdb(cluster.connection_string().c_str()), &PQfinish};
    REQUIRE(PQstatus(client.get()) == CONNECTION_OK);
    REQUIRE(PQsendQuery(client.get(), "SELECT pg_sleep(600)") == 1);

    auto const began = std::chrono::steady_clock::now();
    cluster.stop();
    CHECK(std::chrono::steady_clock::now() - began < 25s);
    CHECK(processes_below(place.path).empty());
}

TEST_CASE("a second service on the same data folder is refused and told who has it")
{
    temporary_directory const place;
    auto const cluster = embedded_cluster::start(made_in(place));

    CHECK_THROWS_AS((void)embedded_cluster::start(in(place)), db::cluster_in_use);
    auto const said = refusal_of(in(place));
    CHECK(has(said, "in use by another Holdfast (process " + std::to_string(::getpid()) + ")"));
    CHECK(cluster.is_running());
}

TEST_CASE("a command beside the service finds the running database")
{
    temporary_directory const place;
    auto const directory = place.path / "data";
    CHECK_FALSE(embedded_cluster::find_running(directory));
    {
        auto const cluster = embedded_cluster::start(made_in(place));
        auto const found = embedded_cluster::find_running(directory);
        REQUIRE(found);
        CHECK(*found == cluster.connection_string());
        CHECK(answer(*found, "SELECT 1") == "1");
    }
    CHECK_FALSE(embedded_cluster::find_running(directory));
}

TEST_CASE("a killed database server comes back by itself, with everything that was committed")
{
    temporary_directory const place;
    std::vector<std::string> notes;
    auto options = made_in(place);
    options.note = [&](std::string_view sentence) { notes.emplace_back(sentence); };
    auto cluster = embedded_cluster::start(options);
    auto const at = cluster.connection_string();
    REQUIRE(answer(at, "CREATE TABLE sold AS SELECT generate_series(1, 1000) AS id"));

    // A busy session goes on without its postmaster and would block a new one.
    std::unique_ptr<PGconn, decltype(&PQfinish)> const busy{PQconnectdb(at.c_str()), &PQfinish};
    REQUIRE(PQsendQuery(busy.get(), "SELECT count(*) FROM generate_series(1, 100000000000)") == 1);

    for (auto round = 0; round < 2; ++round) {
        auto const killed = cluster.postmaster_pid();
        ::kill(killed, SIGKILL);
        REQUIRE(comes_true([&] { return !cluster.is_running(); }));
        CHECK(comes_true([&] {
            cluster.supervise();
            return answer(at, "SELECT count(*) FROM sold") == "1000";
        }));
        cluster.supervise();
        CHECK(cluster.is_running());
        CHECK(cluster.postmaster_pid() != killed);
        CHECK(cluster.connection_string() == at);
    }
    CHECK(std::ranges::count_if(notes, [](std::string const& sentence) {
              return has(sentence, "was killed by signal 9; starting it again");
          }) == 2);
    CHECK(has(notes.back(), "running again"));
}

TEST_CASE("a server that is killed again and again is never made to wait for that")
{
    temporary_directory const place;
    auto cluster = embedded_cluster::start(made_in(place));
    std::chrono::steady_clock::duration longest{};
    for (auto round = 0; round < 6; ++round) {
        auto const killed = cluster.postmaster_pid();
        ::kill(killed, SIGKILL);
        auto const began = std::chrono::steady_clock::now();
        REQUIRE(comes_true([&] {
            cluster.supervise();
            return cluster.postmaster_pid() != killed;
        }));
        longest = std::max(longest, std::chrono::steady_clock::now() - began);
        REQUIRE(comes_true([&] { return answer(cluster.connection_string(), "SELECT 1") == "1"; }));
    }
    CHECK(longest < 8s);
}

TEST_CASE("it comes back also where root may not look into other users' processes")
{
    // As in a container: the session that goes on without its postmaster is told by its title.
    temporary_directory const place;
    auto const options = made_in(place);
    auto const child = ::fork();
    if (child == 0)
        ::_exit(comes_back_without_looking(options) ? 0 : 1);
    auto status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(processes_below(place.path).empty());
}

TEST_CASE("a server that cannot start is tried again less and less often, and said why")
{
    temporary_directory const place;
    std::vector<std::string> notes;
    auto options = made_in(place);
    options.note = [&](std::string_view sentence) { notes.emplace_back(sentence); };
    auto cluster = embedded_cluster::start(options);
    auto const hba = place.path / "data/cluster/pg_hba.conf";
    auto const hidden = place.path / "data/cluster/hidden";
    fs::rename(hba, hidden);
    ::kill(cluster.postmaster_pid(), SIGKILL);

    auto last = cluster.postmaster_pid();
    std::vector<std::chrono::steady_clock::time_point> tried;
    REQUIRE(comes_true(
        [&] {
            cluster.supervise();
            if (cluster.postmaster_pid() != last)
                tried.push_back(std::chrono::steady_clock::now());
            last = cluster.postmaster_pid();
            return tried.size() == 3;
        },
        90s));
    CHECK(tried[1] - tried[0] >= 900ms);
    CHECK(tried[2] - tried[1] >= 1800ms);
    CHECK(std::ranges::any_of(notes, [](std::string const& sentence) {
        return has(sentence, "before it was ready") && has(sentence, "pg_hba.conf");
    }));

    fs::rename(hidden, hba);
    CHECK(comes_true([&] {
        cluster.supervise();
        return answer(cluster.connection_string(), "SELECT 1") == "1";
    }));
}

TEST_CASE("after kill -9 of the service, the next start goes on with the same server")
{
    temporary_directory const place;
    auto options = made_in(place);
    other_service service{options};
    auto const server = service.wait_until_ready();
    REQUIRE(server != 0);
    auto const found = embedded_cluster::find_running(options.directory);
    REQUIRE(found);
    REQUIRE(answer(*found, "CREATE TABLE sold AS SELECT 7 AS units"));
    service.kill();
    CHECK_FALSE(is_gone(server));

    std::vector<std::string> notes;
    options.note = [&](std::string_view sentence) { notes.emplace_back(sentence); };
    auto cluster = embedded_cluster::start(options);
    CHECK(cluster.postmaster_pid() == server);
    REQUIRE(notes.size() == 1);
    CHECK(has(notes[0], "still alive"));
    CHECK(answer(cluster.connection_string(), "SELECT units FROM sold") == "7");

    ::kill(server, SIGKILL);
    CHECK(comes_true([&] {
        cluster.supervise();
        return answer(cluster.connection_string(), "SELECT units FROM sold") == "7";
    }));
    cluster.stop();
    CHECK(processes_below(place.path).empty());
}

TEST_CASE("after kill -9 of the service and of the server, the next start recovers")
{
    temporary_directory const place;
    auto options = made_in(place);
    other_service service{options};
    auto const server = service.wait_until_ready();
    auto const found = embedded_cluster::find_running(options.directory);
    REQUIRE(found);
    REQUIRE(answer(*found, "CREATE TABLE sold AS SELECT generate_series(1, 5000) AS id"));
    ::kill(server, SIGKILL);
    service.kill();

    auto const cluster = embedded_cluster::start(options);
    CHECK(cluster.postmaster_pid() != server);
    CHECK(answer(cluster.connection_string(), "SELECT count(*) FROM sold") == "5000");
}

TEST_CASE("a server that is just stopping is waited for, then started anew")
{
    temporary_directory const place;
    auto const options = made_in(place);
    other_service service{options};
    auto const server = service.wait_until_ready();
    auto const found = embedded_cluster::find_running(options.directory);
    REQUIRE(found);
    service.kill();
    // A smart shutdown waits for its clients, so it is stopping for as long as we want.
    std::unique_ptr<PGconn, decltype(&PQfinish)> client{PQconnectdb(found->c_str()), &PQfinish};
    REQUIRE(PQstatus(client.get()) == CONNECTION_OK);
    ::kill(server, SIGTERM);
    auto const pid_file = options.directory / "cluster/postmaster.pid";
    REQUIRE(comes_true([&] { return has(text_of(pid_file), "stopping"); }));

    std::atomic<bool> is_waiting = false;
    std::thread last_client{[&] {
        (void)comes_true([&] { return is_waiting.load(); });
        client.reset();
    }};
    auto noted = options;
    noted.note = [&](std::string_view sentence) {
        if (has(std::string{sentence}, "is stopping"))
            is_waiting = true;
    };
    auto const cluster = embedded_cluster::start(noted);
    last_client.join();
    CHECK(is_waiting);
    CHECK(cluster.postmaster_pid() != server);
    CHECK(answer(cluster.connection_string(), "SELECT 1") == "1");
}

TEST_CASE("kill -9 while the cluster is being made leaves nothing in the way")
{
    temporary_directory const place;
    auto const options = in(place);
    auto const data = options.directory;
    auto const unfinished = [&](char const* file) {
        std::error_code absent;
        for (auto const& entry : fs::directory_iterator(data, absent))
            if (entry.path().filename().string().starts_with("cluster.new-") &&
                fs::exists(entry.path() / file, absent))
                return true;
        return false;
    };
    for (auto const* moment : {"PG_VERSION", "global/pg_control", "base/5"}) {
        CAPTURE(moment);
        other_service service{options};
        REQUIRE(comes_true([&] { return unfinished(moment); }));
        service.kill();
        REQUIRE_FALSE(fs::exists(data / "cluster"));
        CHECK(comes_true([&] { return processes_below(place.path).empty(); }));
    }
    CHECK(unfinished("PG_VERSION"));

    auto const cluster = embedded_cluster::start(options);
    CHECK(answer(cluster.connection_string(), "SELECT 1") == "1");
    CHECK_FALSE(unfinished("."));
}

TEST_CASE("data of another major version is refused and left alone")
{
    temporary_directory const place;
    auto const options = made_in(place);
    {
        auto const cluster = embedded_cluster::start(options);
    }
    auto const version = options.directory / "cluster/PG_VERSION";
    write(version, "14\n");
    auto const said = refusal_of(options);
    CHECK(has(said, "made by PostgreSQL 14"));
    CHECK(has(said, "pg_dump"));
    CHECK(text_of(version) == "14\n");

    write(version, "15\n");
    CHECK(refusal_of(options).empty());

    auto elsewhere = options;
    elsewhere.directory = place.path / "debian";
    fs::create_directory(elsewhere.directory);
    write(elsewhere.directory / "PG_VERSION", "14\n");
    CHECK(has(refusal_of(elsewhere), "made by PostgreSQL 14"));
    write(elsewhere.directory / "PG_VERSION", "15\n");
    CHECK(has(refusal_of(elsewhere), "Holdfast did not make"));
    CHECK(std::distance(fs::directory_iterator{elsewhere.directory}, {}) == 1);
}

TEST_CASE("a folder with other things in it is refused and left alone")
{
    temporary_directory const place;
    auto options = in(place);
    options.directory = place.path / "photos";
    fs::create_directory(options.directory);
    write(options.directory / "beach.jpg", "sand");
    CHECK(has(refusal_of(options), "is not empty (beach.jpg)"));
    CHECK(std::distance(fs::directory_iterator{options.directory}, {}) == 1);

    options.directory /= "beach.jpg";
    CHECK(has(refusal_of(options), "is not a folder"));
}

TEST_CASE("a long, odd path works: the socket moves to a short one and is found again")
{
    temporary_directory const place;
    auto options = in(place);
    options.directory = place.path / std::string(90, 'x') / "my shop \"it's\" \\ here" / "data";
    std::string first;
    {
        auto const cluster = embedded_cluster::start(options);
        first = cluster.connection_string();
        CHECK(answer(first, "CREATE TABLE kept AS SELECT 1 AS units"));
        CHECK(embedded_cluster::find_running(options.directory) == first);
    }
    CHECK_FALSE(fs::exists(options.directory / "socket.at"));

    other_service service{options};
    auto const server = service.wait_until_ready();
    REQUIRE(server != 0);
    service.kill();
    fs::path const socket{text_of(options.directory / "socket.at")};
    CHECK_FALSE(has(socket.string(), place.path.string()));
    auto cluster = embedded_cluster::start(options);
    CHECK(cluster.postmaster_pid() == server);
    CHECK(answer(cluster.connection_string(), "SELECT units FROM kept") == "1");
    cluster.stop();
    auto const name = socket.string().substr(0, socket.string().find('\n'));
    CHECK_FALSE(fs::exists(name));
}

TEST_CASE("a server whose socket was swept out of /tmp is replaced by one that answers")
{
    temporary_directory const place;
    auto options = in(place);
    options.directory = place.path / std::string(90, 'x');
    other_service service{options};
    auto const server = service.wait_until_ready();
    REQUIRE(server != 0);
    service.kill();
    auto const pointer = text_of(options.directory / "socket.at");
    fs::remove_all(pointer.substr(0, pointer.find('\n')));

    auto const cluster = embedded_cluster::start(options);
    CHECK(cluster.postmaster_pid() != server);
    CHECK(is_gone(server));
    CHECK(answer(cluster.connection_string(), "SELECT 1") == "1");
}

TEST_CASE("a server that somebody started by hand is left alone")
{
    temporary_directory const place;
    auto const options = made_in(place);
    struct stat owner {};
    REQUIRE(::stat((options.directory / "cluster").c_str(), &owner) == 0);
    fs::create_directory(place.path / "hand");
    fs::permissions(place.path / "hand", fs::perms{0777});
    db::child_command command{.program = "/usr/lib/postgresql/15/bin/postgres"};
    command.arguments = {"-D", (options.directory / "cluster").string(), "-c",
                         "unix_socket_directories=" + (place.path / "hand").string()};
    if (is_root())
        command.user = db::user_of(owner.st_uid, owner.st_gid);
    auto by_hand = db::process::start(command);
    auto const pid_file = options.directory / "cluster/postmaster.pid";
    REQUIRE(comes_true([&] { return has(text_of(pid_file), "ready"); }));

    CHECK(
        has(refusal_of(options), "was started by hand (process " + std::to_string(by_hand.pid())));
    CHECK(by_hand.is_alive());
    by_hand.send(SIGINT);
    REQUIRE(by_hand.wait_until(std::chrono::steady_clock::now() + 30s));
    by_hand.collect();
    CHECK(refusal_of(options).empty());
}

TEST_CASE("an odd path that is short enough holds its own socket")
{
    temporary_directory const place;
    auto options = in(place);
    options.directory = place.path / "it's \"my\" \\ shop";
    auto const cluster = embedded_cluster::start(options);
    CHECK(fs::exists(options.directory / "socket/.s.PGSQL.5432"));
    CHECK(answer(cluster.connection_string(), "SELECT 1") == "1");
}

TEST_CASE("a comma in the path, which libpq takes for a list of servers, does no harm")
{
    temporary_directory const place;
    auto options = made_in(place);
    auto const odd = place.path / "shoes, hats";
    fs::rename(options.directory, odd);
    options.directory = odd;
    auto const cluster = embedded_cluster::start(options);
    CHECK(answer(cluster.connection_string(), "SELECT 1") == "1");
}

TEST_CASE("a folder closed to everyone but its owner works, and stays closed")
{
    temporary_directory const place;
    fs::permissions(place.path / ".", fs::perms{0755});
    auto const home = place.path / "root";
    fs::create_directory(home);
    fs::permissions(home, fs::perms{0700});
    std::vector<std::string> notes;
    auto options = in(place);
    options.directory = home / "project/data/postgres";
    options.note = [&](std::string_view sentence) { notes.emplace_back(sentence); };
    {
        auto const cluster = embedded_cluster::start(options);
        CHECK(answer(cluster.connection_string(), "CREATE TABLE kept AS SELECT 5 AS units"));
        CHECK(embedded_cluster::find_running(options.directory) == cluster.connection_string());
        CHECK(has(refusal_of(options), "in use by another Holdfast"));
    }
    CHECK((fs::status(home).permissions() & fs::perms{0777}) == fs::perms{0700});
    // Only root's server steps down to a user who cannot come in.
    CHECK(fs::exists(options.directory / "cluster.at") == is_root());
    CHECK(fs::exists(options.directory / "cluster") == !is_root());
    CHECK(std::ranges::any_of(notes, [](std::string const& sentence) {
              return has(sentence, "so the database lives in");
          }) == is_root());
    {
        auto const cluster = embedded_cluster::start(options);
        CHECK(answer(cluster.connection_string(), "SELECT units FROM kept") == "5");
    }

    // A data folder made anew is empty: it never finds the data of the deleted one.
    fs::remove_all(options.directory);
    notes.clear();
    auto const cluster = embedded_cluster::start(options);
    CHECK_FALSE(answer(cluster.connection_string(), "SELECT units FROM kept"));
    CHECK(std::ranges::any_of(notes, [](std::string const& sentence) {
              return has(sentence, "A database of an earlier");
          }) == is_root());
}

TEST_CASE("a refuge that is gone is not quietly replaced by an empty database")
{
    temporary_directory const place;
    auto const options = in(place);
    fs::create_directory(options.directory);
    write(options.directory / "cluster.at", (place.path / "refuge/0").string() + "\n");
    CHECK(has(refusal_of(options), "which is gone"));
}

TEST_CASE("a cluster copied back by root is given to the database's user again")
{
    temporary_directory const place;
    auto const options = made_in(place);
    {
        auto const cluster = embedded_cluster::start(options);
        REQUIRE(answer(cluster.connection_string(), "CREATE TABLE kept AS SELECT 3 AS units"));
    }
    auto const original = options.directory / "cluster";
    auto const copy = options.directory / "cluster.new-copy";
    fs::copy(original, copy, fs::copy_options::recursive);
    fs::remove_all(original);
    fs::rename(copy, original);
    fs::permissions(original, fs::perms{0700});
    auto const cluster = embedded_cluster::start(options);
    CHECK(answer(cluster.connection_string(), "SELECT units FROM kept") == "3");
}

TEST_CASE("a left-over process number that belongs to another program does not stop the start")
{
    temporary_directory const place;
    auto const options = made_in(place);
    struct stat owner {};
    {
        auto const cluster = embedded_cluster::start(options);
        REQUIRE(::stat((options.directory / "cluster").c_str(), &owner) == 0);
    }
    // Of the database's own user: postgres itself would take this one for a living server.
    db::child_command command{.program = "/usr/bin/sleep", .arguments = {"600"}};
    if (is_root())
        command.user = db::user_of(owner.st_uid, owner.st_gid);
    auto sleeper = db::process::start(command);
    auto const number = std::to_string(sleeper.pid()) + "\n";
    auto const at = options.directory.string();
    auto const rest = "/elsewhere\n1\n5432\n/elsewhere\n\n 1 1\nready   \n";
    write(options.directory / "cluster/postmaster.pid", number + rest);
    write(options.directory / "socket/.s.PGSQL.5432.lock", number + rest);
    if (is_root())
        for (auto const* name : {"cluster/postmaster.pid", "socket/.s.PGSQL.5432.lock"})
            REQUIRE(::chown((options.directory / name).c_str(), owner.st_uid, owner.st_gid) == 0);

    CHECK_FALSE(embedded_cluster::find_running(options.directory));
    {
        auto const cluster = embedded_cluster::start(options);
        CHECK(cluster.postmaster_pid() != sleeper.pid());
        CHECK(answer(cluster.connection_string(), "SELECT 1") == "1");
    }
    CHECK(sleeper.is_alive());
    sleeper.send(SIGKILL);
    CHECK(sleeper.wait_until(std::chrono::steady_clock::now() + 10s));
    sleeper.collect();
}

TEST_CASE("a setting that PostgreSQL does not know stops the start with its name")
{
    temporary_directory const place;
    auto options = made_in(place);
    options.settings.emplace_back("no_such_setting", "1");
    auto const said = refusal_of(options);
    CHECK(has(said, "does not start"));
    CHECK(has(said, "no_such_setting"));
    CHECK(processes_below(place.path).empty());
    CHECK(refusal_of(in(place)).empty());
}

TEST_CASE("missing programs are named")
{
    temporary_directory const place;
    auto options = in(place);
    options.binaries = place.path;
    CHECK(has(refusal_of(options), "There is no PostgreSQL 15 in " + place.path.string()));
}

TEST_CASE("a full disk's answer from initdb reaches the shop owner, and nothing half made stays")
{
    temporary_directory const place;
    auto options = in(place);
    options.binaries = place.path / "bin";
    fs::create_directory(options.binaries);
    fs::create_symlink("/usr/lib/postgresql/15/bin/postgres", options.binaries / "postgres");
    write(options.binaries / "initdb",
          "#!/bin/sh\necho working\necho 'initdb: error: No space left on device' >&2\nexit 1\n");
    fs::permissions(options.binaries / "initdb", fs::perms{0755});
    CHECK(has(refusal_of(options), "No space left on device"));
    for (auto const& entry : fs::directory_iterator(options.directory))
        CHECK_FALSE(entry.path().filename().string().starts_with("cluster"));
}

TEST_CASE("the server knows nothing of our terminal, our files, our secrets and our PG variables")
{
    temporary_directory const place;
    ::setenv("PGPORT", "1", 1);
    ::setenv("PGDATA", "/nowhere", 1);
    ::setenv("HOLDFAST_ADMIN_KEY", "secret", 1);
    auto const leak = ::open("/etc/hostname", O_RDONLY); // without close-on-exec
    REQUIRE(leak >= 0);
    auto const cluster = embedded_cluster::start(made_in(place));

    auto const files = fs::path{"/proc"} / std::to_string(cluster.postmaster_pid());
    auto const environment = text_of(files / "environ");
    CHECK(has(environment, "LC_ALL=C"));
    CHECK(has(environment, "TZ=UTC"));
    CHECK_FALSE(has(environment, "PGPORT=1"));
    CHECK_FALSE(has(environment, "PGDATA=/nowhere"));
    CHECK_FALSE(has(environment, "HOLDFAST"));
    for (auto const& entry : fs::directory_iterator(files / "fd")) {
        auto const target = fs::read_symlink(entry.path()).string();
        CHECK_FALSE(has(target, "/etc/hostname"));
        CHECK_FALSE(has(target, "/data/lock"));
    }
    CHECK(::getsid(cluster.postmaster_pid()) == cluster.postmaster_pid());
    ::close(leak);
    ::unsetenv("PGPORT");
    ::unsetenv("PGDATA");
    ::unsetenv("HOLDFAST_ADMIN_KEY");
}

TEST_CASE("old logs of the database are deleted, so an error flood cannot fill the disk")
{
    temporary_directory const place;
    auto const options = made_in(place);
    {
        auto const cluster = embedded_cluster::start(options);
    }
    auto const log = options.directory / "cluster/log";
    for (auto day = 10; day < 30; ++day)
        write(log / ("postgresql-202001" + std::to_string(day) + "-000000.log"), "old");
    auto const cluster = embedded_cluster::start(options);
    CHECK(std::distance(fs::directory_iterator{log}, {}) == 10);
    CHECK_FALSE(fs::exists(log / "postgresql-20200110-000000.log"));
}

TEST_CASE("several threads may ask, supervise and stop at the same time")
{
    temporary_directory const place;
    auto cluster = embedded_cluster::start(made_in(place));
    std::atomic<bool> is_over = false;
    std::vector<std::thread> threads;
    for (auto i = 0; i < 2; ++i)
        threads.emplace_back([&] {
            while (!is_over) {
                cluster.supervise();
                (void)cluster.is_running();
                (void)cluster.postmaster_pid();
            }
        });
    for (auto round = 0; round < 2; ++round) {
        auto const killed = cluster.postmaster_pid();
        ::kill(killed, SIGKILL);
        CHECK(comes_true([&] {
            return cluster.postmaster_pid() != killed &&
                   answer(cluster.connection_string(), "SELECT 1") == "1";
        }));
    }
    cluster.stop();
    is_over = true;
    for (auto& thread : threads)
        thread.join();
    CHECK_FALSE(cluster.is_running());
    CHECK(processes_below(place.path).empty());
}

TEST_CASE("a child starts with clean signals, and its failure to start is told")
{
    sigset_t blocked;
    sigset_t before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGUSR1);
    ::pthread_sigmask(SIG_BLOCK, &blocked, &before);
    auto* const ignored = std::signal(SIGPIPE, SIG_IGN);
    auto const status =
        db::run({.program = "/usr/bin/cat", .arguments = {"/proc/self/status"}}, 10s);
    std::signal(SIGPIPE, ignored);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);

    CHECK(status.has_succeeded());
    CHECK(has(status.output, "SigBlk:\t0000000000000000"));
    CHECK(has(status.output, "SigIgn:\t0000000000000000"));
    CHECK_THROWS_WITH_AS((void)db::process::start({.program = "/nowhere/program"}),
                         doctest::Contains("No such file"), std::system_error);
    CHECK_THROWS_AS((void)db::process::start({.program = "/etc"}), std::system_error);
}

TEST_CASE("a child that takes too long is killed with everything it started")
{
    auto const began = std::chrono::steady_clock::now();
    auto const late = db::run(
        {.program = "/bin/sh", .arguments = {"-c", "echo begun; sleep 600 & sleep 600"}}, 300ms);
    CHECK(std::chrono::steady_clock::now() - began < 5s);
    CHECK_FALSE(late.has_succeeded());
    CHECK(late.output == "begun\n");
}

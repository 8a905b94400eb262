// SPDX-License-Identifier: Apache-2.0
// fork and exec for a program with many threads, and pidfds to watch what came of it.

#include "db/child_process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

namespace holdfast::db {

namespace {

using clock = std::chrono::steady_clock;

// exec answers at once on any healthy disk; a program on a dead network disk must not hang us.
constexpr auto exec_limit = std::chrono::seconds{15};

constexpr off_t output_bytes_max = 64 * 1024;

constexpr int first_free_descriptor = 3;

[[noreturn]] void fail(std::string const& doing)
{
    throw std::system_error(errno, std::generic_category(), doing);
}

// By number: the header of Debian 12's C library lacks the C linkage for these two.
int open_pidfd(pid_t pid)
{
    return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

bool has_signalled(int pidfd, int signal)
{
    return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0) == 0;
}

// Rounded up, so that a wait never spins through its last millisecond.
int milliseconds_until(clock::time_point deadline)
{
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
    return static_cast<int>(std::clamp<long long>(left.count(), 0, 60'000));
}

// True when the descriptor has something to read (or is at its end) by the deadline.
bool is_readable_by(int descriptor, clock::time_point deadline)
{
    for (;;) {
        pollfd watched{descriptor, POLLIN, 0};
        auto const ready = ::poll(&watched, 1, milliseconds_until(deadline));
        if (ready > 0)
            return true;
        if (ready < 0 && errno != EINTR)
            fail("waiting for a process");
        if (clock::now() >= deadline)
            return false;
    }
}

// A service started with stdin or stdout closed gets 0, 1 or 2 for its own files, which the child
// would then overwrite.
file_descriptor above_standard(file_descriptor original)
{
    if (original.number() >= first_free_descriptor)
        return original;
    file_descriptor moved{::fcntl(original.number(), F_DUPFD_CLOEXEC, first_free_descriptor)};
    if (!moved.is_open())
        fail("duplicating a file descriptor");
    return moved;
}

file_descriptor open_null()
{
    file_descriptor null{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    if (!null.is_open())
        fail("opening /dev/null");
    return above_standard(std::move(null));
}

enum class step : int { session, parent, descriptors, group, user, directory, exec };

char const* name_of(step at)
{
    switch (at) {
    case step::session: return "making a session for";
    case step::parent: return "tying the life of";
    case step::descriptors: return "connecting the output of";
    case step::group: return "stepping down from root (group) for";
    case step::user: return "stepping down from root (user) for";
    case step::directory: return "changing the directory for";
    case step::exec: return "starting";
    }
    return "starting";
}

struct child_failure {
    step at;
    int error;
};

// Everything the child needs, made before the fork: afterwards another thread's lock on the heap
// may be held for ever.
struct child_plan {
    char const* program;
    char* const* arguments;
    char* const* environment;
    int input;
    int output;
    int report;
    int inherited;
    long descriptor_max;
    pid_t parent;
    bool steps_down;
    uid_t uid;
    gid_t gid;
    bool ends_with_parent;
};

[[noreturn]] void give_up(child_plan const& plan, step at)
{
    child_failure const failure{at, errno};
    auto const written = ::write(plan.report, &failure, sizeof failure);
    ::_exit(written == sizeof failure ? 127 : 126);
}

// Ignored signals survive exec, and our own mask would too.
void reset_signals()
{
    for (int number = 1; number < NSIG; ++number)
        ::signal(number, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void mark_close_on_exec(child_plan const& plan)
{
    auto const first = static_cast<unsigned>(first_free_descriptor);
    if (::close_range(first, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return;
    for (int number = first_free_descriptor; number < plan.descriptor_max; ++number)
        ::fcntl(number, F_SETFD, FD_CLOEXEC);
}

// Raw system calls: the wrappers of the C library signal every thread it believes to exist, and
// after fork there is only this one.
void step_down(child_plan const& plan)
{
    if (::syscall(SYS_setgroups, 1, &plan.gid) != 0)
        give_up(plan, step::group);
    if (::syscall(SYS_setresgid, plan.gid, plan.gid, plan.gid) != 0)
        give_up(plan, step::group);
    if (::syscall(SYS_setresuid, plan.uid, plan.uid, plan.uid) != 0)
        give_up(plan, step::user);
}

// Runs in the child, between fork and exec: async-signal-safe calls only.
[[noreturn]] void become(child_plan const& plan)
{
    if (::setsid() < 0)
        give_up(plan, step::session);
    reset_signals();
    if (::dup2(plan.input, STDIN_FILENO) < 0 || ::dup2(plan.output, STDOUT_FILENO) < 0 ||
        ::dup2(plan.output, STDERR_FILENO) < 0)
        give_up(plan, step::descriptors);
    mark_close_on_exec(plan);
    if (plan.inherited >= 0 && ::fcntl(plan.inherited, F_SETFD, 0) != 0)
        give_up(plan, step::descriptors);
    ::umask(0077);
    if (plan.steps_down)
        step_down(plan);
    if (::chdir("/") != 0)
        give_up(plan, step::directory);
    if (plan.ends_with_parent) {
        // After the change of user, which clears it; and the parent may be gone by now.
        if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
            give_up(plan, step::parent);
        if (::getppid() != plan.parent)
            ::_exit(125);
    }
    ::execve(plan.program, plan.arguments, plan.environment);
    give_up(plan, step::exec);
}

// Nothing of ours: PG* variables would change what the database does, and HOLDFAST_* holds keys
// which the database's user could read from /proc.
std::vector<std::string> child_environment(child_command const& command)
{
    std::vector<std::string> variables{
        "PATH=" + command.program.parent_path().string() + ":/usr/bin:/bin",
        "HOME=/",
        "LC_ALL=C",
        "TZ=UTC",
    };
    if (auto const* libraries = std::getenv("LD_LIBRARY_PATH"))
        variables.push_back(std::string{"LD_LIBRARY_PATH="} + libraries);
    return variables;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts)
{
    std::vector<char*> pointers;
    for (auto& text : texts)
        pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

// A shell that ignores SIGCHLD hands that down to us, and the kernel would then throw away how a
// child ended.
void keep_statuses_of_children()
{
    struct sigaction now {};
    if (::sigaction(SIGCHLD, nullptr, &now) == 0 && now.sa_handler == SIG_IGN)
        ::signal(SIGCHLD, SIG_DFL);
}

// With every signal blocked from before the fork, no handler of ours runs in the child.
pid_t fork_into(child_plan const& plan)
{
    sigset_t every;
    sigset_t before;
    ::sigfillset(&every);
    ::pthread_sigmask(SIG_SETMASK, &every, &before);
    auto const child = ::fork();
    if (child == 0)
        become(plan);
    auto const error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return child;
}

// The pipe closes by itself when exec succeeds.
std::optional<child_failure> failure_from(int report)
{
    if (!is_readable_by(report, clock::now() + exec_limit))
        return child_failure{step::exec, ETIMEDOUT};
    child_failure failure{};
    ssize_t got = 0;
    do {
        got = ::read(report, &failure, sizeof failure);
    } while (got < 0 && errno == EINTR);
    if (got == static_cast<ssize_t>(sizeof failure))
        return failure;
    return std::nullopt;
}

std::string last_of(int file)
{
    struct stat now {};
    if (::fstat(file, &now) != 0)
        fail("reading the output of a program");
    auto const from = std::max<off_t>(0, now.st_size - output_bytes_max);
    std::string text(static_cast<std::size_t>(now.st_size - from), '\0');
    auto const got = ::pread(file, text.data(), text.size(), from);
    if (got < 0)
        fail("reading the output of a program");
    text.resize(static_cast<std::size_t>(got));
    return text;
}

} // namespace

file_descriptor::~file_descriptor()
{
    if (number_ >= 0)
        ::close(number_);
}

std::optional<unix_user> find_user(std::string const& name)
{
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> text(16 * 1024);
    if (::getpwnam_r(name.c_str(), &entry, text.data(), text.size(), &found) != 0 || !found)
        return std::nullopt;
    return unix_user{found->pw_uid, found->pw_gid, found->pw_name};
}

unix_user user_of(uid_t uid, gid_t gid)
{
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> text(16 * 1024);
    if (::getpwuid_r(uid, &entry, text.data(), text.size(), &found) != 0 || !found)
        return {uid, gid, {}};
    return {found->pw_uid, found->pw_gid, found->pw_name};
}

process process::start(child_command const& command)
{
    auto words = command.arguments;
    words.insert(words.begin(), command.program.string());
    auto variables = child_environment(command);
    auto const arguments = pointers_to(words);
    auto const environment = pointers_to(variables);

    keep_statuses_of_children();
    auto const null = open_null();
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        fail("making a pipe");
    auto const reader = above_standard(file_descriptor{ends[0]});
    auto writer = above_standard(file_descriptor{ends[1]});

    auto const child = fork_into({
        .program = words.front().c_str(),
        .arguments = arguments.data(),
        .environment = environment.data(),
        .input = null.number(),
        .output = command.output >= 0 ? command.output : null.number(),
        .report = writer.number(),
        .inherited = command.inherited,
        .descriptor_max = std::min(::sysconf(_SC_OPEN_MAX), 65'536L),
        .parent = ::getpid(),
        .steps_down = command.user.has_value(),
        .uid = command.user ? command.user->uid : 0,
        .gid = command.user ? command.user->gid : 0,
        .ends_with_parent = command.fate == when_parent_ends::ends,
    });
    if (child < 0)
        fail("starting " + command.program.string());
    writer = file_descriptor{};

    process started{child, file_descriptor{open_pidfd(child)}};
    if (!started.handle_.is_open()) {
        auto const error = errno;
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        errno = error;
        fail("watching " + command.program.string());
    }
    if (auto const failure = failure_from(reader.number())) {
        started.send(SIGKILL);
        if (started.wait_until(clock::now() + exec_limit))
            started.collect();
        errno = failure->error;
        fail(std::string{name_of(failure->at)} + " " + command.program.string());
    }
    return started;
}

std::optional<process> process::attach(pid_t pid)
{
    file_descriptor handle{open_pidfd(pid)};
    if (!handle.is_open()) {
        if (errno == ESRCH || errno == EINVAL)
            return std::nullopt;
        fail("watching process " + std::to_string(pid));
    }
    return process{pid, std::move(handle)};
}

bool process::is_alive() const
{
    return !is_readable_by(handle_.number(), clock::now());
}

bool process::wait_until(clock::time_point deadline) const
{
    return is_readable_by(handle_.number(), deadline);
}

void process::send(int signal) const
{
    if (!has_signalled(handle_.number(), signal) && errno != ESRCH)
        fail("signalling process " + std::to_string(pid_));
}

void process::kill_group() const
{
    // An uncollected leader keeps the number of its group from being given to others.
    if (!status_)
        ::kill(-pid_, SIGKILL);
}

std::optional<int> process::collect()
{
    if (status_)
        return status_;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) == pid_)
        status_ = status;
    return status_;
}

finished_command run(child_command command, std::chrono::milliseconds limit)
{
    auto const file = above_standard(file_descriptor{::memfd_create("output", MFD_CLOEXEC)});
    if (!file.is_open())
        fail("making a file for the output of " + command.program.string());
    command.output = file.number();

    auto child = process::start(command);
    auto const is_in_time = child.wait_until(clock::now() + limit);
    if (!is_in_time) {
        child.kill_group();
        errno = ETIMEDOUT;
        if (!child.wait_until(clock::now() + exec_limit))
            fail("killing " + command.program.string());
    }
    auto const status = child.collect();
    return {is_in_time ? status : std::nullopt, last_of(file.number())};
}

} // namespace holdfast::db

// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/command.hpp"

#include "tests/support/exec.hpp"
#include "tests/support/run_together.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace holdfast::test {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> environment_of(command_options const& options)
{
    std::vector<std::string> variables;
    for (auto** entry = environ; *entry != nullptr; ++entry) {
        std::string_view const variable(*entry);
        if (!variable.starts_with("HOLDFAST_") && !variable.starts_with("PG"))
            variables.emplace_back(variable);
    }
    for (auto const& [name, value] : options.environment)
        variables.push_back(name + '=' + value);
    return variables;
}

struct streams {
    int in;
    int out;
    int err;
};

pid_t start(command_options const& options, streams const& with)
{
    auto arguments = options.arguments;
    arguments.insert(arguments.begin(), binary_path());
    auto environment = environment_of(options);
    auto const argument_pointers = pointers_to(arguments);
    auto const environment_pointers = pointers_to(environment);
    auto const parent = ::getpid();

    auto const pid = ::fork();
    if (pid == 0) {
        // Only calls that are safe after a fork of a program with threads.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            ::_exit(126);
        ::dup2(with.in, STDIN_FILENO);
        ::dup2(with.out, STDOUT_FILENO);
        ::dup2(with.err, STDERR_FILENO);
        ::signal(SIGPIPE, SIG_DFL);
        ::execve(argument_pointers[0], argument_pointers.data(), environment_pointers.data());
        ::_exit(127);
    }
    if (pid < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
    return pid;
}

int wait_for(pid_t pid, std::chrono::seconds deadline)
{
    int status = 0;
    auto const has_ended = [&] { return ::waitpid(pid, &status, WNOHANG) == pid; };
    if (!eventually(deadline, has_ended)) {
        ::kill(pid, SIGKILL);
        ::waitpid(pid, &status, 0);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

std::string binary_path()
{
    auto const* from_environment = std::getenv("HOLDFAST_BINARY");
    return from_environment != nullptr ? from_environment : HOLDFAST_BINARY_PATH;
}

command_result run_holdfast(command_options const& options)
{
    temporary_directory const place;
    auto const out = place.path() / "out";
    auto const err = place.path() / "err";
    streams const with{.in = open_file(place.file("in", options.input), O_RDONLY),
                       .out = open_file(out, O_CREAT | O_WRONLY | O_APPEND),
                       .err = open_file(err, O_CREAT | O_WRONLY | O_APPEND)};
    auto const pid = start(options, with);
    for (auto const descriptor : {with.in, with.out, with.err})
        ::close(descriptor);
    auto const status = wait_for(pid, options.deadline);
    return {.status = status, .out = text_of_file(out), .err = text_of_file(err)};
}

command_result run_holdfast(std::vector<std::string> arguments)
{
    return run_holdfast(command_options{.arguments = std::move(arguments)});
}

temporary_directory::temporary_directory()
{
    auto name = (fs::temp_directory_path() / "holdfast-files-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), "mkdtemp");
    // A private cluster may run as another user and has to get through here.
    fs::permissions(name, fs::perms{0711});
    path_ = name;
}

temporary_directory::~temporary_directory()
{
    std::error_code ignored;
    fs::remove_all(path_, ignored);
}

std::string temporary_directory::file(std::string_view name, std::string_view content) const
{
    auto const path = path_ / name;
    std::ofstream out(path, std::ios::binary);
    out << content;
    out.close();
    if (!out)
        throw std::runtime_error("cannot write " + path.string());
    return path.string();
}

std::string text_of_file(fs::path const& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string create_key(std::string const& database_url, std::string_view role,
                       std::string_view name)
{
    auto const made = run_holdfast(
        {.arguments = {"key", "create", "--role", std::string(role), "--name", std::string(name)},
         .environment = {{"HOLDFAST_DATABASE_URL", database_url}}});
    if (made.status != 0 || made.out.find('\n') + 1 != made.out.size())
        throw std::runtime_error("no key was made: " + made.out + made.err);
    return made.out.substr(0, made.out.size() - 1);
}

} // namespace holdfast::test

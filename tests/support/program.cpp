// SPDX-License-Identifier: Apache-2.0
#include "tests/support/program.hpp"

#include "tests/support/exec.hpp"
#include "tests/support/run_together.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace holdfast::test {

namespace {

// Debian's own come first: the packages bring the modules that are needed, while a python3 that
// somebody built for himself may lack them.
std::string find_program(program_options const& options)
{
    auto const* path = std::getenv("PATH");
    std::istringstream folders(std::string("/usr/bin:") + (path != nullptr ? path : ""));
    for (std::string folder; std::getline(folders, folder, ':');) {
        auto file = folder + '/' + options.name;
        if (::access(file.c_str(), X_OK) == 0)
            return file;
    }
    throw std::runtime_error(options.name + " is not installed; as root: apt-get install " +
                             options.packages);
}

// Settings of whoever runs the tests, such as a proxy, stay away from it.
std::vector<std::string> environment_of(program_options const& options)
{
    std::vector<std::string> variables{"LC_ALL=C.UTF-8"};
    for (auto const* name : {"PATH", "HOME"})
        if (auto const* value = std::getenv(name))
            variables.push_back(std::string(name) + '=' + value);
    for (auto const& [name, value] : options.environment)
        variables.push_back(name + '=' + value);
    return variables;
}

} // namespace

program::program(program_options const& options)
{
    auto arguments = options.arguments;
    arguments.insert(arguments.begin(), find_program(options));
    auto environment = environment_of(options);
    auto const argument_pointers = pointers_to(arguments);
    auto const environment_pointers = pointers_to(environment);
    auto const in = open_file("/dev/null", O_RDONLY);
    auto const out = open_file(place_.path() / "out", O_CREAT | O_WRONLY | O_APPEND);
    auto const err = open_file(place_.path() / "err", O_CREAT | O_WRONLY | O_APPEND);
    auto const* folder = place_.path().c_str();
    auto const parent = ::getpid();

    pid_ = ::fork();
    if (pid_ == 0) {
        // Only calls that are safe after a fork of a program with threads.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            ::_exit(126);
        ::dup2(in, STDIN_FILENO);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(err, STDERR_FILENO);
        ::signal(SIGPIPE, SIG_DFL);
        if (::chdir(folder) == 0)
            ::execve(argument_pointers[0], argument_pointers.data(), environment_pointers.data());
        ::_exit(127);
    }
    auto const fault = errno;
    for (auto const descriptor : {in, out, err})
        ::close(descriptor);
    if (pid_ < 0)
        throw std::system_error(fault, std::generic_category(), "fork");
}

program::~program()
{
    kill9();
}

bool program::is_running()
{
    int status = 0;
    if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
        note(status);
    return !status_;
}

int program::wait(std::chrono::seconds longest)
{
    if (!eventually(longest, [&] { return !is_running(); }))
        kill9();
    return *status_;
}

void program::kill9()
{
    if (!is_running())
        return;
    int status = 0;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status, 0);
    note(status);
}

std::string program::out() const
{
    return text_of_file(place_.path() / "out");
}

std::string program::err() const
{
    return text_of_file(place_.path() / "err");
}

void program::note(int wait_status)
{
    status_ = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/service_process.hpp"

#include "tests/support/exec.hpp"
#include "tests/support/run_together.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <stdexcept>
#include <string_view>
#include <system_error>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

// A first start may have to build a cluster on a busy machine, under a sanitizer.
constexpr auto start_deadline = 90s;
constexpr auto stop_deadline = 60s;
constexpr std::size_t log_tail_bytes = 4000;
constexpr std::string_view listening = "holdfast listening on http://127.0.0.1:";

std::atomic<int> unclean_exit_count{0};
std::mutex ended_logs_guard;
std::string ended_logs;

std::filesystem::path binary_path()
{
    auto const* from_environment = std::getenv("HOLDFAST_BINARY");
    return from_environment != nullptr ? from_environment : HOLDFAST_BINARY_PATH;
}

std::filesystem::path new_scratch_directory()
{
    auto name = (std::filesystem::temp_directory_path() / "holdfast-service-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), "mkdtemp");
    // The embedded cluster may run as another user and has to get through here.
    std::filesystem::permissions(name, std::filesystem::perms{0711});
    return name;
}

std::string text_of(std::filesystem::path const& file)
{
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

bool is_inherited(std::string_view variable)
{
    // What the sanitizers read has to get through; settings of whoever runs the tests do not.
    return !variable.starts_with("HOLDFAST_") && !variable.starts_with("PG") &&
           !variable.starts_with("TZ=");
}

std::vector<std::string> environment_of(service_options const& options, std::string const& key)
{
    std::vector<std::string> variables;
    for (auto** entry = environ; *entry != nullptr; ++entry)
        if (is_inherited(*entry))
            variables.emplace_back(*entry);
    variables.push_back("HOLDFAST_ADMIN_KEY=" + key);
    if (!options.database_url.empty())
        variables.push_back("HOLDFAST_DATABASE_URL=" + options.database_url);
    for (auto const& [name, value] : options.environment)
        variables.push_back(name + '=' + value);
    return variables;
}

} // namespace

service_process::service_process(service_options const& options)
    : scratch_(new_scratch_directory()),
      data_(options.data_directory.empty() ? scratch_ / "data" : options.data_directory),
      admin_key_("hf_test_bootstrap_key_0123456789abcdef0123456789abcdef")
{
    launch(options);
    try {
        wait_until_listening();
    } catch (...) {
        kill9();
        std::filesystem::remove_all(scratch_);
        throw;
    }
}

service_process::~service_process()
{
    terminate();
    {
        std::lock_guard const guard(ended_logs_guard);
        ended_logs += "--- log of service " + std::to_string(pid_) + '\n' + log_tail() + '\n';
    }
    std::error_code ignored;
    std::filesystem::remove_all(scratch_, ignored);
}

void service_process::launch(service_options const& options)
{
    std::vector<std::string> arguments{binary_path(), "serve",    "--data",
                                       data_,         "--listen", "127.0.0.1:0"};
    arguments.insert(arguments.end(), options.arguments.begin(), options.arguments.end());
    auto environment = environment_of(options, admin_key_);
    auto const argument_pointers = pointers_to(arguments);
    auto const environment_pointers = pointers_to(environment);
    auto const out = open_file(scratch_ / "stdout", O_CREAT | O_WRONLY | O_APPEND, 0644);
    auto const err = open_file(scratch_ / "stderr", O_CREAT | O_WRONLY | O_APPEND, 0644);
    auto const parent = ::getpid();

    pid_ = ::fork();
    if (pid_ == 0) {
        // Only calls that are safe after a fork of a program with threads.
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            ::_exit(126);
        ::dup2(out, STDOUT_FILENO);
        ::dup2(err, STDERR_FILENO);
        ::signal(SIGPIPE, SIG_DFL);
        ::execve(argument_pointers[0], argument_pointers.data(), environment_pointers.data());
        ::_exit(127);
    }
    ::close(out);
    ::close(err);
    if (pid_ < 0)
        throw std::system_error(errno, std::generic_category(), "fork");
}

void service_process::wait_until_listening()
{
    auto const is_settled = [&] {
        auto const out = text_of(scratch_ / "stdout");
        auto const begin = out.find(listening);
        if (begin != std::string::npos && out.find('\n', begin) != std::string::npos) {
            auto const* digits = out.data() + begin + listening.size();
            std::from_chars(digits, out.data() + out.size(), port_);
        }
        return port_ != 0 || exit_status_within(0ms).has_value();
    };
    if (!eventually(start_deadline, is_settled))
        throw std::runtime_error("the service does not say that it listens:\n" + log_tail());
    if (port_ == 0)
        throw std::runtime_error(binary_path().string() + " ended at its start with status " +
                                 std::to_string(exit_status_.value_or(-1)) + ":\n" + log_tail());
}

std::string service_process::url() const
{
    return "http://127.0.0.1:" + std::to_string(port_);
}

std::optional<int> service_process::exit_status_within(std::chrono::milliseconds deadline)
{
    eventually(deadline, [&] {
        int status = 0;
        if (!exit_status_ && pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_)
            exit_status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        return exit_status_.has_value();
    });
    return exit_status_;
}

int service_process::terminate()
{
    // Was it gone before anybody asked? Then it crashed, unless kill9 took note of it.
    bool const was_expected = exit_status_.has_value();
    if (!exit_status_within(0ms)) {
        ::kill(pid_, SIGTERM);
        if (!exit_status_within(stop_deadline)) {
            ::kill(pid_, SIGKILL);
            exit_status_within(stop_deadline);
        }
    }
    if (!was_expected && exit_status_ != 0)
        ++unclean_exit_count;
    return exit_status_.value_or(-1);
}

void service_process::kill9()
{
    if (!exit_status_within(0ms))
        ::kill(pid_, SIGKILL);
    exit_status_within(stop_deadline);
}

std::string service_process::log_tail() const
{
    auto const log = text_of(scratch_ / "stderr");
    return log.substr(log.size() - std::min(log.size(), log_tail_bytes));
}

int service_process::unclean_exits() noexcept
{
    return unclean_exit_count;
}

std::string service_process::take_ended_logs()
{
    std::lock_guard const guard(ended_logs_guard);
    return std::exchange(ended_logs, {});
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/caretaker.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <system_error>

namespace holdfast::test {

namespace {

constexpr int looks_max = 1000;
constexpr useconds_t between_looks_us = 10'000;

// Runs in the child: nothing but system calls.
[[noreturn]] void wait_and_clear(int end, pid_t postmaster, char* const* removal)
{
    char byte = 0;
    if (::read(end, &byte, 1) != 0)
        ::_exit(0);
    // The end of the pipe without a word: the keeper is gone.
    ::kill(postmaster, SIGQUIT);
    for (int looks = 0; looks < looks_max && ::kill(postmaster, 0) == 0; ++looks)
        ::usleep(between_looks_us);
    if (removal[2] != nullptr)
        ::execvp(removal[0], removal);
    ::_exit(127);
}

} // namespace

caretaker::caretaker(pid_t postmaster, std::vector<std::filesystem::path> const& leftovers)
{
    std::vector<std::string> words{"rm", "-rf"};
    for (auto const& each : leftovers)
        words.push_back(each.string());
    std::vector<char*> removal;
    for (auto& word : words)
        removal.push_back(word.data());
    removal.push_back(nullptr);

    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    auto const pid = ::fork();
    if (pid == 0) {
        // A session of its own, so that what kills our process group spares it.
        ::setsid();
        ::close(ends[1]);
        wait_and_clear(ends[0], postmaster, removal.data());
    }
    ::close(ends[0]);
    if (pid < 0) {
        auto const error = errno;
        ::close(ends[1]);
        throw std::system_error(error, std::generic_category(), "fork");
    }
    end_ = ends[1];
}

caretaker::~caretaker()
{
    [[maybe_unused]] auto const sent = ::write(end_, "", 1);
    ::close(end_);
}

} // namespace holdfast::test

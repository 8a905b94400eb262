// SPDX-License-Identifier: Apache-2.0
#include "bench/interruption.hpp"

#include <csignal>

namespace holdfast::bench {

namespace {

volatile std::sig_atomic_t has_signal = 0;

void note_signal(int)
{
    has_signal = 1;
}

} // namespace

void heed_signals()
{
    struct sigaction action {};
    action.sa_handler = note_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (int const number : {SIGINT, SIGTERM, SIGHUP})
        ::sigaction(number, &action, nullptr);
}

bool is_interrupted() noexcept
{
    return has_signal != 0;
}

void throw_if_interrupted()
{
    if (is_interrupted())
        throw interrupted();
}

} // namespace holdfast::bench

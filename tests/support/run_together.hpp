// SPDX-License-Identifier: Apache-2.0
// What tests do with time and threads: many at once from one starting shot, and waiting for a
// state to come true with a deadline instead of sleeping and hoping.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <latch>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

namespace holdfast::test {

// More threads than this would test the machine rather than the service.
inline constexpr std::size_t together_max = 256;

// Calls f(0) … f(n - 1) on n threads that start as nearly at once as the machine can, and returns
// the answers by index. The first exception of any of them is thrown here, after all have ended.
template <typename F>
auto run_together(std::size_t n, F const& f)
{
    using answer = std::invoke_result_t<F const&, std::size_t>;
    static_assert(!std::is_void_v<answer> && !std::is_same_v<answer, bool>);
    if (n == 0 || n > together_max)
        throw std::invalid_argument("run_together takes 1 to 256 threads");

    std::vector<answer> answers(n);
    std::vector<std::exception_ptr> faults(n);
    std::latch starting_shot(static_cast<std::ptrdiff_t>(n));
    std::vector<std::jthread> threads;
    threads.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        threads.emplace_back([&, i] {
            starting_shot.arrive_and_wait();
            try {
                answers[i] = f(i);
            } catch (...) {
                faults[i] = std::current_exception();
            }
        });
    }
    threads.clear();
    for (auto const& fault : faults)
        if (fault)
            std::rethrow_exception(fault);
    return answers;
}

// Asks again and again until the answer is yes. False when the deadline passed first.
inline bool eventually(std::chrono::milliseconds deadline, std::function<bool()> const& is_true)
{
    constexpr std::chrono::milliseconds between_looks{10};
    auto const until = std::chrono::steady_clock::now() + deadline;
    while (!is_true()) {
        if (std::chrono::steady_clock::now() >= until)
            return false;
        std::this_thread::sleep_for(between_looks);
    }
    return true;
}

} // namespace holdfast::test

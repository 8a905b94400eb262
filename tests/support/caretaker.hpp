// SPDX-License-Identifier: Apache-2.0
// For programs that keep a private PostgreSQL only while they run. A database outlives a keeper
// that is killed, which is right for a shop and wrong for a test or a benchmark.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <vector>

namespace holdfast::test {

// A process that outlives this one for a moment: should we be killed, it stops the server and
// removes its directories.
class caretaker {
public:
    caretaker(pid_t postmaster, std::vector<std::filesystem::path> const& leftovers);
    caretaker(caretaker const&) = delete;
    caretaker& operator=(caretaker const&) = delete;

    // Says that there will be nothing to take care of.
    ~caretaker();

private:
    int end_ = -1;
};

} // namespace holdfast::test

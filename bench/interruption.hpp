// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and its relatives as something the bench looks for between and within its waits, so that
// what it started is stopped and its files are removed on the way out.
#pragma once

#include <stdexcept>

namespace holdfast::bench {

class interrupted : public std::runtime_error {
public:
    interrupted() : std::runtime_error("interrupted") {}
};

// Takes SIGINT, SIGTERM and SIGHUP from now on. A second one ends the process at once.
void heed_signals();

[[nodiscard]] bool is_interrupted() noexcept;

void throw_if_interrupted();

} // namespace holdfast::bench

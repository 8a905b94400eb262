// SPDX-License-Identifier: Apache-2.0
// What ends a command before it could do its work: wrong options, no way to the service, a key it
// refuses.

#pragma once

#include <stdexcept>

namespace holdfast::cli {

// The exit codes of every command. A script tells by them whether the answer was bad or absent.
enum exit_code : int {
    exit_ok = 0,
    exit_broken = 1,   // The service answered, and the answer is bad news.
    exit_unusable = 2, // There is no answer to judge: usage, network, key.
    exit_interrupted = 130,
};

// what() is one sentence for the person at the terminal. Commands catch it, print it and exit
// with 2.
class command_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// The service could not be reached, or fell silent. Whether it did the work is not known.
class no_answer : public command_error {
public:
    using command_error::command_error;
};

} // namespace holdfast::cli

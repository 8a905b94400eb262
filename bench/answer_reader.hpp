// SPDX-License-Identifier: Apache-2.0
// Finds the end and the status of one answer after the other on a connection. It reads what our own
// service writes (a status line, a Content-Length) and refuses everything else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::bench {

class answer_reader {
public:
    // Takes the next bytes received. Returns the status when they complete the answer; throws
    // std::runtime_error when they are not one answer of ours.
    std::optional<int> take(std::string_view bytes);

private:
    // Returns how many of the bytes belong to the head, or nothing when it goes on after them.
    static std::optional<std::size_t> end_of_head(std::string_view bytes);
    void read_head(std::string_view head);

    std::string head_; // what came of a head that arrives in pieces
    std::size_t missing_ = 0;
    int status_ = 0;
    bool is_in_body_ = false;
};

} // namespace holdfast::bench

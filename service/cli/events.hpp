// SPDX-License-Identifier: Apache-2.0
// `holdfast events tail`: what happens, as it happens, over HTTP.

#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace holdfast::cli {

struct tail_options {
    std::string url;
    std::string key;
    std::string after = "now"; // an event's id; empty: from the first that is kept
    std::string sku;           // empty: of all
    std::string types;         // parted by commas; empty: all
    std::int64_t count = 0;    // ends after so many; 0: never
    bool json = false;         // an event a line, as the API has it
};

// Prints events until it is interrupted, and goes on where it was when the service is away for a
// while. Returns 1 when the service refuses, 2 when it cannot be asked.
int tail_events(tail_options const& options, std::ostream& out, std::ostream& errors);

} // namespace holdfast::cli

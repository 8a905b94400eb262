// SPDX-License-Identifier: Apache-2.0
// `holdfast import` and `holdfast export`: the catalogue and its levels, as CSV, over HTTP.

#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

enum class import_mode { set, add, count };

struct import_options {
    std::string url;
    std::string key;
    std::string file; // "-" reads standard input.
    import_mode mode = import_mode::set;
    bool dry_run = false;
    bool again = false; // Add a delivery once more that was added before.
    bool json = false;
    std::optional<std::string> key_for_retry; // The idempotency key of an attempt without answer.
};

struct export_options {
    std::string url;
    std::string key;
    std::optional<std::string> output; // Without it the CSV goes to `out`.
};

// The idempotency key an import is sent with. `add` follows from mode and content, so that a
// delivery sent twice is added once; the others say what a level is to be, and are the same thing
// twice anyway.
[[nodiscard]] std::string import_key(import_options const& options, std::string_view content);

// Prints the differences and totals to `out`, and faults of the file to `errors` as a compiler
// does. Returns 1 when the service refused the file, 2 when it could not be asked.
int import_file(import_options const& options, std::ostream& out, std::ostream& errors);

// Writes one row per SKU and location. A file named by `output` appears whole or not at all.
int export_catalogue(export_options const& options, std::ostream& out, std::ostream& errors);

} // namespace holdfast::cli

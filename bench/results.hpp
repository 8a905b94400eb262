// SPDX-License-Identifier: Apache-2.0
// What was measured: named numbers in the order in which they were found, and where they stand in
// tables. A number's key is prefix.name, or prefix.name.suffix.
#pragma once

#include "bench/machine.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::bench {

struct figure {
    std::string name; // "p99_ms"
    double value = 0;
};

// Where the figures of one load stand.
struct load_name {
    std::string section;       // "Hot SKU"
    std::string label;         // "batched, 16 connections"
    std::string prefix;        // "hot.batched"
    std::string suffix = {};   // "16"
    std::size_t clients = 0;   // of the loads that are compared by it
    int redis_connections = 0; // likewise
};

struct load_figures {
    load_name name;
    std::vector<figure> figures;

    [[nodiscard]] std::string key_of(figure const&) const; // "hot.batched.p99_ms.16"
    [[nodiscard]] std::optional<double> at(std::string_view wanted) const;
};

// One figure by another.
struct ratio {
    std::string key;
    std::string sentence;
    double value = 0;
};

// A ratio that is still to be made, of figures that may not have been measured.
struct quotient {
    std::string key; // without the "ratio." before it
    std::string sentence;
    std::optional<double> upper;
    std::optional<double> lower;
};

struct results {
    bench::machine machine;
    std::string date; // of the run, such as 2026-05-01
    std::string subject;
    bool is_quick = false;
    std::vector<load_figures> loads;
    std::vector<ratio> ratios;

    [[nodiscard]] std::optional<double> at(std::string_view key) const;

    // Nothing where a figure is missing.
    void add_ratio(quotient const&);
};

} // namespace holdfast::bench

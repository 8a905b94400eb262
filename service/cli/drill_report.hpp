// SPDX-License-Identifier: Apache-2.0
// What a drill has seen, and how it is told to people and to scripts.
#pragma once

#include "service/cli/drill.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::cli {

// How much of an answer that was not expected is shown.
inline constexpr std::size_t failure_size_max = 500;

// The smallest value that at least `per_mille` thousandths of the sorted values do not pass
// (nearest rank); 0 when there are none.
[[nodiscard]] std::uint32_t percentile(std::span<std::uint32_t const> sorted, unsigned per_mille);

struct audit_answer {
    nlohmann::json document;
    std::string trouble; // Why there is none.

    [[nodiscard]] bool is_ok() const { return document.is_object() && document.value("ok", false); }
};

struct give_back {
    std::uint64_t released = 0;
    std::uint64_t failed = 0;
    drill_level level;
};

struct drill_report {
    drill_counts counts;
    drill_findings findings;
    drill_item before;
    drill_level after;
    std::vector<std::uint32_t> latencies_us; // Sorted, of all requests that were answered.
    std::vector<std::string> failures;
    std::vector<std::string> notes;
    std::vector<std::string> held; // Reservation ids, when they are to be released.
    std::optional<give_back> given_back;
    audit_answer audit;
    double took_seconds = 0;
    bool was_interrupted = false;
    bool was_given_up = false;
    std::string stopped_by; // The answer that made going on pointless.

    [[nodiscard]] std::int64_t leaked() const
    {
        return given_back ? before.level.available() - given_back->level.available() : 0;
    }

    // One sentence for each thing that is not as promised; none is what a drill is run for.
    [[nodiscard]] std::vector<std::string> faults() const;

    [[nodiscard]] double per_second() const
    {
        return took_seconds > 0 ? static_cast<double>(counts.requests) / took_seconds : 0;
    }

    [[nodiscard]] double latency_ms(unsigned per_mille) const
    {
        return percentile(latencies_us, per_mille) / 1000.0;
    }
};

[[nodiscard]] nlohmann::json to_json(drill_options const&, drill_report const&);

void print_text(drill_options const&, drill_report const&, std::ostream&);

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0
// `holdfast drill`: the rush rehearsal. Fires reservations at one SKU over HTTP, then proves from
// the level before and after that nothing was oversold, lost or withheld. Only its own level is
// touched.

#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

struct drill_options {
    std::string url;
    std::string key;
    std::string sku;
    std::string location = "main";
    std::uint64_t requests = 0; // 1 to 10 000 000
    std::uint32_t clients = 0;  // 1 to 10 000
    std::int64_t quantity = 1;  // Units each request wants, 1 to 1 000 000 000.
    std::optional<double> rate; // Requests per second, 0.01 to 1 000 000; opens the loop.
    // How long the holds last. They must outlive the drill: units that came back and were taken
    // again look like an oversale.
    std::chrono::seconds ttl{3600};
    bool release = false; // Give everything back afterwards and check that it came back.
    bool json = false;
};

// Runs the whole rehearsal. The verdict goes to `out`; the progress line and sentences about what
// went wrong to `progress`. Returns 0 when everything held, 1 when an invariant broke, the audit
// found something or a request failed, 2 when there was no service to judge or nothing to be had,
// 130 after a clean interruption.
int drill(drill_options const& options, std::ostream& out, std::ostream& progress);

// What the requests came to.
struct drill_counts {
    std::uint64_t requests = 0;
    std::uint64_t succeeded = 0;
    std::uint64_t queued = 0;         // Of these, answered before they were committed.
    std::uint64_t sold_out = 0;       // Refused with insufficient-stock.
    std::uint64_t customer_limit = 0; // Refused with customer-limit.
    std::uint64_t failed = 0;
    std::uint64_t retried = 0;

    [[nodiscard]] std::uint64_t refused() const { return sold_out + customer_limit; }
};

// One reading of the level.
struct drill_level {
    std::int64_t on_hand = 0;
    std::int64_t reserved = 0;
    std::int64_t version = 0;

    [[nodiscard]] std::int64_t available() const;
};

struct drill_findings {
    std::int64_t oversold = 0; // Units acknowledged beyond those that were there.
    // Units the level says were taken less those acknowledged. Positive: taken without an answer
    // that reached us. Negative: acknowledged and gone.
    std::int64_t lost = 0;
    std::uint64_t false_refusals =
        0; // Requests sent away as sold out that the units left could serve.
    // Movements of the level that no answer accounts for: other traffic, or what `lost` speaks of.
    std::int64_t other_movements = 0;

    [[nodiscard]] bool is_clean() const;
};

[[nodiscard]] drill_findings judge(drill_counts const& counts, std::int64_t quantity,
                                   drill_level const& before, drill_level const& after);

// Throws command_error with a sentence for the first option out of its bounds.
void require_valid(drill_options const& options);

// What a drill finds before it fires.
struct drill_item {
    drill_level level;
    std::optional<std::int64_t> max_per_customer;
};

// Throws command_error when not even one request could succeed: refusing everybody is no proof.
void require_winnable(drill_options const& options, drill_item const& found);

} // namespace holdfast::cli

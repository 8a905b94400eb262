// SPDX-License-Identifier: Apache-2.0
// One trial: a fresh database, the real service beside it as a child process, a load, and then the
// proof that what was answered is what was done.
#pragma once

#include "bench/exposition.hpp"
#include "bench/generator.hpp"
#include "bench/postgres_figures.hpp"
#include "bench/processor_time.hpp"
#include "bench/redis_front.hpp"
#include "bench/stage.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace holdfast::bench {

// A promise of the service did not hold. No figure of such a run means anything.
class broken_promise : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

enum class request_kind {
    reserve, // one unit of one SKU, under a key of its own
    refuse,  // the same, but invalid: read, authenticated, parsed, and refused without a database
    nothing, // GET /livez, which does no work at all
};

struct trial_stream {
    request_kind kind = request_kind::reserve;
    item_range items;
    std::size_t connections = 64;
    std::optional<double> rate = {};
};

// A transaction that stays open beside the load, as a report or a backup does. While it lasts,
// PostgreSQL may not remove a row's old versions.
enum class long_reader { none, open };

struct trial_plan {
    std::string strategy;
    std::vector<trial_stream> streams;
    load_timing timing;
    // Any other answer is a broken promise, except 503: that may be said at any time.
    std::vector<int> accepted_as{201};
    std::optional<int> refused_as = {};
    long_reader reader = long_reader::none;
    std::optional<redis_front> front = {}; // before the first item of the first stream
};

struct trial_outcome {
    std::vector<tally> tallies;    // one for each stream
    std::int64_t reservations = 0; // told to clients, committed by now
    double seconds = 0;            // until the last answer, warm-up included
    processor_shares shares;
    histogram batches;
    database_figures database;
    std::vector<std::int64_t> resident; // bytes of the service, about once a second

    // Of a trial with Redis in front; the latter in asynchronous mode.
    std::optional<verdict_counts> verdicts;
    std::optional<double> drain_seconds; // from the last answer until the queue was empty
};

// The item everybody wants.
inline constexpr item_range hot_item{1, 1};

// Throws broken_promise, std::runtime_error when it could not be played to its end, interrupted.
[[nodiscard]] trial_outcome run_trial(stage&, trial_plan const&);

// That of the scarce item every unit was sold before somebody was refused. Throws broken_promise.
void require_sold_out(trial_outcome const&);

// Audits the database and compares it with what clients were told. Throws broken_promise.
void prove(trial_database const&, std::int64_t reservations);

} // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
// Keeps Redis in line with PostgreSQL for items that it stands before: loads them, compares both
// many times a second under live traffic, and lets Redis answer only for a moment after each
// comparison. One process does it at a time.
#pragma once

#include "db/drift.hpp"
#include "redis/client.hpp"
#include "service/fast_path/comparison.hpp"
#include "service/fast_path/roster.hpp"
#include "service/workers/deferred_faults.hpp"
#include "service/workers/periodic.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::workers {

struct reconciler_options {
    redis::target where;
    std::string prefix = "holdfast";
    redis::timeouts limits = {};
    std::chrono::days keep_keys{90};          // how old a request may be that is repeated
    std::chrono::seconds calm_after{60};      // live for so long, the next pause is a short one
    std::chrono::milliseconds news_max{4000}; // from a commit until Redis is told of it, at most
    units repair_max = 1000;              // of one item at once; more is left until somebody asks
    std::size_t pending_max = 5000;       // requests under way told of one bucket in a round
    std::chrono::seconds crowded_max{30}; // more may be under way for so long
    // Where more are under way than these, telling and comparing all of them takes the time of the
    // sale itself, so that is done in some rounds only; leases are given in all of them.
    std::size_t pending_at_once = 500;
    int rounds_between = 10;
};

class reconciler {
public:
    // The roster must outlive this.
    reconciler(reconciler_options, fast_path::roster&, metrics&);

    // One round over all items. Throws redis::error and what the database throws, once every item
    // has had its turn.
    progress step(db::link&);

private:
    using clock = std::chrono::steady_clock;

    struct watched {
        fast_path::item item;
        bool is_loaded = false; // what PostgreSQL had before the epoch is noted as well
        bool is_new = false;    // and that was nothing
        std::optional<uuid> noted_up_to = {};                // of the reservations that are noted
        std::optional<std::optional<units>> limit = {};      // per customer, when it was loaded
        std::optional<clock::time_point> crowded_since = {}; // too much under way to be compared
        timestamp opened_at;
        fast_path::facts before; // as last read
        clock::time_point since = clock::now();
        bool is_calm = false;
        fast_path::agreement agreed = {};
        std::map<std::string, std::int64_t> told = {}; // versions the ledger does not explain
    };

    // What a round has seen of one item.
    struct seen {
        watched* of = nullptr;
        std::vector<fast_path::sight> buckets = {};
        bool is_loaded = false; // before these numbers were read
        std::vector<fast_path::difference> wrong = {};
        fast_path::agreement agreed = {}; // before it
        bool is_stopped = false;          // too much is wrong to be repaired without being asked
        std::size_t first_request = 0;    // of those that correct it

        [[nodiscard]] bool is_whole() const;
    };

    // An item that Redis cannot be relied on for.
    struct closing {
        fast_path::item item;
        std::string why;
    };

    [[nodiscard]] bool is_ours(db::link&);
    [[nodiscard]] bool is_worked_off(db::fast_path::row const&); // its queues are empty
    void retire_queues(db::link&, db::fast_path::row const&);
    void open(db::link&, db::fast_path::row const&);
    void watch(db::link&, fast_path::item const&);
    void settle_all(db::link&, std::vector<db::fast_path::row> const&, std::vector<closing> const&,
                    deferred_faults&);
    void settle_row(db::link&, db::fast_path::row const&);
    void note_some(db::link&, watched&);
    [[nodiscard]] bool is_crowded(watched&, std::vector<fast_path::sight> const&) const;
    [[nodiscard]] std::vector<seen> look(std::vector<closing>&);
    void compare(db::link&, std::vector<seen>&, deferred_faults&);
    void take_in(std::vector<seen>&, std::map<std::string, fast_path::facts> const& now,
                 std::vector<redis::reply> const&, deferred_faults&);
    void judge(seen&, fast_path::facts const& now, std::set<uuid> const& made,
               std::vector<db::drift::finding>&);
    void judge_ledger(seen&, fast_path::facts const& now, std::vector<db::drift::finding>&);
    void record(db::link&, std::vector<seen> const&, std::vector<db::drift::finding> const&);
    void correct(seen&, fast_path::facts const& now, std::set<uuid> const& made,
                 std::vector<std::string> const& relieved, std::vector<redis::request>&);
    void calm(db::link&, watched&);
    void close(db::link&, fast_path::item const&, std::string const& why);
    [[nodiscard]] fast_path::bucket bucket_of(fast_path::item const&, int number) const;

    reconciler_options options_;
    redis::client redis_;
    fast_path::roster& roster_;
    metrics& metrics_;
    std::uint64_t our_session_ = 0; // that has the lock
    std::map<std::string, watched> watched_;
    int rounds_ = 0;                 // since all that was under way was told, whatever its number
    clock::time_point open_again_{}; // after Redis could not be loaded
};

} // namespace holdfast::workers

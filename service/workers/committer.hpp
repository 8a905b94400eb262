// SPDX-License-Identifier: Apache-2.0
// Carries out what Redis has accepted by itself: reads the queues as a member of a consumer group,
// commits in batches, and takes out of the queue what is done. What another member did not finish
// is claimed; what cannot be carried out is parked in PostgreSQL.
#pragma once

#include "redis/client.hpp"
#include "service/fast_path/bucket.hpp"
#include "service/fast_path/calls.hpp"
#include "service/fast_path/queued_request.hpp"
#include "service/fast_path/roster.hpp"
#include "service/workers/deferred_faults.hpp"
#include "service/workers/periodic.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::workers {

struct committer_options {
    redis::target where;
    std::string prefix = "holdfast";
    redis::timeouts limits = {};
    std::chrono::milliseconds claim_after{5000}; // longer than a batch may take
    int attempts_max = 5;                        // that failed; then it is parked
};

class committer {
public:
    // The roster and the use cases must outlive this.
    committer(committer_options, fast_path::roster const&, reservations const&, metrics&);

    // One batch of each queue. Throws redis::error and what the database throws, once it has done
    // what it could; nothing has left a queue but what has come to its end.
    progress step(db::link&);

private:
    using clock = std::chrono::steady_clock;

    // A queue.
    struct place {
        sku of;
        fast_path::bucket keys;
    };

    // What became of a request: its fate for Redis, and of one that was not made why, for whoever
    // asks.
    struct end {
        fast_path::fate fate = fast_path::fate::kept;
        std::string code = {};
        std::string detail = {};
    };

    // Something in a queue.
    struct entry {
        place from;
        std::string position; // in the stream
        std::string id = {};
        std::string text = {};
        std::optional<fast_path::queued_request> request = {};
        std::optional<committer::end> end = {}; // nothing while it is left for later
    };

    [[nodiscard]] std::vector<place> const& places();
    [[nodiscard]] std::vector<entry> read(std::vector<place> const&, deferred_faults&);
    [[nodiscard]] std::vector<entry> claim(std::vector<place> const&);
    static void add(std::vector<entry>& to, place const& from, redis::reply const& list);
    void carry_out_all(db::link&, std::span<entry>, deferred_faults&);
    void carry_out(db::link&, std::span<entry>);
    [[nodiscard]] std::optional<end> carry_out_alone(db::link&, entry&);
    [[nodiscard]] static std::optional<end> judge(fast_path::queued_request const&,
                                                  result<outcome<reservation>> const&);
    [[nodiscard]] static end parked(std::string_view why);
    [[nodiscard]] std::optional<end> after_failure(entry const&, std::string_view why);
    void write_down(db::link&, std::span<entry const>);
    void finish(std::span<entry const>);

    committer_options options_;
    std::string name_; // in the group
    redis::client redis_;
    fast_path::roster const& roster_;
    reservations const& reservations_;
    metrics& metrics_;
    std::shared_ptr<std::vector<fast_path::queues_of> const> queues_; // that the places are of
    std::vector<place> places_;
    std::map<std::string, int> failures_; // by id, of what is not finished
    clock::time_point claim_again_{};
};

} // namespace holdfast::workers

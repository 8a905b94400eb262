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
#include "service/workers/periodic.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
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
    std::int64_t attempts_max = 5;               // then it is parked
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

    // Something in a queue.
    struct entry {
        place from;
        std::string position; // in the stream
        std::string id = {};
        std::string text = {};
        std::int64_t attempts = 1; // this one included
        std::optional<fast_path::queued_request> request = {};
    };

    // What became of it; nothing when it is left for later.
    using end = std::optional<fast_path::fate>;

    using begun = std::map<std::string, std::int64_t>; // how often, by position

    // What is in the way of some queues must not be in the way of others: it is thrown once they
    // are worked off.
    using faults = std::vector<std::exception_ptr>;

    [[nodiscard]] std::vector<place> places() const;
    [[nodiscard]] std::vector<entry> read(std::vector<place> const&, faults&);
    [[nodiscard]] std::vector<entry> claim(std::vector<place> const&);
    static void add(std::vector<entry>& to, place const& from, redis::reply const& list,
                    begun const& attempts);
    void work_off(db::link&, std::span<entry>, faults&);
    [[nodiscard]] std::vector<end> carry_out(db::link&, std::span<entry>);
    [[nodiscard]] end carry_out_alone(db::link&, entry&);
    [[nodiscard]] end judge(db::link&, entry const&, result<outcome<reservation>> const&);
    [[nodiscard]] end park(db::link&, entry const&, std::string_view why);
    fast_path::fate give_up(db::link&, entry const&, std::string_view code,
                            std::string_view detail);
    void finish(std::span<entry const>, std::vector<end> const&);

    committer_options options_;
    std::string name_; // in the group
    redis::client redis_;
    fast_path::roster const& roster_;
    reservations const& reservations_;
    metrics& metrics_;
    clock::time_point claim_again_{};
};

} // namespace holdfast::workers

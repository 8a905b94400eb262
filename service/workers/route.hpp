// SPDX-License-Identifier: Apache-2.0
// The deliveries of one webhook that wait for their turn, in memory: for each SKU a queue of
// which only the first may be under way.
#pragma once

#include "db/webhooks.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::workers {

class route {
public:
    using clock = std::chrono::steady_clock;

    struct waiting {
        db::webhooks::pending_delivery what;
        clock::time_point due;
    };

    // Puts deliveries in, each behind those of its SKU that were written before it.
    void add(std::vector<db::webhooks::pending_delivery>, clock::time_point now);

    // The next delivery that may be sent, which counts as under way from now on; nothing when there
    // is none at the moment.
    [[nodiscard]] waiting const* next(clock::time_point now);

    // What was under way is over, or is to be sent again later. Unknown ones are ignored.
    void done(std::int64_t id);
    void again(std::int64_t id, std::int64_t attempts, clock::time_point due);

    // Ids of those whose time has not come, and that it has come after all.
    [[nodiscard]] std::vector<std::int64_t> waiting_for_time(clock::time_point now) const;
    void hurry(std::int64_t id, clock::time_point now);

    // How many there are of one SKU, and in all.
    [[nodiscard]] std::size_t size_of(std::string const& sku) const;
    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
    [[nodiscard]] std::size_t under_way() const noexcept { return under_way_.size(); }
    [[nodiscard]] std::vector<std::int64_t> ids() const;

private:
    using queue = std::deque<waiting>;

    void schedule(std::string const& key);
    [[nodiscard]] queue* queue_of(std::int64_t id);

    std::map<std::string, queue> queues_;      // by SKU
    std::map<std::int64_t, std::string> keys_; // of all deliveries, by id
    std::set<std::pair<clock::time_point, std::string>>
        schedule_; // of queues whose first one waits
    std::set<std::int64_t> under_way_;
};

} // namespace holdfast::workers

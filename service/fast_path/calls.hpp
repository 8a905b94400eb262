// SPDX-License-Identifier: Apache-2.0
// The scripts of the fast path, with their values typed. What they mean stands in
// redis/scripts/*.lua.
#pragma once

#include "redis/client.hpp"
#include "service/fast_path/bucket.hpp"
#include "stock/clock.hpp"
#include "stock/quantity.hpp"
#include "stock/reservation.hpp"
#include "stock/uuid.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::fast_path {

// Of a line in one bucket.
struct stand {
    units available = 0;
    units held = 0; // by requests under way, which may still give it back
};

// In the order of take.lua.
enum class verdict { taken = 1, ask, short_of_units, customer_limit, closed, queued, repeated };

enum class wish { take, queue, ask, note };

// A request for units of one SKU.
struct application {
    std::string id; // of the reservation to be
    std::string note;
    std::optional<std::string> customer;
    wish what = wish::take;
    std::span<line_request const> lines; // of that SKU; outlives the call
    std::string text = {};               // to be queued
};

struct decision {
    fast_path::verdict verdict = verdict::ask;
    bool may_only_replay =
        false; // a refusal, unless an earlier request with its key made something
    std::vector<stand> lines = {};
    std::string text = {}; // of one that is repeated: what is queued already
};

[[nodiscard]] redis::request take(bucket const&, std::int64_t epoch,
                                  std::span<application const* const>);

// In their order; empty when the SKU is not loaded under the epoch. Throws redis::error.
[[nodiscard]] std::vector<decision> read_decisions(redis::reply const&,
                                                   std::span<application const* const>);

enum class fate { kept, back, limit, sold, freed };

// What became of a request.
struct settlement {
    std::string id;
    fast_path::fate fate = fate::back;
    std::string customer = {};                             // of freed
    std::vector<std::pair<std::string, units>> lines = {}; // by location, where the fate has some
};

[[nodiscard]] redis::request settle(bucket const&, std::int64_t epoch, std::span<settlement const>);

// Time by Redis' clock since 1970.
using redis_time = std::chrono::milliseconds;

struct pending_request {
    uuid id;
    redis_time since{};
    bool is_taken = false;              // else it was only asked about
    bool is_queued = false;             // nobody but the queue has it
    std::map<std::string, units> lines; // by location
};

struct sight {
    std::int64_t epoch = 0;
    redis_time now{};
    redis_time until{};         // Redis may answer till then
    bool is_same_server = true; // it has not been restarted or replaced since the SKU was loaded
    std::map<std::string, stand> levels; // by location
    std::int64_t pending_count = 0;
    std::vector<pending_request> pending; // all of them, or none when there are too many
    std::int64_t queue_length = 0;

    [[nodiscard]] bool is_whole() const noexcept
    {
        return static_cast<std::size_t>(pending_count) == pending.size();
    }
};

[[nodiscard]] redis::request look(bucket const&, std::size_t pending_max);

// Nothing when the SKU is not loaded, or what is there was not written by us.
[[nodiscard]] std::optional<sight> read_sight(redis::reply const&);

[[nodiscard]] redis::request load(bucket const&, std::int64_t epoch, std::string const& sku,
                                  bool is_async);
[[nodiscard]] redis::request note(bucket const&, std::int64_t epoch,
                                  std::span<std::string const> notes);

// The text that was queued under a reservation's id, or nil.
[[nodiscard]] redis::request find(bucket const&, uuid const&);

// Removes an empty queue: 1, or 0 when it is not empty.
[[nodiscard]] redis::request drop_queue(bucket const&);

[[nodiscard]] redis::request queue_length(bucket const&);

struct grant {
    redis_time until{};
    bool on_sale = true;
    redis_time opens{};
    redis_time closes{};
    units limit = 0;           // 0: none
    bool is_all_known = false; // whatever customers have of it they had under this epoch
    std::vector<std::pair<std::string, units>> changes; // by location
    std::vector<std::string> relieved;                  // customers
};

[[nodiscard]] redis::request give(bucket const&, std::int64_t epoch, grant const&);

} // namespace holdfast::fast_path

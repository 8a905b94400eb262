// SPDX-License-Identifier: Apache-2.0
// What the fast path looks like, for people: each item as it stands, and what differs between Redis
// and PostgreSQL.
#pragma once

#include "db/drift.hpp"
#include "service/fast_path/comparison.hpp"
#include "service/fast_path/gate.hpp"
#include "service/fast_path/roster.hpp"
#include "service/worker_pool.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::fast_path {

struct standing {
    holdfast::sku sku;
    int buckets = 1;
    std::int64_t epoch = 0;  // 0: PostgreSQL serves it alone
    bool is_live = false;    // Redis answers
    bool is_stopped = false; // PostgreSQL serves it alone until somebody asks
    units available = 0;     // of these, those that are known to it
    units held = 0;          // by requests under way
    bool is_async = false;
    std::int64_t queue_length = 0; // accepted, not committed yet
    std::string appendfsync = {};  // what Redis is set to: always, everysec, no; off; unknown
};

struct finding {
    holdfast::sku sku;
    std::string location; // empty when it is about all of them
    std::string kind;     // available, pending, ledger, not-loaded, stopped
    units expected = 0;
    units found = 0;
    std::string cause;
    std::int64_t epoch = 0;
    stock_level level = {}; // of PostgreSQL, where it is about one
};

// What was found before, and when.
using past_finding = db::drift::entry;

struct drift_filter {
    std::optional<std::string> sku;
    std::optional<std::int64_t> before; // the id of the last one shown
    std::size_t limit = 50;
};

struct inspection {
    std::vector<finding> findings;
    std::size_t repaired = 0;
};

class inspector {
public:
    // What is given here must outlive the inspector.
    inspector(worker_pool&, roster&, std::optional<gate>&);

    [[nodiscard]] bool has_redis() const noexcept { return gate_.has_value(); }

    // All items, or one. Throws overloaded.
    boost::asio::awaitable<std::vector<standing>> show(std::optional<sku> const&);

    // Redis beside PostgreSQL, under traffic: what is under way is no difference, and what has gone
    // when it is looked at once more was none either. Repairs the rest if wanted, and writes down
    // what that was.
    boost::asio::awaitable<inspection> compare(bool repair);

    // What was found by the reconciler, or repaired by hand, newest first.
    boost::asio::awaitable<std::vector<past_finding>> history(drift_filter const&);

private:
    struct state; // of PostgreSQL
    using store_row = db::fast_path::row;

    struct round {
        std::vector<finding> findings;
        std::vector<std::optional<telling>> repairs; // of each finding, where there is one
    };

    boost::asio::awaitable<round> look();
    boost::asio::awaitable<std::size_t> put_right(round const&);
    static void add(round&, store_row const&, state const& before, state const& after,
                    std::optional<std::vector<sight>> const&);
    [[nodiscard]] boost::asio::awaitable<state> read(std::vector<uuid> const& ids);

    worker_pool& workers_;
    roster& roster_;
    std::optional<gate>& gate_;
};

} // namespace holdfast::fast_path

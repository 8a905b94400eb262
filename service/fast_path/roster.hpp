// SPDX-License-Identifier: Apache-2.0
// Which items Redis stands before, as this process last read it. It may be out of date: PostgreSQL
// tells whoever acts on an old one.
#pragma once

#include "db/fast_path.hpp"
#include "db/link.hpp"
#include "service/fast_path/admission.hpp"
#include "service/trail.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace holdfast::fast_path {

// How long Redis may answer after its numbers were compared with PostgreSQL's. Whoever goes past
// Redis waits for longer than that first.
inline constexpr auto lease = std::chrono::milliseconds(500);
inline constexpr auto lease_is_over = std::chrono::milliseconds(600);

[[nodiscard]] item item_of(db::fast_path::row const&);

// An item that may have requests in queues.
struct queues_of {
    holdfast::sku sku;
    int buckets = 1;
};

// How Redis is to stand before an item.
struct mode_wanted {
    bool is_async = false;
    int buckets = 1;
};

class roster {
public:
    [[nodiscard]] std::shared_ptr<items const> now() const
    {
        std::scoped_lock const lock(mutex_);
        return items_;
    }

    // Those with queues, also after Redis stands before them no more.
    [[nodiscard]] std::shared_ptr<std::vector<queues_of> const> queues() const
    {
        std::scoped_lock const lock(mutex_);
        return queues_;
    }

    // Reads it anew. Returns what was read.
    std::vector<db::fast_path::row> refresh(db::link&);

    // Has Redis stand before an item, or changes how. Refusals: unknown_sku.
    result<void> switch_on(db::link&, sku const&, mode_wanted, staff const& by = {});

    // Refusals: not_found. Redis may answer for `lease_is_over` more.
    result<void> switch_off(db::link&, sku const&, staff const& by = {});

    // Leaves an item to PostgreSQL alone, for every process: until Redis is loaded anew, or for a
    // while. Return whether it was open: nothing happens when its epoch is another one, or to
    // `close` somebody has its row locked. Whoever wants to serve it past Redis waits for
    // `lease_is_over` then.
    bool close(db::link&, item const&);
    bool suspend(db::link&, item const&);

private:
    mutable std::mutex mutex_;
    std::shared_ptr<items const> items_ = std::make_shared<items>();
    std::shared_ptr<std::vector<queues_of> const> queues_ =
        std::make_shared<std::vector<queues_of>>();
};

} // namespace holdfast::fast_path

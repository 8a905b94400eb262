// SPDX-License-Identifier: Apache-2.0
// What happened, in the one order in which everybody is told: from any place on, without gaps and
// without repeats.
#pragma once

#include "db/link.hpp"
#include "stock/event.hpp"
#include "stock/result.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// A place in the feed: just after the event with this id. The default is before the first.
struct event_place {
    std::int64_t position = 0; // of the run of outbox entries
    std::int64_t entry = 0;    // id in the outbox
    std::int64_t version = 0;  // of the level
    std::int64_t part = 0;     // 0 the change itself, then its edges

    auto operator<=>(event_place const&) const = default;
};

// The id of the event there.
[[nodiscard]] std::string to_string(event_place const&);
[[nodiscard]] std::optional<event_place> parse_event_place(std::string_view) noexcept;

struct event_filter {
    std::optional<holdfast::sku> sku = {};
    std::vector<event_type> types = {}; // empty: all
};

struct event_page {
    std::vector<event> events;
    event_place next;       // where to read on
    bool is_at_end = false; // nothing stood behind this page when it was read
};

struct event_feed_settings {
    bool is_held_told = true; // whether reservation.held is among the events
};

class event_feed {
public:
    explicit event_feed(event_feed_settings s) : settings_(s) {}

    // At most `limit` events after a place. Looks at a bounded number of changes: with a filter, or
    // without it, a page may be short, or empty, and not the last. Refusals: events_expired, when
    // some events after that place are forgotten.
    [[nodiscard]] result<event_page> page(db::link&, event_place after, event_filter const&,
                                          std::size_t limit) const;

    // Behind everything that is told at the moment.
    [[nodiscard]] event_place end(db::link&) const;

    // Before the first event that was told at this time or later.
    [[nodiscard]] event_place since(db::link&, timestamp) const;

private:
    event_feed_settings settings_;
};

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "service/event_feed.hpp"

#include "db/feed.hpp"
#include "db/transact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast {

namespace {

constexpr std::string_view prefix = "evt";

// What one page looks at, at most.
constexpr int rounds_max = 10;
constexpr std::size_t runs_in_a_round = 50; // positions
constexpr std::size_t entries_in_a_round = 200;
constexpr std::int64_t changes_max = 10'000;
constexpr std::int64_t changes_at_once = 200; // with a filter few of them may be wanted

// Everything in the runs before this position is behind us.
event_place begin_of(std::int64_t position)
{
    return {.position = position};
}

// Fills one page, round by round.
class walk {
public:
    walk(db::transaction& tx, event_place from, event_filter const& filter,
         event_feed_settings const& settings, std::size_t limit)
        : tx_(tx), filter_(filter), settings_(settings), limit_(limit)
    {
        page_.next = from;
    }

    result<event_page> run()
    {
        for (int round = 0; round < rounds_max && may_go_on() && !page_.is_at_end; ++round)
            HOLDFAST_TRY_VOID(go_on());
        return std::move(page_);
    }

private:
    [[nodiscard]] bool has_room() const noexcept { return page_.events.size() < limit_; }

    [[nodiscard]] bool may_go_on() const noexcept { return has_room() && changes_left_ > 0; }

    // One round.
    result<void> go_on()
    {
        auto runs = db::feed::runs(tx_, page_.next.position, runs_in_a_round);
        if (runs.empty())
            return stop_at_end();
        // Positions have no gaps: one that is missing is forgotten.
        if (page_.next.position > 0 && runs.front().position > page_.next.position)
            return refusal{.code = errc::events_expired,
                           .detail = "Some events after this place are forgotten: read the levels, "
                                     "then the events from the beginning."};
        if (runs.front().position == page_.next.position)
            runs.front().first_id = std::max(runs.front().first_id, page_.next.entry);
        bool const is_all = runs.size() < runs_in_a_round && !cut(runs);
        auto const name = filter_.sku ? std::optional(filter_.sku->str()) : std::nullopt;
        auto entries = db::feed::announced(tx_, runs, name, entries_in_a_round);
        bool const is_whole = entries.size() < entries_in_a_round;
        if (tell(entries) && is_whole) {
            page_.next = begin_of(runs.back().position + 1);
            page_.is_at_end = is_all;
        }
        return {};
    }

    // Leaves out runs that would not come to be told in this round: without a SKU, all entries of
    // the others are. Returns whether there were such.
    bool cut(std::vector<db::feed::run>& runs) const
    {
        if (filter_.sku)
            return false;
        std::int64_t entries = 0;
        auto const first = std::ranges::find_if(runs, [&](db::feed::run const& each) {
            bool const is_enough = entries >= std::int64_t{entries_in_a_round};
            entries += each.last_id - each.first_id + 1;
            return is_enough;
        });
        bool const is_any = first != runs.end();
        runs.erase(first, runs.end());
        return is_any;
    }

    result<void> stop_at_end()
    {
        auto const end = begin_of(db::feed::read_head(tx_).position + 1);
        if (page_.next > end)
            return refusal{.code = errc::events_expired,
                           .detail = "This database has not told as much yet, as if it had been "
                                     "restored: begin anew."};
        page_.next = end;
        page_.is_at_end = true;
        return {};
    }

    // False when the page is full, or has looked at enough, before all of them are told.
    bool tell(std::vector<db::feed::announcement> const& entries)
    {
        for (std::size_t first = 0; first < entries.size();) {
            std::vector<db::feed::announcement> some;
            std::int64_t changes = 0;
            for (; first < entries.size() && changes < wanted(); ++first) {
                auto entry = clipped(entries[first]);
                entry.last_version =
                    std::min(entry.last_version, entry.first_version + wanted() - 1);
                changes += entry.last_version - entry.first_version + 1;
                some.push_back(std::move(entry));
            }
            for (auto const& each : db::feed::happened(tx_, some))
                if (!tell(some[each.place], each))
                    return false;
            changes_left_ -= changes;
            // Of the last one, a part may be left.
            if (some.back().last_version < entries[first - 1].last_version)
                --first;
            if (!may_go_on() && first < entries.size())
                return false;
        }
        return true;
    }

    // Changes worth looking up for the room that is left. Where every change is told, more would
    // not fit.
    [[nodiscard]] std::int64_t wanted() const noexcept
    {
        auto const room = static_cast<std::int64_t>(limit_ - page_.events.size()) + 1;
        bool const is_filtered = !filter_.types.empty() || !settings_.is_held_told;
        return is_filtered ? std::max(room, changes_at_once) : room;
    }

    // What of an entry is not behind us; of one that is, its last version, which is told no more. A
    // place is what a caller says, so its version may be any number.
    [[nodiscard]] db::feed::announcement clipped(db::feed::announcement entry) const
    {
        auto const& next = page_.next;
        if (entry.position == next.position && entry.id == next.entry)
            entry.first_version = std::clamp(next.version, entry.first_version, entry.last_version);
        return entry;
    }

    bool tell(db::feed::announcement const& entry, db::feed::happening const& what)
    {
        auto const& m = what.movement;
        event_place at{entry.position, entry.id, m.after.version, 0};
        if (what.drift)
            return tell(at, event_type::drift, what.drift, what);
        auto const change = event_type_of(m.kind);
        if (!tell(at, change, quantity_of(m), what))
            return false;
        for (auto const edge : edges_of(m, entry.low_stock_at)) {
            ++at.part;
            if (!tell(at, edge, std::nullopt, what))
                return false;
        }
        return true;
    }

    bool tell(event_place const& at, event_type type, std::optional<units> quantity,
              db::feed::happening const& what)
    {
        if (at <= page_.next) // told before
            return true;
        if (!has_room())
            return false;
        page_.next = at;
        if (is_wanted(type))
            page_.events.push_back({.id = to_string(at),
                                    .type = type,
                                    .occurred_at = what.at,
                                    .at = what.movement.at,
                                    .after = what.movement.after,
                                    .quantity = quantity,
                                    .reservation_id = what.movement.reservation_id,
                                    .reference = what.reference,
                                    .customer = what.customer});
        return true;
    }

    [[nodiscard]] bool is_wanted(event_type type) const
    {
        if (type == event_type::held && !settings_.is_held_told)
            return false;
        return filter_.types.empty() ||
               std::ranges::find(filter_.types, type) != filter_.types.end();
    }

    db::transaction& tx_;
    event_filter const& filter_;
    event_feed_settings const& settings_;
    std::size_t limit_;
    std::int64_t changes_left_ = changes_max;
    event_page page_;
};

} // namespace

std::string to_string(event_place const& at)
{
    return fmt::format("{}_{}_{}_{}_{}", prefix, at.position, at.entry, at.version, at.part);
}

std::optional<event_place> parse_event_place(std::string_view text) noexcept
{
    if (!text.starts_with(prefix))
        return std::nullopt;
    text.remove_prefix(prefix.size());
    std::array<std::int64_t, 4> numbers{};
    for (auto& number : numbers) {
        if (!text.starts_with('_'))
            return std::nullopt;
        text.remove_prefix(1);
        auto const [stop, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
        if (fault != std::errc() || number < 0)
            return std::nullopt;
        text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
    }
    if (!text.empty())
        return std::nullopt;
    return event_place{numbers[0], numbers[1], numbers[2], numbers[3]};
}

result<event_page> event_feed::page(db::link& link, event_place after, event_filter const& filter,
                                    std::size_t limit) const
{
    return db::read(link, db::scope::snapshot, [&](db::transaction& tx) {
        return walk(tx, after, filter, settings_, limit).run();
    });
}

event_place event_feed::end(db::link& link) const
{
    auto const head = db::read(link, db::scope::single,
                               [](db::transaction& tx) { return db::feed::read_head(tx); });
    return begin_of(head.position + 1);
}

event_place event_feed::since(db::link& link, timestamp when) const
{
    auto const position = db::read(link, db::scope::single,
                                   [&](db::transaction& tx) { return db::feed::since(tx, when); });
    return position ? begin_of(*position) : end(link);
}

} // namespace holdfast

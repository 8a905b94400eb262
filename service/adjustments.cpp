// SPDX-License-Identifier: Apache-2.0
#include "service/adjustments.hpp"

#include "db/items.hpp"
#include "db/levels.hpp"
#include "db/movements.hpp"
#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "service/expiry.hpp"
#include "service/ledger.hpp"
#include "service/overload.hpp"

#include <fmt/format.h>

#include <charconv>

namespace holdfast {

namespace {

constexpr std::size_t holds_listed_max = 100;

// Each round reclaims a batch of due holds; a level has no more than some batches of them.
constexpr int rounds_max = 200;

movement_kind kind_of(std::string_view reason)
{
    if (reason == "count")
        return movement_kind::counted;
    if (reason == "received")
        return movement_kind::received;
    return movement_kind::adjusted;
}

adjustment as_it_stands(db::transaction& tx, db::movements::entry const& entry)
{
    auto const& at = entry.movement.at;
    adjustment a{.entry = entry, .level = {at.location, {}}, .holds = {}};
    for (auto& found : db::levels::of_items(tx, {at.sku.str()}))
        if (found.at == at)
            a.level.level = found.level;
    if (a.level.level.short_by() > 0)
        for (auto& h : db::reservations::holds_on(tx, at, holds_listed_max))
            a.holds.push_back({h.reservation_id, h.quantity, h.expires_at, std::move(h.customer),
                               std::move(h.reference)});
    return a;
}

outcome<adjustment> replay(db::transaction& tx, adjust_command const& cmd, std::string const& kept)
{
    std::int64_t id = 0;
    std::from_chars(kept.data(), kept.data() + kept.size(), id);
    auto const entry = db::movements::by_id(tx, cmd.at.sku, id);
    HOLDFAST_INVARIANT(entry.has_value());
    return {as_it_stands(tx, *entry), true};
}

// What the adjustment makes of the number on hand, or why it may not.
result<units> new_on_hand(stock_level const& level, adjust_command const& cmd)
{
    if (cmd.expect_on_hand && *cmd.expect_on_hand != level.on_hand)
        return refusal{.code = errc::precondition_failed,
                       .detail = fmt::format("{} units are on hand, not {}.", level.on_hand,
                                             *cmd.expect_on_hand),
                       .on_hand = level.on_hand};
    auto const wanted = cmd.set_to ? *cmd.set_to : level.on_hand + *cmd.delta;
    if (wanted < 0)
        return refusal{.code = errc::would_go_negative,
                       .detail = fmt::format("Only {} units are on hand.", level.on_hand),
                       .on_hand = level.on_hand};
    if (wanted > level_max)
        return refusal{.code = errc::quantity_overflow,
                       .detail = fmt::format("A level may hold at most {} units.", level_max)};
    bool const may_be_short = cmd.allow_short || cmd.reason == "count";
    if (wanted < level.reserved && wanted < level.on_hand && !may_be_short)
        return refusal{.code = errc::would_be_short,
                       .detail = fmt::format("{} units are reserved. Set allow_short to go below.",
                                             level.reserved),
                       .on_hand = level.on_hand};
    return wanted;
}

result<outcome<adjustment>> try_adjust(db::transaction& tx, ledger& book, adjust_command const& cmd)
{
    HOLDFAST_TRY(auto const kept, idempotency::begin(tx, cmd.key));
    if (kept)
        return replay(tx, cmd, *kept);
    if (db::items::by_skus(tx, {cmd.at.sku.str()}).empty())
        return refusal{.code = errc::unknown_sku,
                       .detail = "There is no item " + cmd.at.sku.str() + "."};
    std::vector const keys{cmd.at};
    db::levels::create(tx, keys);
    book.lock(keys);
    auto const& level = book.level(cmd.at);
    HOLDFAST_TRY(auto const on_hand, new_on_hand(level, cmd));
    book.move(cmd.at, {.kind = kind_of(cmd.reason),
                       .on_hand_delta = on_hand - level.on_hand,
                       .by = {cmd.actor, cmd.reason, cmd.note, cmd.reference},
                       .shortage = db::levels::shortage::allowed});
    book.write();
    auto const entry = db::movements::of_version(tx, cmd.at, book.level(cmd.at).version);
    idempotency::finish(tx, cmd.key, std::to_string(entry.id));
    return outcome<adjustment>{as_it_stands(tx, entry), false};
}

// Whether the reserved units counted against this adjustment may belong to holds that are due.
bool may_reclaim(refusal const& r)
{
    return r.code == errc::would_be_short;
}

} // namespace

result<outcome<adjustment>> adjustments::adjust(db::link& link, adjust_command const& cmd) const
{
    return idempotency::refuse_in_progress([&]() -> result<outcome<adjustment>> {
        // A refusal stands when nothing was due before it was made: others may reclaim as well.
        bool is_nothing_due = false;
        for (int round = 0; round < rounds_max; ++round) {
            std::vector<movement> moved;
            auto answer = db::transact(link, [&](db::transaction& tx) {
                ledger book(tx);
                auto adjusted = try_adjust(tx, book, cmd);
                moved = book.movements();
                return adjusted;
            });
            if (answer)
                count(metrics_, moved);
            if (answer || !may_reclaim(answer.error()) || is_nothing_due)
                return answer;
            is_nothing_due = expire_due(link, std::vector{cmd.at}, metrics_) == 0;
        }
        throw overloaded();
    });
}

} // namespace holdfast

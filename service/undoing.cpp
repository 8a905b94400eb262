// SPDX-License-Identifier: Apache-2.0
// Imports that were applied, and how one is undone: by the difference it made, and not by the old
// numbers, so that what was sold since stays sold. Levels somebody has counted since are right.
#include "db/imports.hpp"
#include "db/transact.hpp"
#include "service/imports.hpp"
#include "service/json_writer.hpp"
#include "service/ledger.hpp"
#include "service/reclaiming.hpp"
#include "service/refused_rows.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace holdfast {

namespace {

constexpr std::size_t shown_max = 1000;            // of settings, and of levels
constexpr auto patience = std::chrono::minutes(2); // as an import has

refusal no_such_import()
{
    return {.code = errc::not_found,
            .detail = fmt::format("There is no import with this id, or none of the last {} days.",
                                  db::imports::kept_for.count() / 24)};
}

result<past_import> show_in(db::transaction& tx, uuid const& id)
{
    auto made = db::imports::find(tx, id);
    if (!made)
        return no_such_import();
    past_import shown{.made = std::move(*made), .kept_back = {}, .superseded = {}};
    if (shown.made.undone_at) {
        shown.kept_back = db::imports::list_kept_back(tx, id, shown_max);
        shown.superseded = db::imports::list_superseded(tx, id, shown_max);
    }
    return shown;
}

// What is on hand without what the import did, or why it may not be.
result<units> without(db::imports::moved_level const& row, stock_level const& level,
                      undo_command const& cmd)
{
    auto const& name = row.at.sku.str();
    auto const wanted = level.on_hand - row.on_hand_delta;
    if (wanted < 0)
        return refusal{.code = errc::would_go_negative,
                       .detail = fmt::format("Of {} only {} units are on hand, of {} that came.",
                                             name, level.on_hand, row.on_hand_delta)};
    if (wanted > level_max)
        return refusal{.code = errc::quantity_overflow,
                       .detail = fmt::format("A level may hold at most {} units.", level_max)};
    if (wanted < level.reserved && wanted < level.on_hand && !cmd.allow_short)
        return refusal{.code = errc::would_be_short,
                       .detail = fmt::format("Of {} {} units are reserved. Set allow_short to go "
                                             "below.",
                                             name, level.reserved)};
    return wanted;
}

result<void> move_back(ledger& book, std::vector<db::imports::moved_level> const& rows,
                       undo_command const& cmd, aftermath& after)
{
    refused_rows refused("rows");
    for (auto const& row : rows) {
        if (row.on_hand_delta == 0)
            continue; // with what an undone one had handed on it came to nothing
        auto const& level = book.level(row.at);
        auto on_hand = without(row, level, cmd);
        if (!on_hand) {
            if (on_hand.error().code == errc::would_be_short)
                after.short_levels.push_back(row.at);
            refused.add_line(static_cast<std::size_t>(row.line), row.at.sku.str(),
                             std::move(on_hand).error());
            continue;
        }
        book.move(row.at, {.kind = movement_kind::adjusted,
                           .on_hand_delta = *on_hand - level.on_hand,
                           .by = {.actor = cmd.by.actor,
                                  .reason = "undone",
                                  .note = {},
                                  .reference = import_reference(cmd.id)},
                           .shortage = db::levels::shortage::allowed});
    }
    if (!refused.is_empty())
        return std::move(refused).to_refusal();
    return {};
}

void note_undoing(db::transaction& tx, undo_command const& cmd)
{
    auto const made = db::imports::find(tx, cmd.id).value(); // it is locked
    json_writer detail;
    detail.begin_object();
    detail.member("id", cmd.id);
    detail.member("mode", made.mode);
    detail.member("rows", made.rows);
    detail.end_object();
    trail::note(tx, cmd.by, {"import.undone", "catalogue", detail.take()});
}

// Whether it was undone before. What was left alone is read once this is committed: nobody waits
// for levels while an answer is put together.
enum class undoing { now, before };

// Locks as an import does: items in the order of their SKUs, then levels.
result<undoing> undo_once(db::transaction& tx, undo_command const& cmd, aftermath& after)
{
    tx.allow(patience);
    auto const is_undone = db::imports::lock(tx, cmd.id);
    if (!is_undone)
        return no_such_import();
    if (*is_undone)
        return undoing::before;
    db::imports::lock_items(tx, cmd.id);
    std::vector<level_key> keys;
    for (auto const& row : db::imports::levels(tx, cmd.id))
        keys.push_back(row.at);
    ledger book(tx);
    book.lock(keys);
    db::imports::supersede(tx, cmd.id); // who says a number has to wait from here on
    db::imports::hand_on(tx, cmd.id);
    HOLDFAST_TRY_VOID(move_back(book, db::imports::standing(tx, cmd.id), cmd, after));
    book.write();
    db::imports::put_settings_back(tx, cmd.id);
    db::imports::close(tx, cmd.id, cmd.by.actor);
    note_undoing(tx, cmd);
    after.moved = book.movements();
    return undoing::now;
}

} // namespace

std::vector<db::imports::row> imports::list(db::link& link, import_filter const& filter) const
{
    return db::read(link, db::scope::single, [&](db::transaction& tx) {
        return db::imports::list(tx, filter.before, filter.limit);
    });
}

result<past_import> imports::show(db::link& link, uuid const& id) const
{
    return db::read(link, db::scope::snapshot,
                    [&](db::transaction& tx) { return show_in(tx, id); });
}

result<outcome<past_import>> imports::undo(db::link& link, undo_command const& cmd) const
{
    HOLDFAST_TRY(auto const done,
                 reclaiming(link, metrics_, [&](db::transaction& tx, aftermath& after) {
                     return undo_once(tx, cmd, after);
                 }));
    HOLDFAST_TRY(auto shown, show(link, cmd.id));
    return outcome<past_import>{std::move(shown), done == undoing::before};
}

} // namespace holdfast

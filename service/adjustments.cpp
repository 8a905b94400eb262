// SPDX-License-Identifier: Apache-2.0
#include "service/adjustments.hpp"

#include "db/items.hpp"
#include "db/levels.hpp"
#include "db/movements.hpp"
#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "service/ledger.hpp"
#include "service/reclaiming.hpp"
#include "service/refused_rows.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <span>

namespace holdfast {

namespace {

constexpr std::size_t holds_listed_max = 100;

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
    std::vector const keys{at};
    if (a.level.level.short_by() > 0)
        a.holds = std::move(concerned_holds(tx, keys, holds_listed_max).front());
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

change to_change(adjust_command const& row, units on_hand_delta)
{
    return {.kind = kind_of(row.reason),
            .on_hand_delta = on_hand_delta,
            .by = {row.actor, row.reason, row.note, row.reference},
            .shortage = db::levels::shortage::allowed};
}

// Whoever sets a level to a number, or has counted it, says what it is.
void note_statements(db::transaction& tx, ledger const& book, std::span<adjust_command const> rows)
{
    std::vector<db::levels::stated> stated;
    for (auto const& row : rows)
        if (row.set_to || row.reason == "count")
            stated.push_back({row.at, book.level(row.at).version});
    db::levels::state(tx, stated);
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
    book.move(cmd.at, to_change(cmd, on_hand - level.on_hand));
    book.write();
    note_statements(tx, book, std::span(&cmd, 1));
    auto const entry = db::movements::of_version(tx, cmd.at, book.level(cmd.at).version);
    idempotency::finish(tx, cmd.key, std::to_string(entry.id));
    return outcome<adjustment>{as_it_stands(tx, entry), false};
}

std::vector<level_key> keys_of(bulk_adjust_command const& cmd)
{
    std::vector<level_key> keys;
    for (auto const& row : cmd.rows)
        keys.push_back(row.at);
    return keys;
}

std::vector<std::string> skus_of(std::span<level_key const> keys)
{
    std::set<std::string> skus;
    for (auto const& key : keys)
        skus.insert(key.sku.str());
    return {skus.begin(), skus.end()};
}

bulk_adjustment as_they_stand(db::transaction& tx, std::vector<db::movements::entry> entries,
                              std::span<level_key const> keys)
{
    std::map<level_key, stock_level> levels;
    for (auto& found : db::levels::of_items(tx, skus_of(keys)))
        levels.emplace(std::move(found.at), found.level);
    bulk_adjustment all;
    for (auto& entry : entries) {
        auto const at = entry.movement.at;
        all.push_back({std::move(entry), {at.location, levels.at(at)}, {}});
    }
    return all;
}

// Kept are the versions that the rows gave their levels, in the order of the rows.
bulk_adjustment replay_all(db::transaction& tx, bulk_adjust_command const& cmd,
                           std::string_view kept)
{
    std::vector<std::int64_t> versions;
    for (auto const* at = kept.data(); at < kept.data() + kept.size(); ++at)
        at = std::from_chars(at, kept.data() + kept.size(), versions.emplace_back()).ptr;
    auto const keys = keys_of(cmd);
    return as_they_stand(tx, db::movements::of_versions(tx, keys, versions), keys);
}

// Moves every row whose level is locked. A level that is not has no item.
refused_rows move_rows(ledger& book, bulk_adjust_command const& cmd, aftermath& after)
{
    refused_rows refused("rows");
    for (std::size_t i = 0; i < cmd.rows.size(); ++i) {
        auto const& row = cmd.rows[i];
        if (!book.has(row.at)) {
            refused.add(i, row.at.sku.str(),
                        {.code = errc::unknown_sku,
                         .detail = "There is no item " + row.at.sku.str() + "."});
            continue;
        }
        auto const before = book.level(row.at).on_hand;
        auto on_hand = new_on_hand(book.level(row.at), row);
        if (on_hand) {
            book.move(row.at, to_change(row, *on_hand - before));
            continue;
        }
        if (on_hand.error().code == errc::would_be_short)
            after.short_levels.push_back(row.at);
        refused.add(i, row.at.sku.str(), std::move(on_hand).error());
    }
    return refused;
}

// Locks the levels of all rows whose items there are, making those that are missing.
void lock_rows(db::transaction& tx, ledger& book, std::span<level_key const> keys)
{
    std::set<std::string> known;
    for (auto& item : db::items::by_skus(tx, skus_of(keys)))
        known.insert(std::move(item.sku));
    std::vector<level_key> there;
    for (auto const& key : keys)
        if (known.contains(key.sku.str()))
            there.push_back(key);
    db::levels::create(tx, there);
    book.lock(there);
}

result<outcome<bulk_adjustment>> try_adjust_all(db::transaction& tx, bulk_adjust_command const& cmd,
                                                aftermath& after)
{
    HOLDFAST_TRY(auto const kept, idempotency::begin(tx, cmd.key));
    if (kept)
        return outcome<bulk_adjustment>{replay_all(tx, cmd, *kept), true};
    auto const keys = keys_of(cmd);
    ledger book(tx);
    lock_rows(tx, book, keys);
    if (auto refused = move_rows(book, cmd, after); !refused.is_empty())
        return std::move(refused).to_refusal();
    book.write();
    note_statements(tx, book, cmd.rows);
    std::vector<std::int64_t> versions;
    for (auto const& key : keys)
        versions.push_back(book.level(key).version);
    idempotency::finish(tx, cmd.key, fmt::format("{}", fmt::join(versions, " ")));
    after.moved = book.movements();
    auto entries = db::movements::of_versions(tx, keys, versions);
    return outcome<bulk_adjustment>{as_they_stand(tx, std::move(entries), keys), false};
}

// Both ends of a transfer, under one reference, so that one finds the other in the ledger.
bulk_adjust_command both_ends_of(transfer_command const& cmd)
{
    auto const end = [&, reference = cmd.reference.value_or("transfer-" + uuid::make_v7().str())](
                         location const& where, units delta) {
        return adjust_command{.key = {},
                              .actor = cmd.actor,
                              .at = {cmd.sku, where},
                              .delta = delta,
                              .set_to = {},
                              .expect_on_hand = {},
                              .allow_short = cmd.allow_short,
                              .reason = "transferred",
                              .note = cmd.note,
                              .reference = reference};
    };
    return {cmd.key, {end(cmd.from, -cmd.quantity), end(cmd.to, cmd.quantity)}};
}

} // namespace

std::vector<std::vector<concerned_hold>>
concerned_holds(db::transaction& tx, std::span<level_key const> levels, std::size_t per_level_max)
{
    std::vector<std::vector<concerned_hold>> all;
    all.reserve(levels.size());
    for (auto& found : db::reservations::holds_on(tx, levels, per_level_max)) {
        auto& holds = all.emplace_back();
        for (auto& h : found)
            holds.push_back({h.reservation_id, h.quantity, h.expires_at, std::move(h.customer),
                             std::move(h.reference)});
    }
    return all;
}

result<outcome<adjustment>> adjustments::adjust(db::link& link, adjust_command const& cmd) const
{
    return reclaiming(link, metrics_, [&](db::transaction& tx, aftermath& after) {
        ledger book(tx);
        auto adjusted = try_adjust(tx, book, cmd);
        after.moved = book.movements();
        if (!adjusted && adjusted.error().code == errc::would_be_short)
            after.short_levels.push_back(cmd.at);
        return adjusted;
    });
}

result<outcome<bulk_adjustment>> adjustments::adjust_all(db::link& link,
                                                         bulk_adjust_command const& cmd) const
{
    return reclaiming(link, metrics_, [&](db::transaction& tx, aftermath& after) {
        return try_adjust_all(tx, cmd, after);
    });
}

result<outcome<transfer>> adjustments::transfer(db::link& link, transfer_command const& cmd) const
{
    auto done = adjust_all(link, both_ends_of(cmd));
    if (!done) {
        auto why = std::move(done).error();
        if (why.errors.empty())
            return why;
        auto& row = why.errors.front(); // a caller would know of no rows
        return refusal{.code = row.code.value(), .detail = std::move(row.detail)};
    }
    auto& ends = done->value;
    return outcome<holdfast::transfer>{{std::move(ends.at(0)), std::move(ends.at(1))},
                                       done->is_replay};
}

} // namespace holdfast

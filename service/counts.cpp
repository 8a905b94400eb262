// SPDX-License-Identifier: Apache-2.0
#include "service/counts.hpp"

#include "db/items.hpp"
#include "db/levels.hpp"
#include "db/transact.hpp"
#include "service/json_writer.hpp"
#include "service/ledger.hpp"
#include "service/refused_rows.hpp"
#include "sql/counts.hpp"

#include <fmt/format.h>

#include <map>
#include <set>
#include <span>
#include <utility>

namespace holdfast {

namespace {

constexpr std::size_t uncounted_shown_max = 100;
constexpr std::size_t short_levels_told_max = 100;
constexpr std::size_t holds_told_max = 20; // of one level

// A count that nobody else may change until the transaction ends.
struct locked_count {
    location where;
    std::optional<std::string> sku_prefix;
    std::string state;
    timestamp opened_at;
    timestamp now;
};

struct entry_row {
    std::string sku;
    units counted = 0;
    units on_hand = 0;
    std::int64_t version = 0;
    timestamp counted_at;
    std::string actor;
    std::optional<std::int64_t> applied_version;
    bool is_outdated = false;
};

refusal no_such_count()
{
    return {.code = errc::not_found, .detail = "There is no count with this id."};
}

refusal closed(std::string_view state)
{
    return {.code = errc::count_closed, .detail = fmt::format("This count is {}.", state)};
}

result<locked_count> lock(db::transaction& tx, uuid const& id)
{
    auto found = tx.maybe<locked_count>(sql::counts::lock, id);
    if (!found)
        return no_such_count();
    return std::move(*found);
}

std::vector<entry_row> read_entries(db::transaction& tx, uuid const& id,
                                    std::optional<std::vector<std::string>> const& skus = {})
{
    return skus ? tx.many<entry_row>(sql::counts::entries, id, *skus)
                : tx.many<entry_row>(sql::counts::entries, id, std::optional<std::string>());
}

std::vector<std::string> skus_of(std::span<entry_row const> rows)
{
    std::vector<std::string> skus;
    for (auto const& row : rows)
        skus.push_back(row.sku);
    return skus;
}

void add_holds(db::transaction& tx, location const& where, std::vector<count_entry>& entries)
{
    std::vector<level_key> levels;
    std::vector<count_entry*> concerned;
    for (auto& entry : entries) {
        if (entry.short_by() == 0 || levels.size() == short_levels_told_max)
            continue;
        levels.push_back({entry.sku, where});
        concerned.push_back(&entry);
    }
    if (levels.empty())
        return;
    auto holds = concerned_holds(tx, levels, holds_told_max);
    for (std::size_t i = 0; i < holds.size(); ++i)
        concerned[i]->holds = std::move(holds[i]);
}

// The entries beside the levels as they stand.
std::vector<count_entry> as_they_stand(db::transaction& tx, location const& where,
                                       std::string_view state, std::vector<entry_row> rows)
{
    std::map<level_key, stock_level> levels;
    for (auto& found : db::levels::of_items(tx, skus_of(rows)))
        levels.emplace(std::move(found.at), found.level);
    std::vector<count_entry> entries;
    for (auto& row : rows) {
        level_key const at{sku(row.sku), where};
        auto const found = levels.find(at);
        auto const level = found == levels.end() ? stock_level{} : found->second;
        auto& entry = entries.emplace_back(count_entry{.sku = at.sku,
                                                       .counted = row.counted,
                                                       .on_hand = row.on_hand,
                                                       .counted_at = row.counted_at,
                                                       .actor = std::move(row.actor),
                                                       .is_outdated = row.is_outdated,
                                                       .version = row.applied_version,
                                                       .on_hand_after = level.on_hand,
                                                       .reserved = level.reserved,
                                                       .holds = {}});
        if (state == "open" && !entry.is_outdated)
            entry.on_hand_after += entry.difference();
    }
    add_holds(tx, where, entries);
    return entries;
}

std::vector<sku> to_skus(std::vector<std::string> texts)
{
    std::vector<sku> skus;
    for (auto& text : texts)
        skus.emplace_back(std::move(text));
    return skus;
}

// What is left of a list, or of the location.
std::vector<sku> uncounted_of(db::transaction& tx, shown_count const& shown)
{
    auto const& c = shown.count;
    if (!shown.skus)
        return to_skus(tx.many<std::string>(sql::counts::uncounted, c.id, c.where,
                                            c.sku_prefix.value_or(""), uncounted_shown_max));
    std::set<sku> done;
    for (auto const& entry : shown.entries)
        done.insert(entry.sku);
    std::vector<sku> left;
    for (auto const& each : *shown.skus)
        if (!done.contains(each) && left.size() < uncounted_shown_max)
            left.push_back(each);
    return left;
}

result<shown_count> show_in(db::transaction& tx, uuid const& id)
{
    auto found = tx.maybe<stock_count>(sql::counts::find, id);
    if (!found)
        return no_such_count();
    shown_count shown{.count = std::move(*found), .skus = {}, .entries = {}, .uncounted = {}};
    auto const& c = shown.count;
    if (auto skus = tx.many<std::string>(sql::counts::skus, id); !skus.empty())
        shown.skus = to_skus(std::move(skus));
    shown.entries = as_they_stand(tx, c.where, c.state, read_entries(tx, id));
    if (c.state == "open")
        shown.uncounted = uncounted_of(tx, shown);
    return shown;
}

std::set<std::string> known_among(db::transaction& tx, std::vector<std::string> const& skus)
{
    std::set<std::string> known;
    for (auto& item : db::items::by_skus(tx, skus))
        known.insert(std::move(item.sku));
    return known;
}

refusal no_such_item(std::string const& name)
{
    return {.code = errc::unknown_sku, .detail = "There is no item " + name + "."};
}

result<void> list_skus(db::transaction& tx, uuid const& id, std::vector<sku> const& wanted)
{
    std::vector<std::string> skus;
    for (auto const& each : wanted)
        skus.push_back(each.str());
    auto const known = known_among(tx, skus);
    refused_rows refused("skus");
    for (std::size_t i = 0; i < skus.size(); ++i)
        if (!known.contains(skus[i]))
            refused.add(i, skus[i], no_such_item(skus[i]));
    if (!refused.is_empty())
        return std::move(refused).to_refusal();
    tx.exec(sql::counts::add_skus, id, skus);
    return {};
}

void note_deed(db::transaction& tx, staff const& by, std::string_view action, stock_count const& c)
{
    json_writer detail;
    detail.begin_object();
    detail.member("name", c.name);
    detail.member("location", c.where);
    detail.member("entries", c.entries);
    detail.member("differing", c.differing);
    detail.end_object();
    trail::note(tx, by, {action, "count:" + c.id.str(), detail.take()});
}

result<outcome<shown_count>> open_once(db::transaction& tx, open_count_command const& cmd)
{
    HOLDFAST_TRY(auto const kept, idempotency::begin(tx, cmd.key));
    if (kept) {
        HOLDFAST_TRY(auto shown, show_in(tx, uuid::parse(*kept).value()));
        return outcome<shown_count>{std::move(shown), true};
    }
    auto const id = uuid::make_v7();
    tx.exec(sql::counts::open, id, cmd.name, cmd.where, cmd.sku_prefix, cmd.note, cmd.by.actor);
    if (cmd.skus)
        HOLDFAST_TRY_VOID(list_skus(tx, id, *cmd.skus));
    idempotency::finish(tx, cmd.key, id.str());
    HOLDFAST_TRY(auto shown, show_in(tx, id));
    note_deed(tx, cmd.by, "count.opened", shown.count);
    return outcome<shown_count>{std::move(shown), false};
}

// Why an entry cannot be one of this count, or nothing. `listed` is empty where there is no list.
std::optional<std::string> fault_of(counted_units const& entry, locked_count const& c,
                                    std::set<std::string> const& listed)
{
    auto const& name = entry.sku.str();
    if (!listed.empty() && !listed.contains(name))
        return "is not among the SKUs of this count";
    if (c.sku_prefix && !name.starts_with(*c.sku_prefix))
        return "does not begin with the prefix of this count";
    if (entry.counted_at && (*entry.counted_at < c.opened_at || *entry.counted_at > c.now))
        return fmt::format("counted_at must be from {} to {}, by the clock of the database",
                           to_rfc3339(c.opened_at), to_rfc3339(c.now));
    return std::nullopt;
}

result<void> check_entries(db::transaction& tx, enter_counted_command const& cmd,
                           locked_count const& c)
{
    std::set<std::string> listed;
    for (auto& each : tx.many<std::string>(sql::counts::skus, cmd.id))
        listed.insert(std::move(each));
    std::vector<std::string> skus;
    for (auto const& entry : cmd.entries)
        skus.push_back(entry.sku.str());
    auto const known = known_among(tx, skus);
    refused_rows refused("entries");
    for (std::size_t i = 0; i < skus.size(); ++i) {
        if (!known.contains(skus[i]))
            refused.add(i, skus[i], no_such_item(skus[i]));
        else if (auto fault = fault_of(cmd.entries[i], c, listed))
            refused.add(i, skus[i], {.code = errc::validation_failed, .detail = std::move(*fault)});
    }
    if (!refused.is_empty())
        return std::move(refused).to_refusal();
    return {};
}

result<void> write_entries(db::transaction& tx, enter_counted_command const& cmd,
                           locked_count const& c)
{
    std::vector<std::string> skus;
    std::vector<std::string> taken_back;
    std::vector<units> quantities;
    std::vector<std::optional<timestamp>> instants;
    for (auto const& entry : cmd.entries) {
        if (!entry.quantity) {
            taken_back.push_back(entry.sku.str());
            continue;
        }
        skus.push_back(entry.sku.str());
        quantities.push_back(*entry.quantity);
        instants.push_back(entry.counted_at);
    }
    if (!taken_back.empty())
        tx.exec(sql::counts::take_back, cmd.id, taken_back);
    if (skus.empty())
        return {};
    auto const written =
        tx.exec(sql::counts::enter, cmd.id, c.where, skus, quantities, instants, cmd.actor);
    HOLDFAST_INVARIANT(written == static_cast<std::int64_t>(skus.size()));
    if (tx.one<std::int64_t>(sql::counts::size, cmd.id) >
        static_cast<std::int64_t>(count_entries_max))
        return refusal{
            .code = errc::validation_failed,
            .detail = "The count would be too long.",
            .errors = {{"/entries",
                        fmt::format("a count has at most {} SKUs; open another one for the others",
                                    count_entries_max)}}};
    return {};
}

result<outcome<std::vector<count_entry>>> enter_once(db::transaction& tx,
                                                     enter_counted_command const& cmd)
{
    HOLDFAST_TRY(auto const kept, idempotency::begin(tx, cmd.key));
    HOLDFAST_TRY(auto const c, lock(tx, cmd.id));
    if (!kept) {
        if (c.state != "open")
            return closed(c.state);
        HOLDFAST_TRY_VOID(check_entries(tx, cmd, c));
        HOLDFAST_TRY_VOID(write_entries(tx, cmd, c));
        idempotency::finish(tx, cmd.key, "");
    }
    std::vector<std::string> named;
    for (auto const& entry : cmd.entries)
        named.push_back(entry.sku.str());
    auto entries = as_they_stand(tx, c.where, c.state, read_entries(tx, cmd.id, named));
    return outcome<std::vector<count_entry>>{std::move(entries), kept.has_value()};
}

// What an entry makes of its level, or why it may not.
result<units> new_on_hand(entry_row const& row, stock_level const& level)
{
    auto const difference = row.counted - row.on_hand;
    auto const wanted = level.on_hand + difference;
    if (row.is_outdated)
        return refusal{.code = errc::precondition_failed,
                       .detail = row.sku + " was counted or set to a number since, or an import "
                                           "was undone: count it once more, or take the entry "
                                           "back.",
                       .on_hand = level.on_hand};
    if (wanted < 0)
        return refusal{.code = errc::would_go_negative,
                       .detail = fmt::format("Of {} only {} units are on hand, and {} of those it "
                                             "had when it was counted are missing.",
                                             row.sku, level.on_hand, -difference),
                       .on_hand = level.on_hand};
    if (wanted > level_max)
        return refusal{.code = errc::quantity_overflow,
                       .detail = fmt::format("A level may hold at most {} units.", level_max)};
    return wanted;
}

struct applied_entries {
    std::map<std::string, std::int64_t> versions; // by SKU, of those that moved
    std::vector<db::levels::stated> stated;       // what was found, also where nothing was missing
};

// Moves the levels of all entries that found a difference: what was found as it should be is no
// line of the ledger.
result<applied_entries> move_entries(db::transaction& tx, ledger& book, uuid const& id,
                                     staff const& by, location const& where)
{
    auto const differs = [](entry_row const& row) { return row.counted != row.on_hand; };
    std::vector<level_key> keys;
    for (auto const& row : read_entries(tx, id))
        if (differs(row))
            keys.push_back({sku(row.sku), where});
    db::levels::create(tx, keys);
    book.lock(keys);
    applied_entries applied;
    refused_rows refused("entries");
    auto const rows = read_entries(tx, id); // who counts a level again has to wait from here on
    for (std::size_t i = 0; i < rows.size(); ++i) {
        level_key const at{sku(rows[i].sku), where};
        applied.stated.push_back({at, rows[i].version});
        if (!differs(rows[i]))
            continue;
        auto const before = book.level(at).on_hand;
        auto on_hand = new_on_hand(rows[i], book.level(at));
        if (!on_hand) {
            refused.add(i, rows[i].sku, std::move(on_hand).error());
            continue;
        }
        book.move(at, {.kind = movement_kind::counted,
                       .on_hand_delta = *on_hand - before,
                       .by = {.actor = by.actor,
                              .reason = "count",
                              .note = {},
                              .reference = "count-" + id.str()},
                       .shortage = db::levels::shortage::allowed});
        applied.versions[rows[i].sku] = book.level(at).version;
    }
    if (!refused.is_empty())
        return std::move(refused).to_refusal();
    return applied;
}

// Whether something was found done already. What the count looks like then is read once this is
// committed: nobody waits for levels while an answer is put together.
enum class deed { done_now, done_before };

deed close_once(db::transaction& tx, uuid const& id, staff const& by, std::string_view state)
{
    tx.exec(sql::counts::close, id, state, by.actor);
    auto const c = tx.maybe<stock_count>(sql::counts::find, id);
    note_deed(tx, by, fmt::format("count.{}", state), c.value());
    return deed::done_now;
}

// What is closed already in the way that is asked for is done; in another way it cannot be.
result<deed> closed_before(locked_count const& c, std::string_view wanted)
{
    if (c.state != wanted)
        return closed(c.state);
    return deed::done_before;
}

result<outcome<shown_count>> shown_after(db::link& link, uuid const& id, result<deed> const& done)
{
    if (!done)
        return done.error();
    return db::read(link, db::scope::snapshot,
                    [&](db::transaction& tx) -> result<outcome<shown_count>> {
                        HOLDFAST_TRY(auto shown, show_in(tx, id));
                        return outcome<shown_count>{std::move(shown), *done == deed::done_before};
                    });
}

result<deed> apply_once(db::transaction& tx, ledger& book, uuid const& id, staff const& by)
{
    HOLDFAST_TRY(auto const c, lock(tx, id));
    if (c.state != "open")
        return closed_before(c, "applied");
    HOLDFAST_TRY(auto const applied, move_entries(tx, book, id, by, c.where));
    book.write();
    std::vector<std::string> skus;
    std::vector<std::int64_t> numbers;
    for (auto const& [name, version] : applied.versions) {
        skus.push_back(name);
        numbers.push_back(version);
    }
    tx.exec(sql::counts::note_applied, id, skus, numbers);
    db::levels::state(tx, applied.stated);
    return close_once(tx, id, by, "applied");
}

} // namespace

result<outcome<shown_count>> counts::open(db::link& link, open_count_command const& cmd) const
{
    return idempotency::refuse_in_progress([&] {
        return db::transact(link, [&](db::transaction& tx) { return open_once(tx, cmd); });
    });
}

result<outcome<std::vector<count_entry>>> counts::enter(db::link& link,
                                                        enter_counted_command const& cmd) const
{
    return idempotency::refuse_in_progress([&] {
        return db::transact(link, [&](db::transaction& tx) { return enter_once(tx, cmd); });
    });
}

result<shown_count> counts::show(db::link& link, uuid const& id) const
{
    return db::read(link, db::scope::snapshot,
                    [&](db::transaction& tx) { return show_in(tx, id); });
}

std::vector<stock_count> counts::list(db::link& link, count_filter const& filter) const
{
    return db::read(link, db::scope::single, [&](db::transaction& tx) {
        return tx.many<stock_count>(sql::counts::list, filter.only_open,
                                    filter.before.value_or(uuid::last()), filter.limit);
    });
}

result<outcome<shown_count>> counts::apply(db::link& link, uuid const& id, staff const& by) const
{
    std::vector<movement> moved;
    auto applied = db::transact(link, [&](db::transaction& tx) {
        ledger book(tx);
        auto done = apply_once(tx, book, id, by);
        if (!book.movements().empty()) // else it may be its own commit that was in doubt
            moved = book.movements();
        return done;
    });
    if (applied)
        count(metrics_, moved);
    return shown_after(link, id, applied);
}

result<outcome<shown_count>> counts::cancel(db::link& link, uuid const& id, staff const& by) const
{
    auto const cancelled = db::transact(link, [&](db::transaction& tx) -> result<deed> {
        HOLDFAST_TRY(auto const c, lock(tx, id));
        if (c.state != "open")
            return closed_before(c, "cancelled");
        return close_once(tx, id, by, "cancelled");
    });
    return shown_after(link, id, cancelled);
}

} // namespace holdfast

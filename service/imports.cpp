// SPDX-License-Identifier: Apache-2.0
// Reads the file, checks it against the database, then writes all. An import looks under locks; a
// preview looks at one instant and locks nothing.
#include "service/imports.hpp"

#include "db/items.hpp"
#include "db/levels.hpp"
#include "db/transact.hpp"
#include "service/import_file.hpp"
#include "service/json_writer.hpp"
#include "service/ledger.hpp"
#include "service/reclaiming.hpp"
#include "service/trail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <utility>

namespace holdfast {

namespace {

constexpr std::array<std::string_view, 3> mode_names{"set", "add", "count"};
constexpr std::size_t differences_max = 1000;
constexpr auto patience = std::chrono::minutes(2);

db::items::row merged_settings(db::items::row item, import_row const& row)
{
    if (row.name)
        item.name = row.name;
    if (row.max_per_customer)
        item.max_per_customer = row.max_per_customer;
    if (row.low_stock_at)
        item.low_stock_at = row.low_stock_at;
    item.on_sale = row.on_sale.value_or(item.on_sale);
    return item;
}

// As the columns are called.
std::vector<std::string_view> changed_settings(db::items::row const& before,
                                               db::items::row const& after)
{
    std::vector<std::string_view> names;
    if (before.name != after.name)
        names.emplace_back("name");
    if (before.on_sale != after.on_sale)
        names.emplace_back("on_sale");
    if (before.max_per_customer != after.max_per_customer)
        names.emplace_back("max_per_customer");
    if (before.low_stock_at != after.low_stock_at)
        names.emplace_back("low_stock_at");
    return names;
}

std::vector<std::string> skus_of(std::vector<import_row> const& rows)
{
    std::vector<std::string> skus;
    for (auto const& row : rows)
        skus.push_back(row.at.sku.str());
    std::ranges::sort(skus);
    skus.erase(std::unique(skus.begin(), skus.end()), skus.end());
    return skus;
}

// What a file makes of the items and levels there are. It knows no database, so that a preview
// tells what an import does.
class import_plan {
public:
    struct move {
        level_key at;
        change what;
        std::size_t line = 0;
    };

    // `withdrawn` are paused because the import that made them was undone.
    import_plan(import_command const& cmd, std::vector<import_row> const& rows,
                std::vector<db::items::row> present, std::vector<std::string> const& withdrawn)
        : cmd_(cmd), rows_(rows)
    {
        report_ = {
            .id = {}, .mode = cmd.mode, .run = cmd.run, .rows = rows.size(), .differences = {}};
        for (auto& item : present)
            present_.emplace(item.sku, std::move(item));
        items_ = present_;
        for (auto const& name : withdrawn)
            items_.at(name).on_sale = true; // as a new one is, unless the file says otherwise
        for (auto const& row : rows_) {
            auto const& name = row.at.sku.str();
            if (present_.contains(name)) {
                items_[name] = merged_settings(items_[name], row);
            } else if (cmd_.mode == import_mode::set && !items_.contains(name)) {
                items_[name] = merged_settings({.sku = name}, row);
                fresh_.push_back(items_[name]);
            }
        }
    }

    [[nodiscard]] std::vector<db::items::row> const& fresh_items() const { return fresh_; }

    [[nodiscard]] std::vector<db::items::row> changed_items() const
    {
        std::vector<db::items::row> rows;
        for (auto const& [name, item] : items_)
            if (auto const old = present_.find(name); old != present_.end() && old->second != item)
                rows.push_back(item);
        return rows;
    }

    // Of items that are made or changed, what they were and what they become. One that is made was
    // not on sale before, and is not again once the import is undone.
    [[nodiscard]] std::vector<db::imports::changed_item> item_changes() const
    {
        std::vector<db::imports::changed_item> changes;
        for (auto const& [name, item] : items_) {
            auto const old = present_.find(name);
            if (old == present_.end()) {
                changes.push_back({item, item});
                changes.back().before.on_sale = false;
            } else if (old->second != item) {
                changes.push_back({old->second, item});
            }
        }
        return changes;
    }

    [[nodiscard]] std::vector<level_key> levels() const
    {
        std::vector<level_key> keys;
        for (auto const& row : rows_)
            if (items_.contains(row.at.sku.str()))
                keys.push_back(row.at);
        return keys;
    }

    // Judges every row by its level, which `level_of(level_key)` knows.
    template <class LevelOf>
    void judge(LevelOf const& level_of)
    {
        for (auto const& row : rows_) {
            if (items_.contains(row.at.sku.str()))
                judge(row, level_of(row.at));
            else
                refuse(row, "sku", slug(errc::unknown_sku),
                       "there is no such item; mode set creates items");
        }
    }

    // What would move once every row was judged, and the levels that promise too much for it.
    [[nodiscard]] std::vector<move> const& moves() const { return moves_; }
    [[nodiscard]] std::vector<level_key> const& short_levels() const { return short_levels_; }

    // Tells it once.
    [[nodiscard]] result<import_report> report()
    {
        if (!faults_.is_empty())
            return std::move(faults_).to_refusal();
        return std::move(report_);
    }

private:
    void refuse(import_row const& row, std::string_view column, std::string_view code,
                std::string detail)
    {
        faults_.add({row.line, std::string(column), std::move(detail), code}, row.at.sku.str());
    }

    void judge(import_row const& row, stock_level const& level)
    {
        auto const before = level.on_hand;
        auto const after = cmd_.mode == import_mode::add ? before + row.quantity : row.quantity;
        bool const is_new = !present_.contains(row.at.sku.str());
        if (after > level_max)
            return refuse(row, "quantity", slug(errc::quantity_overflow),
                          "the level would pass the largest number");
        if (after < level.reserved && after < before && cmd_.mode != import_mode::count) {
            short_levels_.push_back(row.at);
            return refuse(row, "quantity", slug(errc::would_be_short),
                          fmt::format("{} units are reserved", level.reserved));
        }
        note(row, level, after, is_new);
        if (after != before)
            moves_.push_back({row.at,
                              {.kind = kind(is_new),
                               .on_hand_delta = after - before,
                               .by = {.actor = cmd_.actor, .reason = reason()},
                               .shortage = db::levels::shortage::allowed},
                              row.line});
    }

    void note(import_row const& row, stock_level const& level, units after, bool is_new)
    {
        auto const& name = row.at.sku.str();
        bool const is_changed =
            level.on_hand != after || is_new || items_.at(name) != present_.at(name);
        report_.created += is_new ? 1 : 0;
        report_.changed += is_changed && !is_new ? 1 : 0;
        report_.unchanged += is_changed ? 0 : 1;
        if (is_changed && report_.differences.size() < differences_max)
            report_.differences.push_back(
                {.row = row.line,
                 .at = row.at,
                 .on_hand_before = level.on_hand,
                 .on_hand_after = after,
                 .short_after = std::max<units>(0, level.reserved - after),
                 .is_new = is_new,
                 .settings = is_new ? std::vector<std::string_view>()
                                    : changed_settings(present_.at(name), items_.at(name))});
    }

    movement_kind kind(bool is_new) const
    {
        if (is_new || cmd_.mode == import_mode::add)
            return movement_kind::received;
        return cmd_.mode == import_mode::count ? movement_kind::counted : movement_kind::adjusted;
    }

    std::string reason() const
    {
        switch (cmd_.mode) {
        case import_mode::set: return "correction";
        case import_mode::add: return "received";
        case import_mode::count: break;
        }
        return "count";
    }

    import_command const& cmd_;
    std::vector<import_row> const& rows_;
    import_report report_;
    fault_list faults_;
    std::map<std::string, db::items::row> present_; // as the database has them
    std::map<std::string, db::items::row> items_;   // as the import leaves them
    std::vector<db::items::row> fresh_;
    std::vector<move> moves_;
    std::vector<level_key> short_levels_;
};

// A finished import is kept by its numbers; the list of differences is told once. Whether it was
// undone since is looked up, as whoever sends it again wants to know what there is.
std::string kept_text(import_report const& r)
{
    return fmt::format("{} {} {} {} {}", r.rows, r.created, r.changed, r.unchanged,
                       r.id.value().str());
}

import_report report_of(db::transaction& tx, import_command const& cmd, std::string const& kept)
{
    import_report r{.id = {}, .mode = cmd.mode, .run = cmd.run, .differences = {}};
    auto const* at = kept.data();
    auto const* const end = at + kept.size();
    for (auto* const number : {&r.rows, &r.created, &r.changed, &r.unchanged}) {
        at = std::from_chars(at, end, *number).ptr;
        at += at < end ? 1 : 0;
    }
    r.id = uuid::parse(std::string_view(at, static_cast<std::size_t>(end - at)));
    if (auto const made = r.id ? db::imports::find(tx, *r.id) : std::nullopt)
        r.undone_at = made->undone_at;
    return r;
}

void note_import(db::transaction& tx, import_command const& cmd, import_report const& report)
{
    json_writer detail;
    detail.begin_object();
    detail.member("id", report.id);
    detail.member("mode", to_string(report.mode));
    detail.member("rows", report.rows);
    detail.member("created", report.created);
    detail.member("changed", report.changed);
    detail.member("unchanged", report.unchanged);
    detail.end_object();
    trail::note(tx, {cmd.actor, cmd.request_id}, {"import.applied", "catalogue", detail.take()});
}

// Rows that say what a level is and change nothing. Those that do are kept with the import.
void state_unchanged(db::transaction& tx, import_report const& report, import_plan const& plan,
                     ledger const& book)
{
    if (report.mode == import_mode::add)
        return;
    std::set<level_key> moved;
    for (auto const& each : plan.moves())
        moved.insert(each.at);
    std::vector<db::levels::stated> stated;
    for (auto const& at : plan.levels())
        if (!moved.contains(at))
            stated.push_back({at, book.level(at).version});
    db::levels::state(tx, stated, report.id);
}

// Keeps what it takes to undo it.
void keep(db::transaction& tx, import_command const& cmd, import_report const& report,
          import_plan const& plan, ledger const& book)
{
    std::vector<db::imports::moved_level> moved;
    moved.reserve(plan.moves().size());
    for (auto const& each : plan.moves())
        moved.push_back({each.at, static_cast<std::int64_t>(each.line), each.what.on_hand_delta,
                         book.level(each.at).version});
    db::imports::row const made{.id = report.id.value(),
                                .mode = std::string(to_string(report.mode)),
                                .actor = cmd.actor,
                                .at = {},
                                .rows = static_cast<std::int64_t>(report.rows),
                                .created = static_cast<std::int64_t>(report.created),
                                .changed = static_cast<std::int64_t>(report.changed),
                                .unchanged = static_cast<std::int64_t>(report.unchanged),
                                .undone_by = {},
                                .undone_at = {}};
    db::imports::write(tx, made, moved, plan.item_changes());
}

// Levels of these items by what is promised and still stands: holds that are due do not count.
class standing_levels {
public:
    standing_levels(db::transaction& tx, std::vector<std::string> const& skus)
    {
        for (auto& found : db::levels::of_items(tx, skus))
            levels_.emplace(std::move(found.at), found.level);
    }

    [[nodiscard]] stock_level operator()(level_key const& at) const
    {
        auto const found = levels_.find(at);
        return found == levels_.end() ? stock_level{} : found->second;
    }

private:
    std::map<level_key, stock_level> levels_;
};

// Only what makes items brings them back: a delivery or a stocktake says nothing of selling.
std::vector<std::string> withdrawn_among(db::transaction& tx, import_command const& cmd,
                                         std::vector<std::string> const& skus)
{
    return cmd.mode == import_mode::set ? db::imports::withdrawn(tx, skus)
                                        : std::vector<std::string>();
}

// Items are locked and made in the order of their SKUs, then their levels in the global order.
result<outcome<import_report>> import_once(db::transaction& tx, import_command const& cmd,
                                           std::vector<import_row> const& rows, aftermath& after)
{
    tx.allow(patience);
    HOLDFAST_TRY(auto const kept, idempotency::begin(tx, cmd.key));
    if (kept)
        return outcome<import_report>{report_of(tx, cmd, *kept), true};
    auto const skus = skus_of(rows);
    auto present = db::items::lock(tx, skus);
    import_plan plan(cmd, rows, std::move(present), withdrawn_among(tx, cmd, skus));
    auto const& fresh = plan.fresh_items();
    if (static_cast<std::size_t>(db::items::insert(tx, fresh)) != fresh.size())
        throw db::error(db::fault::conflict, "", "items.insert"); // made by another just now
    auto const levels = plan.levels();
    db::levels::create(tx, levels);
    ledger book(tx);
    book.lock(levels);
    if (cmd.mode == import_mode::count)
        plan.judge(standing_levels(tx, skus)); // a count goes through, and tells what is short
    else
        plan.judge([&](level_key const& at) -> stock_level const& { return book.level(at); });
    after.short_levels = plan.short_levels();
    auto const id = uuid::make_v7();
    for (auto each : plan.moves()) {
        each.what.by.reference = import_reference(id);
        book.move(each.at, each.what);
    }
    HOLDFAST_TRY(auto report, plan.report());
    report.id = id;
    db::items::update(tx, plan.changed_items());
    book.write();
    keep(tx, cmd, report, plan, book);
    state_unchanged(tx, report, plan, book);
    note_import(tx, cmd, report);
    idempotency::finish(tx, cmd.key, kept_text(report));
    after.moved = book.movements();
    return outcome<import_report>{std::move(report), false};
}

// Looks at everything at one instant, without the holds whose time has passed, and locks nothing:
// nobody who buys waits for a preview.
result<outcome<import_report>> preview(db::transaction& tx, import_command const& cmd,
                                       std::vector<import_row> const& rows)
{
    tx.allow(patience);
    HOLDFAST_TRY(auto const kept, idempotency::find(tx, cmd.key));
    if (kept)
        return outcome<import_report>{report_of(tx, cmd, *kept), true};
    auto const skus = skus_of(rows);
    import_plan plan(cmd, rows, db::items::by_skus(tx, skus), withdrawn_among(tx, cmd, skus));
    plan.judge(standing_levels(tx, skus));
    HOLDFAST_TRY(auto report, plan.report());
    return outcome<import_report>{std::move(report), false};
}

} // namespace

std::string import_reference(uuid const& id)
{
    return "import-" + id.str();
}

std::string_view to_string(import_mode mode) noexcept
{
    return mode_names[static_cast<std::size_t>(mode)];
}

std::optional<import_mode> parse_import_mode(std::string_view text) noexcept
{
    auto const found = std::ranges::find(mode_names, text);
    if (found == mode_names.end())
        return std::nullopt;
    return static_cast<import_mode>(found - mode_names.begin());
}

result<outcome<import_report>> imports::run(db::link& link, import_command const& cmd) const
{
    HOLDFAST_TRY(auto const rows, read_import_file(cmd.csv));
    if (cmd.run == import_run::preview)
        return db::read(link, db::scope::snapshot,
                        [&](db::transaction& tx) { return preview(tx, cmd, rows); });
    return reclaiming(link, metrics_, [&](db::transaction& tx, aftermath& after) {
        return import_once(tx, cmd, rows, after);
    });
}

} // namespace holdfast

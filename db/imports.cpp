// SPDX-License-Identifier: Apache-2.0
#include "db/imports.hpp"

#include "sql/imports.hpp"

#include <utility>

namespace holdfast::db::imports {

namespace {

constexpr std::int64_t kept_seconds = std::chrono::seconds(kept_for).count();

// Somebody may have begun to undo it just before it was too old.
constexpr std::int64_t removed_after_seconds = kept_seconds + 3600;

struct level_row {
    std::string sku;
    std::string location;
    std::int64_t line = 0;
    std::int64_t on_hand_delta = 0;
    std::optional<std::int64_t> version;
};

std::vector<moved_level> to_moved(std::vector<level_row> rows)
{
    std::vector<moved_level> all;
    all.reserve(rows.size());
    for (auto& r : rows)
        all.push_back({{sku(std::move(r.sku)), location(std::move(r.location))},
                       r.line,
                       r.on_hand_delta,
                       r.version});
    return all;
}

void write_levels(transaction& tx, uuid const& id, std::span<moved_level const> moved)
{
    std::vector<std::string> skus;
    std::vector<std::string> locations;
    std::vector<std::int64_t> lines;
    std::vector<units> deltas;
    std::vector<std::optional<std::int64_t>> versions;
    for (auto const& each : moved) {
        skus.push_back(each.at.sku.str());
        locations.push_back(each.at.location.str());
        lines.push_back(each.line);
        deltas.push_back(each.on_hand_delta);
        versions.push_back(each.version);
    }
    tx.exec(sql::imports::write_levels, id, skus, locations, lines, deltas, versions);
}

// The settings an import can write, a column for each.
struct setting_columns {
    void add(items::row const& item)
    {
        names.push_back(item.name);
        on_sales.push_back(to_text(item.on_sale));
        maxima.push_back(item.max_per_customer);
        lows.push_back(item.low_stock_at);
    }

    std::vector<std::optional<std::string>> names;
    std::vector<std::string> on_sales;
    std::vector<std::optional<units>> maxima, lows;
};

void write_items(transaction& tx, uuid const& id, std::span<changed_item const> changed)
{
    std::vector<std::string> skus;
    setting_columns before;
    setting_columns after;
    for (auto const& each : changed) {
        skus.push_back(each.after.sku);
        before.add(each.before);
        after.add(each.after);
    }
    tx.exec(sql::imports::write_items, id, skus, before.names, after.names, before.on_sales,
            after.on_sales, before.maxima, after.maxima, before.lows, after.lows);
}

} // namespace

void write(transaction& tx, row const& import, std::span<moved_level const> moved,
           std::span<changed_item const> changed)
{
    tx.exec(sql::imports::write, import.id, import.mode, import.actor, import.rows, import.created,
            import.changed, import.unchanged);
    if (!moved.empty())
        write_levels(tx, import.id, moved);
    if (!changed.empty())
        write_items(tx, import.id, changed);
}

std::optional<row> find(transaction& tx, uuid const& id)
{
    return tx.maybe<row>(sql::imports::find, id, kept_seconds);
}

std::optional<bool> lock(transaction& tx, uuid const& id)
{
    return tx.maybe<bool>(sql::imports::lock, id, kept_seconds);
}

std::vector<row> list(transaction& tx, std::optional<uuid> const& before, std::size_t limit)
{
    return tx.many<row>(sql::imports::list, before.value_or(uuid::last()), kept_seconds, limit);
}

std::vector<moved_level> levels(transaction& tx, uuid const& id)
{
    return to_moved(tx.many<level_row>(sql::imports::levels, id));
}

void supersede(transaction& tx, uuid const& id)
{
    tx.exec(sql::imports::supersede, id);
}

void hand_on(transaction& tx, uuid const& id)
{
    tx.exec(sql::imports::hand_on, id);
}

std::vector<moved_level> standing(transaction& tx, uuid const& id)
{
    return to_moved(tx.many<level_row>(sql::imports::standing, id));
}

std::vector<moved_level> list_superseded(transaction& tx, uuid const& id, std::size_t limit)
{
    return to_moved(tx.many<level_row>(sql::imports::superseded, id, limit));
}

void lock_items(transaction& tx, uuid const& id)
{
    (void)tx.one<std::int64_t>(sql::imports::lock_items, id);
}

void put_settings_back(transaction& tx, uuid const& id)
{
    tx.exec(sql::imports::keep_back, id);
    tx.exec(sql::imports::put_back, id);
}

std::vector<std::string> withdrawn(transaction& tx, std::vector<std::string> const& skus)
{
    return tx.many<std::string>(sql::imports::withdrawn, skus);
}

void close(transaction& tx, uuid const& id, std::string const& actor)
{
    tx.exec(sql::imports::close, id, actor);
}

std::vector<kept_back> list_kept_back(transaction& tx, uuid const& id, std::size_t limit)
{
    return tx.many<kept_back>(sql::imports::kept_back, id, limit);
}

std::size_t forget(transaction& tx, std::size_t rows_max)
{
    auto const removed = tx.exec(sql::imports::forget_levels, removed_after_seconds, rows_max) +
                         tx.exec(sql::imports::forget_items, removed_after_seconds, rows_max) +
                         tx.exec(sql::imports::forget, removed_after_seconds);
    return static_cast<std::size_t>(removed);
}

} // namespace holdfast::db::imports

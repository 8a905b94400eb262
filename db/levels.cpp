// SPDX-License-Identifier: Apache-2.0
#include "db/levels.hpp"

#include "sql/levels.hpp"

#include <algorithm>
#include <iterator>

namespace holdfast::db::levels {

namespace {

struct level_row {
    std::string sku;
    std::string location;
    std::int64_t on_hand = 0;
    std::int64_t reserved = 0;
    std::int64_t version = 0;
};

struct free_row {
    std::string sku;
    std::string location;
    std::int64_t available = 0;
    std::int64_t due = 0;
};

// Rows of one statement at most. What has no index to go by is compared row by row, so a
// statement's work grows with the square of this.
constexpr std::size_t rows_max = 100;

std::vector<locked> to_levels(std::vector<level_row> rows)
{
    std::vector<locked> all;
    all.reserve(rows.size());
    for (auto& r : rows)
        all.push_back({{sku(std::move(r.sku)), location(std::move(r.location))},
                       {r.on_hand, r.reserved, r.version}});
    return all;
}

} // namespace

key_columns::key_columns(std::span<level_key const> keys)
{
    skus.reserve(keys.size());
    locations.reserve(keys.size());
    for (auto const& key : keys) {
        skus.push_back(key.sku.str());
        locations.push_back(key.location.str());
    }
}

std::vector<locked> lock(transaction& tx, std::span<level_key const> keys)
{
    std::vector<level_key> sorted(keys.begin(), keys.end());
    std::ranges::sort(sorted);
    std::vector<locked> all;
    for (std::size_t first = 0; first < sorted.size(); first += rows_max) {
        key_columns const columns(std::span<level_key const>(sorted).subspan(
            first, std::min(rows_max, sorted.size() - first)));
        auto some =
            to_levels(tx.many<level_row>(sql::levels::lock, columns.skus, columns.locations));
        std::ranges::move(some, std::back_inserter(all));
    }
    return all;
}

void write(transaction& tx, std::span<change const> changes)
{
    if (changes.size() > rows_max) {
        write(tx, changes.first(rows_max));
        return write(tx, changes.subspan(rows_max));
    }
    std::vector<std::string> skus;
    std::vector<std::string> locations;
    std::vector<units> on_hands;
    std::vector<units> reserveds;
    std::vector<std::int64_t> versions;
    std::vector<std::string> may_be_short;
    for (auto const& c : changes) {
        skus.push_back(c.at.sku.str());
        locations.push_back(c.at.location.str());
        on_hands.push_back(c.level.on_hand);
        reserveds.push_back(c.level.reserved);
        versions.push_back(c.level.version);
        may_be_short.push_back(to_text(c.shortage == shortage::allowed));
    }
    auto const written =
        tx.exec(sql::levels::write, skus, locations, on_hands, reserveds, versions, may_be_short);
    if (written != static_cast<std::int64_t>(changes.size()))
        throw std::logic_error("a locked level vanished");
}

void create(transaction& tx, std::span<level_key const> keys)
{
    key_columns const columns(keys);
    tx.exec(sql::levels::create, columns.skus, columns.locations);
}

void state(transaction& tx, std::span<stated const> levels, std::optional<uuid> const& by)
{
    if (levels.empty())
        return;
    std::vector<std::string> skus;
    std::vector<std::string> locations;
    std::vector<std::int64_t> versions;
    for (auto const& each : levels) {
        skus.push_back(each.at.sku.str());
        locations.push_back(each.at.location.str());
        versions.push_back(each.version);
    }
    tx.exec(sql::levels::state, skus, locations, versions, by);
}

std::vector<free_units> free(transaction& tx, std::span<level_key const> keys)
{
    key_columns const columns(keys);
    auto rows = tx.many<free_row>(sql::levels::free, columns.skus, columns.locations);
    std::vector<free_units> all;
    all.reserve(rows.size());
    for (auto& r : rows)
        all.push_back(
            {{sku(std::move(r.sku)), location(std::move(r.location))}, r.available, r.due});
    return all;
}

std::vector<locked> of_items(transaction& tx, std::vector<std::string> const& skus)
{
    return to_levels(tx.many<level_row>(sql::levels::of_items, skus));
}

} // namespace holdfast::db::levels

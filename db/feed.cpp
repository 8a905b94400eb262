// SPDX-License-Identifier: Apache-2.0
#include "db/feed.hpp"

#include "sql/feed.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace holdfast::db::feed {

namespace {

// Ids that were not to be seen between others that were.
struct gap {
    std::int64_t first_id = 0;
    std::int64_t last_id = 0;
    std::optional<std::int64_t> horizon; // nothing: that of now
};

struct gap_row {
    std::int64_t first_id = 0;
    std::int64_t last_id = 0;
    std::int64_t horizon = 0;
    bool is_over = false;
};

struct ids {
    std::int64_t first = 0;
    std::int64_t last = 0;
};

struct happening_row {
    std::int64_t place = 0;
    std::int64_t version = 0;
    std::string kind;
    std::int64_t on_hand_delta = 0;
    std::int64_t reserved_delta = 0;
    std::int64_t on_hand = 0;
    std::int64_t reserved = 0;
    std::optional<uuid> reservation_id;
    std::optional<std::string> reference;
    std::optional<std::string> customer;
    timestamp at;
};

struct drift_row {
    std::int64_t id = 0;
    units by = 0;
    std::int64_t version = 0;
    units on_hand = 0;
    units reserved = 0;
    timestamp at;
};

// Adds what is left of `within` once the runs, which are in order, are taken out of it.
void add_rest(std::vector<gap>& gaps, gap within, std::span<ids const> runs)
{
    for (auto const& run : runs) {
        if (run.last < within.first_id || run.first > within.last_id)
            continue;
        if (run.first > within.first_id)
            gaps.push_back({within.first_id, run.first - 1, within.horizon});
        within.first_id = run.last + 1;
    }
    if (within.first_id <= within.last_id)
        gaps.push_back(within);
}

void write_gaps(transaction& tx, std::span<gap const> gaps)
{
    std::vector<std::int64_t> firsts, lasts;
    std::vector<std::optional<std::int64_t>> horizons;
    for (auto const& g : gaps) {
        firsts.push_back(g.first_id);
        lasts.push_back(g.last_id);
        horizons.push_back(g.horizon);
    }
    tx.exec(sql::feed::drop_gaps);
    tx.exec(sql::feed::keep_gaps, firsts, lasts, horizons);
}

// The runs as three columns.
struct columns {
    explicit columns(std::span<run const> all)
    {
        for (auto const& r : all) {
            positions.push_back(r.position);
            firsts.push_back(r.first_id);
            lasts.push_back(r.last_id);
        }
    }

    std::vector<std::int64_t> positions, firsts, lasts;
};

level_key key_of(announcement const& a)
{
    return {sku(a.sku), location(a.location)};
}

// Adds the drifts among these, each in its place.
void add_drifts(transaction& tx, std::span<announcement const> all, std::vector<happening>& found)
{
    std::map<std::int64_t, std::size_t> places;
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (auto const id = all[i].drift_id) {
            places[*id] = i;
            ids.push_back(*id);
        }
    if (ids.empty())
        return;
    for (auto const& r : tx.many<drift_row>(sql::feed::drifted, ids)) {
        auto const place = places.at(r.id);
        found.push_back(
            {.place = place,
             .movement = {.at = key_of(all[place]), .after = {r.on_hand, r.reserved, r.version}},
             .reference = {},
             .customer = {},
             .at = r.at,
             .drift = r.by});
    }
    std::ranges::stable_sort(found, {}, &happening::place);
}

} // namespace

head read_head(transaction& tx)
{
    return tx.one<head>(sql::feed::head);
}

std::optional<std::int64_t> tell_committed(transaction& tx, std::size_t ids_max)
{
    if (!tx.one<bool>(sql::feed::try_lock))
        return std::nullopt;
    auto const [position, last_id] = read_head(tx);
    auto const gaps = tx.many<gap_row>(sql::feed::gaps);
    auto const found = tx.many<ids>(sql::feed::committed, last_id, ids_max);
    bool const is_any_over = std::ranges::any_of(gaps, &gap_row::is_over);
    if (found.empty() && !is_any_over)
        return 0;

    std::vector<run> told;
    std::int64_t count = 0;
    for (auto const& [first, last] : found) {
        told.push_back({position + static_cast<std::int64_t>(told.size()) + 1, first, last});
        count += last - first + 1;
    }
    auto const highest = found.empty() ? last_id : std::max(last_id, found.back().last);
    std::vector<gap> left;
    for (auto const& g : gaps)
        if (!g.is_over)
            add_rest(left, {g.first_id, g.last_id, g.horizon}, found);
    add_rest(left, {last_id + 1, highest, std::nullopt}, found);
    columns const c(told);
    tx.exec(sql::feed::tell, c.positions, c.firsts, c.lasts);
    tx.exec(sql::feed::move_head, position + static_cast<std::int64_t>(told.size()), highest);
    if (!gaps.empty() || !left.empty())
        write_gaps(tx, left);
    return count;
}

std::vector<run> runs(transaction& tx, std::int64_t position, std::size_t limit)
{
    return tx.many<run>(sql::feed::runs, position, limit);
}

std::vector<announcement> announced(transaction& tx, std::span<run const> within,
                                    std::optional<std::string> const& sku, std::size_t limit)
{
    columns const c(within);
    return tx.many<announcement>(sql::feed::announced, c.positions, c.firsts, c.lasts, sku, limit);
}

std::vector<happening> happened(transaction& tx, std::span<announcement const> all)
{
    std::vector<std::string> skus, locations;
    std::vector<std::int64_t> firsts, lasts;
    for (auto const& a : all) {
        skus.push_back(a.sku);
        locations.push_back(a.location);
        firsts.push_back(a.first_version);
        // A drift is told with the version of a movement that was told before.
        lasts.push_back(a.drift_id ? a.first_version - 1 : a.last_version);
    }
    std::vector<happening> found;
    for (auto& r : tx.many<happening_row>(sql::feed::happened, skus, locations, firsts, lasts)) {
        auto const place = static_cast<std::size_t>(r.place);
        found.push_back({.place = place,
                         .movement = {.at = key_of(all[place]),
                                      .kind = movement_kind_of(r.kind),
                                      .on_hand_delta = r.on_hand_delta,
                                      .reserved_delta = r.reserved_delta,
                                      .after = {r.on_hand, r.reserved, r.version},
                                      .reservation_id = r.reservation_id},
                         .reference = std::move(r.reference),
                         .customer = std::move(r.customer),
                         .at = r.at,
                         .drift = {}});
    }
    add_drifts(tx, all, found);
    return found;
}

std::optional<std::int64_t> since(transaction& tx, timestamp when)
{
    return tx.maybe<std::int64_t>(sql::feed::since, when);
}

std::size_t forget(transaction& tx, std::chrono::seconds keep, std::size_t runs_max,
                   std::int64_t ids_max)
{
    auto const outdated = tx.many<run>(sql::feed::outdated, keep.count(), runs_max + 1);
    std::vector<run> gone;
    for (auto const& r : outdated) {
        if (ids_max <= 0)
            break;
        ids_max -= r.last_id - r.first_id + 1;
        gone.push_back(r);
    }
    if (gone.empty())
        return 0;
    columns const c(gone);
    tx.exec(sql::feed::forget, c.positions, c.firsts, c.lasts);
    return gone.size();
}

} // namespace holdfast::db::feed

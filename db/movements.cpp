// SPDX-License-Identifier: Apache-2.0
#include "db/movements.hpp"

#include "db/levels.hpp"
#include "sql/movements.hpp"

#include <limits>
#include <stdexcept>

namespace holdfast::db::movements {

namespace {

struct entry_row {
    std::int64_t id = 0;
    std::string location;
    std::int64_t version = 0;
    std::string kind;
    std::int64_t on_hand_delta = 0;
    std::int64_t reserved_delta = 0;
    std::int64_t on_hand = 0;
    std::int64_t reserved = 0;
    std::optional<uuid> reservation_id;
    std::string actor;
    std::optional<std::string> reason;
    std::optional<std::string> note;
    std::optional<std::string> reference;
    timestamp at;
};

struct sum_row {
    std::string location;
    std::string kind;
    std::optional<std::string> reason;
    std::int64_t movements = 0;
    std::int64_t on_hand_delta = 0;
};

struct earlier_row {
    std::string location;
    std::int64_t version = 0;
    std::int64_t on_hand = 0;
};

entry to_entry(sku const& of, entry_row r)
{
    return {.id = r.id,
            .movement = {.at = {of, location(std::move(r.location))},
                         .kind = movement_kind_of(r.kind),
                         .on_hand_delta = r.on_hand_delta,
                         .reserved_delta = r.reserved_delta,
                         .after = {r.on_hand, r.reserved, r.version},
                         .reservation_id = r.reservation_id,
                         .by = {std::move(r.actor), std::move(r.reason), std::move(r.note),
                                std::move(r.reference)}},
            .at = r.at};
}

// The movements turned into columns, one array for each.
struct columns {
    explicit columns(std::span<movement const> movements)
    {
        for (auto const& m : movements) {
            skus.push_back(m.at.sku.str());
            locations.push_back(m.at.location.str());
            versions.push_back(m.after.version);
            kinds.emplace_back(to_string(m.kind));
            on_hand_deltas.push_back(m.on_hand_delta);
            reserved_deltas.push_back(m.reserved_delta);
            on_hands.push_back(m.after.on_hand);
            reserveds.push_back(m.after.reserved);
            reservation_ids.push_back(m.reservation_id);
            actors.push_back(m.by.actor);
            reasons.push_back(m.by.reason);
            notes.push_back(m.by.note);
            references.push_back(m.by.reference);
        }
    }

    std::vector<std::string> skus, locations, kinds, actors;
    std::vector<std::int64_t> versions, on_hand_deltas, reserved_deltas, on_hands, reserveds;
    std::vector<std::optional<uuid>> reservation_ids;
    std::vector<std::optional<std::string>> reasons, notes, references;
};

} // namespace

void append(transaction& tx, std::span<movement const> movements)
{
    columns const c(movements);
    tx.later(sql::movements::append, c.skus, c.locations, c.versions, c.kinds, c.on_hand_deltas,
             c.reserved_deltas, c.on_hands, c.reserveds, c.reservation_ids, c.actors, c.reasons,
             c.notes, c.references);
}

entry of_version(transaction& tx, level_key const& at, std::int64_t version)
{
    return to_entry(at.sku,
                    tx.one<entry_row>(sql::movements::of_version, at.sku, at.location, version));
}

std::vector<entry> of_versions(transaction& tx, std::span<level_key const> keys,
                               std::vector<std::int64_t> const& versions)
{
    levels::key_columns const columns(keys);
    auto rows =
        tx.many<entry_row>(sql::movements::of_versions, columns.skus, columns.locations, versions);
    if (rows.size() != keys.size())
        throw std::logic_error("a line of the ledger vanished");
    std::vector<entry> entries;
    entries.reserve(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
        entries.push_back(to_entry(keys[i].sku, std::move(rows[i])));
    return entries;
}

std::vector<entry> newest(transaction& tx, sku const& of, std::optional<std::int64_t> before,
                          std::size_t limit)
{
    auto rows =
        tx.many<entry_row>(sql::movements::newest, of,
                           before.value_or(std::numeric_limits<std::int64_t>::max()), limit);
    std::vector<entry> entries;
    entries.reserve(rows.size());
    for (auto& r : rows)
        entries.push_back(to_entry(of, std::move(r)));
    return entries;
}

std::optional<entry> by_id(transaction& tx, sku const& of, std::int64_t id)
{
    auto row = tx.maybe<entry_row>(sql::movements::by_id, of, id);
    if (!row)
        return std::nullopt;
    return to_entry(of, std::move(*row));
}

sums sums_of(transaction& tx, sku const& of, std::vector<std::string> const& locations,
             std::size_t per_level_max)
{
    sums found;
    for (auto& r : tx.many<sum_row>(sql::movements::sums, of, locations, per_level_max))
        found.all.push_back({location(std::move(r.location)), movement_kind_of(r.kind),
                             std::move(r.reason), r.movements, r.on_hand_delta});
    for (auto& r :
         tx.many<earlier_row>(sql::movements::brought_forward, of, locations, per_level_max))
        found.brought_forward.push_back({location(std::move(r.location)), r.version, r.on_hand});
    return found;
}

} // namespace holdfast::db::movements

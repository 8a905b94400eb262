// SPDX-License-Identifier: Apache-2.0
#include "db/drift.hpp"

#include "sql/drift.hpp"

#include <limits>

namespace holdfast::db::drift {

namespace {

// The findings turned into columns, one array for each.
struct columns {
    explicit columns(std::span<finding const> all)
    {
        for (auto const& f : all) {
            skus.push_back(f.sku);
            locations.push_back(f.location);
            kinds.push_back(f.kind);
            expecteds.push_back(f.expected);
            founds.push_back(f.found);
            causes.push_back(f.cause);
            repaireds.push_back(f.is_repaired);
            epochs.push_back(f.epoch);
            versions.push_back(f.level.version);
            on_hands.push_back(f.level.on_hand);
            reserveds.push_back(f.level.reserved);
        }
    }

    std::vector<std::string> skus, locations, kinds, causes;
    std::vector<std::int64_t> expecteds, founds, epochs, versions, on_hands, reserveds;
    std::vector<bool> repaireds;
};

} // namespace

void write(transaction& tx, std::span<finding const> all)
{
    columns const c(all);
    tx.exec(sql::drift::write, c.skus, c.locations, c.kinds, c.expecteds, c.founds, c.causes,
            c.repaireds, c.epochs, c.versions, c.on_hands, c.reserveds);
}

std::vector<entry> newest(transaction& tx, std::optional<std::string> const& sku,
                          std::optional<std::int64_t> before, std::size_t limit)
{
    auto const end = before.value_or(std::numeric_limits<std::int64_t>::max());
    if (sku)
        return tx.many<entry>(sql::drift::newest_of, *sku, end, limit);
    return tx.many<entry>(sql::drift::newest, end, limit);
}

std::vector<stop> last_stops(transaction& tx, std::vector<std::string> const& skus)
{
    return tx.many<stop>(sql::drift::last_stops, skus);
}

std::size_t forget(transaction& tx, std::chrono::seconds keep, std::size_t limit)
{
    return static_cast<std::size_t>(tx.exec(sql::drift::forget, keep.count(), limit));
}

} // namespace holdfast::db::drift

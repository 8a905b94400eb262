// SPDX-License-Identifier: Apache-2.0
// Locks the rows in order, looks, then writes. Simple and fair; two round trips however many
// entries.
#include "sql/row_lock.hpp"

#include "db/levels.hpp"
#include "strategies/admission.hpp"
#include "strategies/strategy.hpp"

namespace holdfast {

namespace {

class row_lock final : public strategy {
public:
    std::vector<taken> take(db::transaction& tx,
                            std::span<units_wanted const> wanted) const override
    {
        auto levels = lock(tx, wanted);
        auto answers = admit_in_order(levels, wanted);
        write(tx, sums_of(wanted, answers));
        return answers;
    }

private:
    static level_map lock(db::transaction& tx, std::span<units_wanted const> wanted)
    {
        std::vector<level_key> keys;
        for (auto const& entry : wanted)
            keys.push_back(entry.at);
        level_map levels;
        for (auto& found : db::levels::lock(tx, keys))
            levels[std::move(found.at)] = found.level;
        return levels;
    }

    static void write(db::transaction& tx, std::vector<level_sum> const& sums)
    {
        if (sums.empty())
            return;
        std::vector<std::string> skus;
        std::vector<std::string> locations;
        std::vector<units> quantities;
        std::vector<std::int64_t> entries;
        for (auto const& sum : sums) {
            skus.push_back(sum.at.sku.str());
            locations.push_back(sum.at.location.str());
            quantities.push_back(sum.quantity);
            entries.push_back(sum.entries);
        }
        tx.exec(sql::row_lock::take, skus, locations, quantities, entries);
    }
};

} // namespace

std::unique_ptr<strategy> make_row_lock(conflict_listener const&)
{
    return std::make_unique<row_lock>();
}

} // namespace holdfast

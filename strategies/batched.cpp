// SPDX-License-Identifier: Apache-2.0
// Adds up what is wanted of each level. All of one level is taken with one guarded statement; when
// that does not fit, or several levels are wanted, the rows are locked in order and the entries
// admitted, first come first served, and then written with one statement. One row change for
// however many takers is what lifts the ceiling of a hot row, whose lock lasts until the WAL is
// flushed.
#include "sql/batched.hpp"

#include "strategies/admission.hpp"
#include "strategies/strategy.hpp"

namespace holdfast {

namespace {

struct level_row {
    std::string sku;
    std::string location;
    std::int64_t on_hand = 0;
    std::int64_t reserved = 0;
    std::int64_t version = 0;
};

struct sum_columns {
    explicit sum_columns(std::span<level_sum const> sums)
    {
        for (auto const& sum : sums) {
            skus.push_back(sum.at.sku.str());
            locations.push_back(sum.at.location.str());
            quantities.push_back(sum.quantity);
            entries.push_back(sum.entries);
        }
    }

    std::vector<std::string> skus;
    std::vector<std::string> locations;
    std::vector<units> quantities;
    std::vector<std::int64_t> entries;
};

// What all entries come to, by level.
std::vector<level_sum> wanted_sums(std::span<units_wanted const> wanted)
{
    std::vector<level_sum> sums;
    for (auto const& entry : wanted) {
        if (sums.empty() || sums.back().at != entry.at)
            sums.push_back({entry.at});
        sums.back().quantity += entry.quantity;
        ++sums.back().entries;
    }
    return sums;
}

class batched final : public strategy {
public:
    std::vector<taken> take(db::transaction& tx,
                            std::span<units_wanted const> wanted) const override
    {
        if (wanted.empty())
            return {};
        auto const sums = wanted_sums(wanted);
        if (sums.size() == 1)
            if (auto levels = take_from_one(tx, sums.front()))
                return admit_in_order(*levels, wanted);
        auto levels = lock(tx, sums);
        auto answers = admit_in_order(levels, wanted);
        admit(tx, sums_of(wanted, answers));
        return answers;
    }

private:
    // The level as it was before everything wanted of it was taken; nothing when that did not fit.
    static std::optional<level_map> take_from_one(db::transaction& tx, level_sum const& sum)
    {
        auto after = tx.maybe<stock_level>(sql::batched::take_from_one, sum.at.sku, sum.at.location,
                                           sum.quantity, sum.entries);
        if (!after)
            return std::nullopt;
        after->reserved -= sum.quantity;
        after->version -= sum.entries;
        return level_map{{sum.at, *after}};
    }

    static level_map lock(db::transaction& tx, std::span<level_sum const> sums)
    {
        sum_columns const columns(sums);
        level_map levels;
        for (auto& r : tx.many<level_row>(sql::batched::lock, columns.skus, columns.locations))
            levels[{sku(std::move(r.sku)), location(std::move(r.location))}] = {
                r.on_hand, r.reserved, r.version};
        return levels;
    }

    static void admit(db::transaction& tx, std::span<level_sum const> sums)
    {
        if (sums.empty())
            return;
        sum_columns const columns(sums);
        tx.exec(sql::batched::admit, columns.skus, columns.locations, columns.quantities,
                columns.entries);
    }
};

} // namespace

std::unique_ptr<strategy> make_batched(conflict_listener const&)
{
    return std::make_unique<batched>();
}

} // namespace holdfast

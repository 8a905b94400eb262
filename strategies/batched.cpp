// SPDX-License-Identifier: Apache-2.0
// Adds up what is wanted of a level and takes all of it with one guarded statement. When that does
// not fit, or several levels are wanted, it does as row_lock does: locks the rows in order, admits
// first come first served, writes once. One row change for however many takers is what lifts the
// ceiling of a hot row, whose lock lasts until the WAL is flushed.
#include "sql/batched.hpp"

#include "strategies/admission.hpp"
#include "strategies/strategy.hpp"

namespace holdfast {

std::unique_ptr<strategy> make_row_lock(conflict_listener const&);

namespace {

class batched final : public strategy {
public:
    explicit batched(conflict_listener const& listener) : row_lock_(make_row_lock(listener)) {}

    std::vector<taken> take(db::transaction& tx,
                            std::span<units_wanted const> wanted) const override
    {
        bool const is_one_level = !wanted.empty() && wanted.front().at == wanted.back().at;
        if (is_one_level)
            if (auto level = take_together(tx, wanted))
                return admit_in_order(*level, wanted);
        return row_lock_->take(tx, wanted);
    }

    std::optional<std::vector<taken>> take_as_seen(db::transaction& tx,
                                                   std::span<units_wanted const> wanted,
                                                   stock_level const& seen) const override
    {
        auto const& at = wanted.front().at;
        tx.later(sql::batched::take_as_seen, at.sku, at.location, sum_of(wanted),
                 static_cast<std::int64_t>(wanted.size()), seen.version);
        level_map level{{at, seen}};
        return admit_in_order(level, wanted);
    }

private:
    static units sum_of(std::span<units_wanted const> wanted)
    {
        units sum = 0;
        for (auto const& entry : wanted)
            sum += entry.quantity;
        return sum;
    }

    // The level as it was before everything was taken; nothing when that did not fit.
    static std::optional<level_map> take_together(db::transaction& tx,
                                                  std::span<units_wanted const> wanted)
    {
        auto const& at = wanted.front().at;
        auto const entries = static_cast<std::int64_t>(wanted.size());
        auto const sum = sum_of(wanted);
        auto level = tx.maybe<stock_level>(sql::batched::take, at.sku, at.location, sum, entries);
        if (!level)
            return std::nullopt;
        level->reserved -= sum;
        level->version -= entries;
        return level_map{{at, *level}};
    }

    std::unique_ptr<strategy> row_lock_;
};

} // namespace

std::unique_ptr<strategy> make_batched(conflict_listener const& listener)
{
    return std::make_unique<batched>(listener);
}

} // namespace holdfast

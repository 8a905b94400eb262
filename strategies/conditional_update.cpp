// SPDX-License-Identifier: Apache-2.0
// Writes with the condition in the WHERE; no row changed means not enough was left. One round trip
// an entry, and no one ever decides on a number read earlier.
#include "sql/conditional_update.hpp"

#include "strategies/strategy.hpp"

namespace holdfast {

namespace {

class conditional_update final : public strategy {
public:
    std::vector<taken> take(db::transaction& tx,
                            std::span<units_wanted const> wanted) const override
    {
        std::vector<taken> answers;
        answers.reserve(wanted.size());
        for (auto const& entry : wanted) {
            auto const after = tx.maybe<stock_level>(sql::conditional_update::take, entry.at.sku,
                                                     entry.at.location, entry.quantity);
            answers.push_back({after.has_value(), after.value_or(stock_level{})});
        }
        return answers;
    }
};

} // namespace

std::unique_ptr<strategy> make_conditional_update(conflict_listener const&)
{
    return std::make_unique<conditional_update>();
}

} // namespace holdfast

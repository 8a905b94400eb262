// SPDX-License-Identifier: Apache-2.0
// Work that may fall short of units which due holds are about to give back.
#pragma once

#include "db/transact.hpp"
#include "service/expiry.hpp"
#include "service/idempotency.hpp"
#include "service/ledger.hpp"
#include "service/metrics.hpp"
#include "service/overload.hpp"
#include "service/reservations.hpp"
#include "stock/movement.hpp"
#include "stock/sku.hpp"

#include <type_traits>
#include <utility>
#include <vector>

namespace holdfast {

// What became of one attempt besides its answer.
struct aftermath {
    std::vector<movement> moved;
    std::vector<level_key> short_levels; // whose reserved units may belong to holds that are due
};

// Does `work(transaction&, aftermath&)` under an idempotency key, and again once due holds have
// given back what it is short of: in rounds of expiry_batch_max holds, each committed by itself.
// Throws overloaded after rounds_max of them, some 25 000 holds; who asks again goes on from there,
// and nobody is refused for units that nobody has a claim to.
template <class Work>
auto reclaiming(db::link& link, metrics& counted, Work const& work)
    -> std::invoke_result_t<Work const&, db::transaction&, aftermath&>
{
    using answer = std::invoke_result_t<Work const&, db::transaction&, aftermath&>;
    return idempotency::refuse_in_progress([&]() -> answer {
        // A refusal stands when nothing was due before it was made: others may reclaim as well.
        bool is_nothing_due = false;
        for (int round = 0; round < rounds_max; ++round) {
            aftermath after;
            // Work that is run again because its commit was in doubt, and had gone through, finds
            // itself done and moves nothing: what it moved the first time is what is counted.
            std::vector<movement> in_doubt;
            auto done = db::transact(link, [&](db::transaction& tx) {
                if (!after.moved.empty())
                    in_doubt = std::move(after.moved);
                after = {};
                return work(tx, after);
            });
            if (done)
                count(counted, after.moved.empty() ? in_doubt : after.moved);
            if (done || after.short_levels.empty() || is_nothing_due)
                return done;
            is_nothing_due = expire_due(link, after.short_levels, counted) == 0;
        }
        throw overloaded();
    });
}

} // namespace holdfast

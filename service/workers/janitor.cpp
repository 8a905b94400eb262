// SPDX-License-Identifier: Apache-2.0
#include "service/workers/janitor.hpp"

#include "db/drift.hpp"
#include "db/feed.hpp"
#include "db/imports.hpp"
#include "db/tokens.hpp"
#include "db/transact.hpp"
#include "db/unfulfilled.hpp"
#include "db/webhooks.hpp"
#include "service/idempotency.hpp"
#include "service/workers/deferred_faults.hpp"

#include <cstddef>
#include <cstdint>

namespace holdfast::workers {

namespace {

// In one step.
constexpr std::size_t rows_max = 1000;
constexpr std::size_t positions_max = 500;
constexpr std::int64_t announcements_max = 10'000;

} // namespace

periodic::step janitor(janitor_options options)
{
    return [options](db::link& link) {
        deferred_faults met;
        bool is_more = false;
        // `forget` returns whether there is more of its kind.
        auto const sweep = [&](auto const& forget) {
            met.run([&] { is_more = db::transact(link, forget) || is_more; });
        };
        sweep([&](db::transaction& tx) {
            return idempotency::forget(tx, options.keep_idempotency_keys, rows_max) == rows_max;
        });
        sweep([&](db::transaction& tx) {
            return db::feed::forget(tx, options.keep_events, positions_max, announcements_max) > 0;
        });
        sweep([&](db::transaction& tx) {
            return db::webhooks::forget(tx, options.keep_deliveries, rows_max) +
                       db::webhooks::clear_deleted(tx, rows_max) >=
                   rows_max;
        });
        sweep([&](db::transaction& tx) {
            return db::unfulfilled::forget(tx, options.keep_idempotency_keys, rows_max) == rows_max;
        });
        sweep([&](db::transaction& tx) {
            return db::drift::forget(tx, options.keep_drift, rows_max) == rows_max;
        });
        sweep([&](db::transaction& tx) {
            return db::tokens::forget(tx, options.keep_spent_tokens, rows_max) == rows_max;
        });
        sweep([&](db::transaction& tx) { return db::imports::forget(tx, rows_max) > 0; });
        met.throw_if_any();
        return is_more ? progress::more_to_do : progress::done_for_now;
    };
}

} // namespace holdfast::workers

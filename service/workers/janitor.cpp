// SPDX-License-Identifier: Apache-2.0
#include "service/workers/janitor.hpp"

#include "db/drift.hpp"
#include "db/feed.hpp"
#include "db/tokens.hpp"
#include "db/transact.hpp"
#include "db/unfulfilled.hpp"
#include "db/webhooks.hpp"
#include "service/idempotency.hpp"

#include <cstddef>
#include <cstdint>

namespace holdfast::workers {

namespace {

constexpr std::size_t keys_max = 1000; // in one step
constexpr std::size_t deliveries_max = 1000;
constexpr std::size_t unfulfilled_max = 1000;
constexpr std::size_t positions_max = 500;
constexpr std::size_t tokens_max = 1000;
constexpr std::int64_t announcements_max = 10'000;
constexpr std::size_t findings_max = 1000;

} // namespace

periodic::step janitor(janitor_options options)
{
    return [options](db::link& link) {
        auto const keys = db::transact(link, [&](db::transaction& tx) {
            return idempotency::forget(tx, options.keep_idempotency_keys, keys_max);
        });
        auto const positions = db::transact(link, [&](db::transaction& tx) {
            return db::feed::forget(tx, options.keep_events, positions_max, announcements_max);
        });
        auto const deliveries = db::transact(link, [&](db::transaction& tx) {
            return db::webhooks::forget(tx, options.keep_deliveries, deliveries_max) +
                   db::webhooks::clear_deleted(tx, deliveries_max);
        });
        auto const unfulfilled = db::transact(link, [&](db::transaction& tx) {
            return db::unfulfilled::forget(tx, options.keep_idempotency_keys, unfulfilled_max);
        });
        auto const findings = db::transact(link, [&](db::transaction& tx) {
            return db::drift::forget(tx, options.keep_drift, findings_max);
        });
        auto const tokens = db::transact(link, [&](db::transaction& tx) {
            return db::tokens::forget(tx, options.keep_spent_tokens, tokens_max);
        });
        bool const is_more = keys == keys_max || positions > 0 || deliveries >= deliveries_max ||
                             unfulfilled == unfulfilled_max || findings == findings_max ||
                             tokens == tokens_max;
        return is_more ? progress::more_to_do : progress::done_for_now;
    };
}

} // namespace holdfast::workers

// SPDX-License-Identifier: Apache-2.0
#include "service/expiry.hpp"

#include "db/reservations.hpp"
#include "db/transact.hpp"

namespace holdfast {

namespace {

// Expires what `lock_due(transaction&)` locks, in one transaction.
template <class LockDue>
std::size_t expire(db::link& link, metrics& m, LockDue const& lock_due)
{
    std::vector<movement> moved;
    std::vector<std::chrono::microseconds> lags;
    // When a commit's answer was lost, the work runs again and finds nothing due any more. What it
    // found before still counts: 0 would tell the caller that there is no use in looking again.
    std::size_t found = 0;
    auto const expired = db::transact(link, [&](db::transaction& tx) -> std::size_t {
        std::vector<reservation> const due = lock_due(tx);
        if (due.empty())
            return found;
        found = due.size();
        std::vector<uuid> ids;
        std::vector<level_key> touched;
        for (auto const& r : due) {
            ids.push_back(r.id);
            for (auto const& line : r.lines)
                touched.push_back(line.at);
        }
        ledger book(tx);
        book.lock(touched);
        for (auto const& r : due)
            put_back(book, r, movement_kind::expired, {.actor = "holdfast"});
        book.write();
        auto const now = db::reservations::close(tx, ids, reservation_state::expired);
        moved = book.movements();
        lags.clear();
        for (auto const& r : due)
            lags.push_back(now - r.expires_at);
        return found;
    });
    count(m, moved);
    m.holds_reclaimed(expired);
    for (auto const lag : lags)
        m.hold_was_due_for(lag);
    return expired;
}

} // namespace

std::size_t expire_due(db::link& link, std::span<level_key const> keys, metrics& m)
{
    return expire(link, m, [&](db::transaction& tx) {
        return db::reservations::lock_due(tx, keys, expiry_batch_max);
    });
}

std::size_t expire_due_of(db::link& link, std::vector<std::string> const& customers, metrics& m)
{
    return expire(link, m, [&](db::transaction& tx) {
        return db::reservations::lock_due_of_customers(tx, customers, expiry_batch_max);
    });
}

std::size_t expire_any_due(db::link& link, std::size_t lines_wanted, metrics& m)
{
    std::size_t lines = 0;
    expire(link, m, [&](db::transaction& tx) {
        auto due = db::reservations::lock_any_due(tx, lines_wanted);
        for (auto const& hold : due)
            lines += hold.lines.size();
        return due;
    });
    return lines;
}

void put_back(ledger& book, reservation const& r, movement_kind kind, attribution const& by)
{
    for (auto const& line : r.lines)
        book.move(
            line.at,
            {.kind = kind, .reserved_delta = -line.quantity, .reservation_id = r.id, .by = by});
}

} // namespace holdfast

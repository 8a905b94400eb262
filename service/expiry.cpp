// SPDX-License-Identifier: Apache-2.0
#include "service/expiry.hpp"

#include "db/reservations.hpp"
#include "db/transact.hpp"

namespace holdfast {

std::size_t expire_due(db::link& link, std::span<level_key const> keys, metrics& m)
{
    std::vector<movement> moved;
    auto const expired = db::transact(link, [&](db::transaction& tx) -> std::size_t {
        moved.clear();
        auto const due = db::reservations::lock_due(tx, keys, expiry_batch_max);
        if (due.empty())
            return 0;
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
        db::reservations::close(tx, ids, reservation_state::expired);
        moved = book.movements();
        return due.size();
    });
    count(m, moved);
    m.holds_reclaimed(expired);
    return expired;
}

void put_back(ledger& book, reservation const& r, movement_kind kind, attribution const& by)
{
    for (auto const& line : r.lines)
        book.move(
            line.at,
            {.kind = kind, .reserved_delta = -line.quantity, .reservation_id = r.id, .by = by});
}

} // namespace holdfast

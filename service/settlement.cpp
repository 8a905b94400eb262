// SPDX-License-Identifier: Apache-2.0
#include "service/settlement.hpp"

namespace holdfast {

refusal unknown_reservation(uuid const& id)
{
    return {.code = errc::unknown_reservation,
            .detail = "There is no reservation " + id.str() + "."};
}

reservation as_it_stands(db::reservations::found f)
{
    if (f.reservation.state == reservation_state::held && f.is_due)
        f.reservation.state = reservation_state::expired;
    return std::move(f.reservation);
}

void confirm_lines(db::transaction& tx, ledger& book, reservation& r, attribution const& by)
{
    for (auto& line : r.lines) {
        line.confirmed = line.quantity;
        book.move(line.at, {.kind = movement_kind::confirmed,
                            .on_hand_delta = -line.quantity,
                            .reserved_delta = -line.quantity,
                            .reservation_id = r.id,
                            .by = by});
    }
    r.state = reservation_state::confirmed;
    r.settled_at = db::reservations::confirm(tx, r);
}

} // namespace holdfast

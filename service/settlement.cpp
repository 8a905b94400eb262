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

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Parts of settling a reservation that several flows share.
#pragma once

#include "db/reservations.hpp"
#include "db/transaction.hpp"
#include "service/expiry.hpp"
#include "service/ledger.hpp"
#include "stock/reservation.hpp"
#include "stock/result.hpp"

namespace holdfast {

[[nodiscard]] refusal unknown_reservation(uuid const&);

// The reservation as everyone sees it now: a hold whose time has passed is expired.
[[nodiscard]] reservation as_it_stands(db::reservations::found);

} // namespace holdfast

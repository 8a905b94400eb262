// SPDX-License-Identifier: Apache-2.0
// What is left, told to somebody who did not get what they asked for.
#pragma once

#include "db/link.hpp"
#include "db/transaction.hpp"
#include "service/metrics.hpp"
#include "stock/reservation.hpp"
#include "stock/result.hpp"

#include <optional>
#include <span>
#include <vector>

namespace holdfast {

// Each line with the number truly available for it: holds whose time has passed do not count.
[[nodiscard]] std::vector<shortfall> availability_of(db::transaction&,
                                                     std::span<line_request const>);

// After lines did not fit: returns the units of due holds on their levels if that may help. Returns
// the lines that fall short, or none when it is worth trying again. `freed` names a hold whose
// units the caller will put back first (it supersedes that hold).
[[nodiscard]] std::vector<shortfall> make_room(db::link&, std::span<line_request const>,
                                               std::optional<uuid> freed, metrics&);

} // namespace holdfast

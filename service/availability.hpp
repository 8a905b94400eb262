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

// What somebody did not get. `freed` names a hold whose units he will put back first (he supersedes
// it).
struct wish {
    std::span<line_request const> lines;
    std::optional<uuid> freed = {};
};

// After wishes did not fit: returns the units of due holds on their levels if that may help any of
// them. For each wish the lines that fall short, or none when it is worth trying again.
[[nodiscard]] std::vector<std::vector<shortfall>> make_room(db::link&, std::span<wish const>,
                                                            metrics&);

} // namespace holdfast

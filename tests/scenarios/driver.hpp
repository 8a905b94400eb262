// SPDX-License-Identifier: Apache-2.0
// The ways to play a scenario: the use cases in this process, and HTTP against the real binary.
// Both answer in the words of the scenarios.
#pragma once

#include "service/adjustments.hpp"
#include "service/catalogue.hpp"
#include "service/reservations.hpp"
#include "stock/movement.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::test {

// "held", "confirmed again" (a replay), or a refusal's code with underscores.
struct reply {
    std::string word;
    std::optional<uuid> id = {};       // of the reservation
    std::vector<shortfall> items = {}; // of a refusal
    std::vector<uuid> concerned = {};  // holds that an adjustment left short
};

// Lines of commands come as the scenario has them: neither sorted nor summed.
class driver {
public:
    virtual ~driver() = default;

    [[nodiscard]] virtual std::string name() const = 0;

    virtual reply put(put_item_command const&) = 0;
    virtual reply adjust(adjust_command const&) = 0;
    virtual reply reserve(reserve_command const&) = 0;
    virtual reply confirm(confirm_command const&) = 0;
    virtual reply release(uuid const&) = 0;
    virtual reply extend(uuid const&, std::chrono::seconds) = 0;
    virtual reply give_back(return_command const&) = 0;

    // What a reader sees. Levels and reservations that are not there throw, but for show_state.
    [[nodiscard]] virtual reply show_state(uuid const&) = 0;
    [[nodiscard]] virtual std::vector<reservation_line> lines_of(uuid const&) = 0;
    [[nodiscard]] virtual std::vector<uuid> list(reservation_filter const&) = 0;
    [[nodiscard]] virtual stock_level level(level_key const&) = 0;

    // Oldest first: kind, deltas and the level after each.
    [[nodiscard]] virtual std::vector<movement> ledger(level_key const&) = 0;

    // Empty when nothing is wrong.
    [[nodiscard]] virtual std::string audit_findings() = 0;

    // Makes the time of a hold pass.
    virtual void let_lapse(uuid const&) = 0;
};

// One driver for each mode, on a database they share.
[[nodiscard]] std::vector<std::unique_ptr<driver>> make_use_case_drivers();

// A service of its own, stopped with the driver.
[[nodiscard]] std::unique_ptr<driver> make_http_driver();

} // namespace holdfast::test

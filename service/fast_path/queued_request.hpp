// SPDX-License-Identifier: Apache-2.0
// A reservation that Redis has accepted and PostgreSQL does not have yet.
#pragma once

#include "service/reservations.hpp"
#include "stock/clock.hpp"
#include "stock/uuid.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::fast_path {

struct queued_request {
    uuid id;                 // of the reservation to be
    timestamp accepted_at;   // by the clock of the process that accepted it
    reserve_command command; // with the id and the notes it has to be carried out under
};

// What stands in Redis' queue: JSON.
[[nodiscard]] std::string to_text(queued_request const&);

// Nothing when it is not such a text.
[[nodiscard]] std::optional<queued_request> parse_queued(std::string_view text);

} // namespace holdfast::fast_path

// SPDX-License-Identifier: Apache-2.0
// What Redis had accepted and did not become a reservation.
#pragma once

#include "db/link.hpp"
#include "service/fast_path/queued_request.hpp"
#include "stock/clock.hpp"
#include "stock/uuid.hpp"

#include <optional>
#include <string>

namespace holdfast::fast_path {

struct unfulfilled {
    uuid id;
    std::string code;                      // slug of a refusal, or "parked": it cannot be done
    std::string detail;                    // for people
    std::optional<queued_request> request; // nothing when it could not be read
    timestamp refused_at;
};

[[nodiscard]] std::optional<unfulfilled> find_unfulfilled(db::link&, uuid const&);

} // namespace holdfast::fast_path

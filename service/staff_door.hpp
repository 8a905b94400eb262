// SPDX-License-Identifier: Apache-2.0
// What stands between people and their work: sessions, the turn of a password to be looked at, and
// how often somebody may try one.
#pragma once

#include "service/rate_limiter.hpp"
#include "service/staff_sessions.hpp"
#include "service/turnstile.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace holdfast {

// Thread-safe.
class staff_door {
public:
    // Asks the database once. Throws db::error.
    staff_door(db::session_options const&, worker_pool&);

    // Counts one attempt at a name from a network. Nothing when it may be made, else when the next
    // one may.
    [[nodiscard]] std::optional<std::chrono::seconds> wait_before(std::string_view name,
                                                                  std::string_view network);

    staff_sessions const sessions;

    // Whatever hashes or checks passwords runs through here: 64 MiB each, two at a time.
    turnstile passwords;

private:
    // A person mistypes a few times. Behind a proxy all come from one address.
    rate_limiter by_name_{rate{.per_second = 1, .burst = 10, .second = std::chrono::seconds(10)}};
    rate_limiter by_network_{rate{.per_second = 1, .burst = 40, .second = std::chrono::seconds(2)}};
};

} // namespace holdfast

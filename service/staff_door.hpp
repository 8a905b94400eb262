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

// Somebody who is about to show a password.
struct password_attempt {
    std::string_view name;
    std::string_view network;
    std::optional<std::string_view> browser = {}; // what staff_sessions::browser_token() gave it
};

// Thread-safe.
class staff_door {
public:
    // Asks the database once. Throws db::error.
    staff_door(db::session_options const&, worker_pool&);

    // Counts one attempt. Nothing when it may be made, else when the next one may.
    [[nodiscard]] std::optional<std::chrono::seconds> wait_before(password_attempt const&);

    // The same for somebody who is signed in and shows the password once more.
    [[nodiscard]] std::optional<std::chrono::seconds> wait_before_again(std::string_view actor);

    staff_sessions const sessions;

    // Whatever hashes or checks passwords runs through here: 64 MiB each, two at a time.
    turnstile passwords;

private:
    // A person mistypes a few times: at one name from one network, in a browser where the person
    // has signed in before, or once more during a session. What strangers do counts in none of
    // those places but their own, so nobody can be kept out of a browser that knows them.
    rate_limiter by_place_{rate{.per_second = 1, .burst = 10, .second = std::chrono::seconds(10)}};

    // Strangers. Behind a proxy all come from one network.
    rate_limiter by_network_{rate{.per_second = 1, .burst = 40, .second = std::chrono::seconds(2)}};

    // Strangers at one name, wherever they come from: 86 500 passwords on the first day. This one
    // may keep a person out of a browser that is new to him, so it is wide.
    rate_limiter by_name_{rate{.per_second = 1, .burst = 100}};
};

} // namespace holdfast

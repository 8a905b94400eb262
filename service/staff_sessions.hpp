// SPDX-License-Identifier: Apache-2.0
// Where people are signed in. The database knows a session by the hash of its token; a token is
// signed as well, so that made-up ones never get as far as the database.
#pragma once

#include "db/link.hpp"
#include "service/caller.hpp"
#include "service/secrets.hpp"
#include "service/staff_accounts.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast {

// What a session is looked up for. Work keeps it from ending as unused; to watch does not, or a
// stream that is left open would keep it for ever.
enum class session_use { work, watch };

class staff_sessions {
public:
    static constexpr auto idle_max = std::chrono::hours(12);
    static constexpr auto lifetime = std::chrono::hours(24 * 7);

    // Of one person; a further one ends the oldest.
    static constexpr std::size_t count_max = 10;

    // Reads the secret all processes share, or makes it. Throws db::error.
    explicit staff_sessions(db::link&);

    // The token of a new session. Nothing when the account has changed since it was recognised.
    [[nodiscard]] std::optional<std::string> open(db::link&, recognised_staff const&) const;

    // Whether one of us made this token. The session may have ended since. Asks nobody.
    [[nodiscard]] bool is_ours(std::string_view token) const;

    // Who is signed in by it. Nothing when the session has ended, or the account is disabled.
    // Precondition: is_ours(token).
    [[nodiscard]] std::optional<caller> find(db::link&, std::string_view token,
                                             session_use = session_use::work) const;

    void end(db::link&, std::string_view token) const;

    // What a page of ours shows with each request that changes something, and no other page knows.
    [[nodiscard]] std::string csrf_token(std::string_view token) const;

    // What a browser keeps after a person has signed in there: it lets it try passwords of that one
    // name apart from strangers (staff_door.hpp), and nothing else. It is stored nowhere.
    [[nodiscard]] std::string browser_token(std::string_view name) const;
    [[nodiscard]] bool is_browser_of(std::string_view name, std::string_view token) const;

private:
    shared_secret secret_;
};

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "service/staff_sessions.hpp"

#include "db/transact.hpp"
#include "sql/staff_sessions.hpp"
#include "sql/tokens.hpp"
#include "stock/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace holdfast {

namespace {

constexpr std::string_view name_of_secret = "staff_sessions";

// What is signed begins with what it is for, so that a code for one cannot be shown as the other.
constexpr std::string_view of_session = "session ";
constexpr std::string_view of_csrf = "csrf ";
constexpr std::string_view of_browser = "browser ";

constexpr std::size_t random_size = 32;
using token_bytes = std::array<std::uint8_t, random_size + std::tuple_size_v<authentication_code>>;

struct session_row {
    uuid staff_id;
    std::int64_t number = 0;
    std::string name;
    std::string role;
    bool is_stale = false; // last_seen_at is
};

shared_secret common_secret(db::link& link)
{
    return db::transact(link, [](db::transaction& tx) {
        tx.exec(sql::tokens::make_secret, name_of_secret, make_shared_secret());
        return tx.maybe<shared_secret>(sql::tokens::find_secret, name_of_secret).value();
    });
}

authentication_code sign(shared_secret const& secret, std::string_view purpose,
                         std::string_view text)
{
    return authenticate(secret, std::string(purpose).append(text));
}

// A random number and a code over it and whatever else it is about.
std::string make_token(shared_secret const& secret, std::string_view purpose,
                       std::string_view about = {})
{
    auto const random = make_shared_secret();
    static_assert(std::tuple_size_v<decltype(random)> == random_size);
    auto const code = sign(secret, purpose, to_base64url(random).append(about));
    token_bytes bytes{};
    std::ranges::copy(code, std::ranges::copy(random, bytes.begin()).out);
    return to_base64url(bytes);
}

bool is_token(std::string_view token, shared_secret const& secret, std::string_view purpose,
              std::string_view about = {})
{
    token_bytes bytes{};
    if (!parse_base64url(token, bytes))
        return false;
    auto const random = std::span(bytes).first(random_size);
    authentication_code code{};
    std::ranges::copy(std::span(bytes).subspan(random_size), code.begin());
    return is_authentic(code, secret,
                        std::string(purpose).append(to_base64url(random)).append(about));
}

// Names that differ in case only are one.
std::string about(std::string_view name)
{
    return ' ' + case_folded(name).value_or(std::string());
}

} // namespace

staff_sessions::staff_sessions(db::link& link) : secret_(common_secret(link)) {}

std::optional<std::string> staff_sessions::open(db::link& link, recognised_staff const& who) const
{
    auto const token = make_token(secret_, of_session);
    bool const is_open = db::transact(link, [&](db::transaction& tx) {
        auto const made = tx.exec(sql::staff_sessions::open, hash_api_key(token), who.id,
                                  who.revision, std::chrono::seconds(lifetime).count());
        tx.exec(sql::staff_sessions::trim, who.id, count_max);
        return made > 0;
    });
    return is_open ? std::optional(token) : std::nullopt;
}

bool staff_sessions::is_ours(std::string_view token) const
{
    return is_token(token, secret_, of_session);
}

std::optional<caller> staff_sessions::find(db::link& link, std::string_view token,
                                           session_use what_for) const
{
    auto const hash = hash_api_key(token);
    auto found = db::read(link, db::scope::single, [&](db::transaction& tx) {
        return tx.maybe<session_row>(sql::staff_sessions::find, hash,
                                     std::chrono::seconds(idle_max).count());
    });
    if (!found)
        return std::nullopt;
    // Not with every request: they would all be writes.
    if (found->is_stale && what_for == session_use::work)
        db::transact(
            link, [&](db::transaction& tx) { return tx.exec(sql::staff_sessions::touch, hash); });
    return caller{.api_key_id = -found->number,
                  .name = std::string(staff_accounts::actor_prefix) + found->name,
                  .role = stored_role(found->role),
                  .staff_id = found->staff_id};
}

void staff_sessions::end(db::link& link, std::string_view token) const
{
    db::transact(link, [&](db::transaction& tx) {
        return tx.exec(sql::staff_sessions::end, hash_api_key(token));
    });
}

std::string staff_sessions::csrf_token(std::string_view token) const
{
    return to_base64url(sign(secret_, of_csrf, token));
}

std::string staff_sessions::browser_token(std::string_view name) const
{
    return make_token(secret_, of_browser, about(name));
}

bool staff_sessions::is_browser_of(std::string_view name, std::string_view token) const
{
    return is_token(token, secret_, of_browser, about(name));
}

} // namespace holdfast

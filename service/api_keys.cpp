// SPDX-License-Identifier: Apache-2.0
#include "service/api_keys.hpp"

#include "db/transact.hpp"
#include "service/json_writer.hpp"
#include "service/secrets.hpp"
#include "service/trail.hpp"
#include "sql/api_keys.hpp"
#include "stock/result.hpp"
#include "stock/sku.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast {

namespace {

// How long the keys are believed without asking again: a revoked key works at most this much
// longer.
constexpr auto memory_lifetime = std::chrono::seconds(5);

// A key made a moment ago is looked up at once; when keys are made up by the thousand, a new one
// waits for its turn, which comes several times a second and brings all keys.
constexpr rate looks_at_unknown_keys{.per_second = 5, .burst = 20};

struct key_row {
    std::int64_t id = 0;
    std::string name;
    std::string role;
    std::string hash;
};

struct list_row {
    std::int64_t id = 0;
    std::string name;
    std::string role;
    timestamp created_at;
    std::optional<timestamp> revoked_at;
};

role to_role(std::string_view text)
{
    auto const known = parse_role(text);
    if (!known)
        throw std::logic_error("unknown role of an API key");
    return *known;
}

void note(db::transaction& tx, std::string_view action, std::int64_t id, std::string detail)
{
    trail::note(tx, {.actor = "keeper"}, {action, "key:" + std::to_string(id), std::move(detail)});
}

std::string about(role r, std::string const& name)
{
    json_writer detail;
    detail.begin_object();
    detail.member("name", name);
    detail.member("role", to_string(r));
    detail.end_object();
    return detail.take();
}

} // namespace

std::optional<role> parse_role(std::string_view text) noexcept
{
    auto const found = std::ranges::find(role_names, text);
    if (found == role_names.end())
        return std::nullopt;
    return static_cast<role>(found - role_names.begin());
}

namespace api_keys {

std::optional<std::string> fault_of_name(std::string_view name)
{
    constexpr std::size_t length_max = 100;
    if (name.empty())
        return "must not be empty";
    return fault_of_text(name, length_max);
}

std::string create(db::link& link, role r, std::string const& name)
{
    auto secret = make_api_key();
    HOLDFAST_INVARIANT(ensure(link, secret, r, name));
    return secret;
}

bool ensure(db::link& link, std::string_view secret, role r, std::string const& name)
{
    return db::transact(link, [&](db::transaction& tx) {
        auto const hash = hash_api_key(secret);
        if (auto const id = tx.maybe<std::int64_t>(sql::api_keys::ensure, name, to_string(r), hash))
            note(tx, "key.created", *id, about(r, name));
        return tx.one<bool>(sql::api_keys::is_active, hash);
    });
}

std::vector<api_key> list(db::link& link)
{
    return db::read(link, db::scope::single, [](db::transaction& tx) {
        std::vector<api_key> keys;
        for (auto& row : tx.many<list_row>(sql::api_keys::list))
            keys.push_back(
                {row.id, std::move(row.name), to_role(row.role), row.created_at, row.revoked_at});
        return keys;
    });
}

bool revoke(db::link& link, std::int64_t id)
{
    // When a commit's answer was lost, the work runs again and may find what it did itself.
    std::optional<timestamp> earlier;
    return db::transact(link, [&](db::transaction& tx) {
        auto const now = tx.maybe<timestamp>(sql::api_keys::revoke, id, earlier);
        if (now && now != earlier)
            note(tx, "key.revoked", id, "{}");
        earlier = now ? now : earlier;
        return now.has_value();
    });
}

} // namespace api_keys

authenticator::authenticator() : looks_(looks_at_unknown_keys) {}

std::optional<std::optional<caller>> authenticator::remembered(std::string_view secret)
{
    auto const hash = to_hex(hash_api_key(secret));
    auto const now = clock::now();
    {
        std::scoped_lock const lock(mutex_);
        if (!as_of_ || now > *as_of_ + memory_lifetime)
            return std::nullopt;
        if (auto who = find(hash))
            return who;
    }
    if (looks_.take("", now).is_allowed)
        return std::nullopt;
    return std::optional<caller>();
}

std::optional<caller> authenticator::look_up(db::link& link, std::string_view secret)
{
    refresh(link);
    std::scoped_lock const lock(mutex_);
    return find(to_hex(hash_api_key(secret)));
}

void authenticator::refresh(db::link& link)
{
    auto const began = clock::now();
    auto rows = db::read(link, db::scope::single, [](db::transaction& tx) {
        return tx.many<key_row>(sql::api_keys::active);
    });
    std::unordered_map<std::string, caller> active;
    for (auto& row : rows)
        active.emplace(std::move(row.hash), caller{row.id, std::move(row.name), to_role(row.role)});

    std::scoped_lock const lock(mutex_);
    if (as_of_ && *as_of_ > began)
        return; // somebody who began later has finished earlier
    active_ = std::move(active);
    as_of_ = began;
}

std::optional<caller> authenticator::find(std::string const& hash) const
{
    auto const found = active_.find(hash);
    return found == active_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace holdfast

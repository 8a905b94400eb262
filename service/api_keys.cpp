// SPDX-License-Identifier: Apache-2.0
#include "service/api_keys.hpp"

#include "db/transact.hpp"
#include "service/secrets.hpp"
#include "sql/api_keys.hpp"
#include "stock/sku.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast {

namespace {

// How long an answer is believed without asking again: a revoked key works at most this much
// longer.
constexpr auto memory_lifetime = std::chrono::seconds(5);

// Enough for every real key; when wrong keys fill it, it starts anew instead of growing.
constexpr std::size_t memories_max = 10'000;

struct key_row {
    std::int64_t id = 0;
    std::string name;
    std::string role;
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

std::string memory_key(key_hash const& hash)
{
    return {hash.begin(), hash.end()};
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
    ensure(link, secret, r, name);
    return secret;
}

void ensure(db::link& link, std::string_view secret, role r, std::string const& name)
{
    db::transact(link, [&](db::transaction& tx) {
        return tx.exec(sql::api_keys::ensure, name, to_string(r), hash_api_key(secret));
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
        earlier = now ? now : earlier;
        return now.has_value();
    });
}

} // namespace api_keys

std::optional<std::optional<caller>> authenticator::remembered(std::string_view secret)
{
    auto const hash = memory_key(hash_api_key(secret));
    std::scoped_lock const lock(mutex_);
    auto const found = memories_.find(hash);
    if (found == memories_.end() || found->second.until < std::chrono::steady_clock::now())
        return std::nullopt;
    return found->second.who;
}

std::optional<caller> authenticator::look_up(db::link& link, std::string_view secret)
{
    auto const hash = hash_api_key(secret);
    auto const row = db::read(link, db::scope::single, [&](db::transaction& tx) {
        return tx.maybe<key_row>(sql::api_keys::by_hash, hash);
    });
    std::optional<caller> who;
    if (row)
        who = caller{row->id, row->name, to_role(row->role)};

    auto const now = std::chrono::steady_clock::now();
    std::scoped_lock const lock(mutex_);
    if (memories_.size() >= memories_max)
        std::erase_if(memories_, [&](auto const& m) { return m.second.until < now; });
    if (memories_.size() >= memories_max)
        memories_.clear();
    memories_[memory_key(hash)] = {who, now + memory_lifetime};
    return who;
}

} // namespace holdfast

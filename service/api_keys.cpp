// SPDX-License-Identifier: Apache-2.0
#include "service/api_keys.hpp"

#include "db/transact.hpp"
#include "service/json_writer.hpp"
#include "service/secrets.hpp"
#include "service/staff_accounts.hpp"
#include "sql/api_keys.hpp"
#include "stock/result.hpp"
#include "stock/sku.hpp"
#include "stock/text.hpp"

#include <utility>

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

struct made_row {
    std::int64_t id = 0;
    timestamp created_at;
};

struct revoked_row {
    timestamp revoked_at;
    std::string name;
    std::string role;
};

void note(db::transaction& tx, staff const& by, std::string_view action, std::int64_t id,
          std::string detail)
{
    trail::note(tx, by, {action, "key:" + std::to_string(id), std::move(detail)});
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

// Nothing when there is such a key already.
std::optional<made_row> write(db::transaction& tx, std::string_view secret, role r,
                              std::string const& name)
{
    return tx.maybe<made_row>(sql::api_keys::ensure, name, to_string(r), hash_api_key(secret));
}

} // namespace

namespace api_keys {

std::optional<std::string> fault_of_name(std::string_view name)
{
    constexpr std::size_t length_max = 100;
    if (name.empty())
        return "must not be empty";
    if (name.starts_with(staff_accounts::actor_prefix))
        return "must not begin as the names of people do: " +
               std::string(staff_accounts::actor_prefix);
    if (auto fault = fault_of_text(name, length_max))
        return fault;
    if (has_invisible(name))
        return "must not contain invisible characters";
    if (case_folded(name) == the_keeper().actor)
        return "must not be the one of what is done on the server itself: " + the_keeper().actor;
    return std::nullopt;
}

issued_api_key issue(db::link& link, role r, std::string const& name, staff const& by)
{
    auto secret = make_api_key();
    std::optional<made_row> made; // a commit whose answer was lost has made it already
    db::transact(link, [&](db::transaction& tx) {
        if (auto const now = write(tx, secret, r, name)) {
            note(tx, by, "key.created", now->id, about(r, name));
            made = now;
        }
        return made.has_value();
    });
    HOLDFAST_INVARIANT(made);
    return {{made->id, name, r, made->created_at, std::nullopt}, std::move(secret)};
}

std::string create(db::link& link, role r, std::string const& name)
{
    return issue(link, r, name, the_keeper()).secret;
}

bool ensure(db::link& link, std::string_view secret, role r, std::string const& name)
{
    return db::transact(link, [&](db::transaction& tx) {
        if (auto const made = write(tx, secret, r, name))
            note(tx, the_keeper(), "key.created", made->id, about(r, name));
        return tx.one<bool>(sql::api_keys::is_active, hash_api_key(secret));
    });
}

std::vector<api_key> list(db::link& link, api_key_filter const& filter)
{
    return db::read(link, db::scope::single, [&](db::transaction& tx) {
        std::vector<api_key> keys;
        for (auto& row : tx.many<list_row>(sql::api_keys::list, filter.after, filter.limit))
            keys.push_back({row.id, std::move(row.name), stored_role(row.role), row.created_at,
                            row.revoked_at});
        return keys;
    });
}

bool revoke(db::link& link, std::int64_t id, staff const& by)
{
    // When a commit's answer was lost, the work runs again and may find what it did itself.
    std::optional<timestamp> earlier;
    return db::transact(link, [&](db::transaction& tx) {
        auto const now = tx.maybe<revoked_row>(sql::api_keys::revoke, id, earlier);
        if (now && now->revoked_at != earlier)
            note(tx, by, "key.revoked", id, about(stored_role(now->role), now->name));
        earlier = now ? std::optional(now->revoked_at) : earlier;
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
        active.emplace(std::move(row.hash),
                       caller{row.id, std::move(row.name), stored_role(row.role)});

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

// SPDX-License-Identifier: Apache-2.0
// API keys: made, listed and revoked by the server's keeper, an administrator or an owner; stored
// only as hashes.
#pragma once

#include "db/link.hpp"
#include "service/caller.hpp"
#include "service/rate_limiter.hpp"
#include "service/trail.hpp"
#include "stock/clock.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace holdfast {

struct api_key {
    std::int64_t id = 0;
    std::string name;
    holdfast::role role = role::viewer;
    timestamp created_at;
    std::optional<timestamp> revoked_at;
};

struct issued_api_key {
    api_key key;
    std::string secret; // told this once
};

struct api_key_filter {
    std::int64_t after = 0; // continue after this one, oldest first
    std::size_t limit = std::numeric_limits<std::int32_t>::max();
};

namespace api_keys {

// What is wrong with a would-be name of a key, or nothing: 1-100 Unicode characters of UTF-8,
// nothing invisible (stock/text.hpp), and not as the ledger names people or the trail the keeper.
// It stands in the ledger, in the log and in `key list`.
[[nodiscard]] std::optional<std::string> fault_of_name(std::string_view name);

// Whom the audit trail names for what is done on the server itself.
[[nodiscard]] inline staff the_keeper()
{
    return {.actor = "keeper"};
}

// Makes a key; its text is stored nowhere. Precondition: fault_of_name(name) is empty, and the role
// is one of keys.
[[nodiscard]] issued_api_key issue(db::link&, role, std::string const& name, staff const& by);

// The same by the keeper: the text alone.
[[nodiscard]] std::string create(db::link&, role, std::string const& name);

// Makes a given secret a key, once: the bootstrap admin key of a setting. False when it is one that
// was revoked, and stays so.
[[nodiscard]] bool ensure(db::link&, std::string_view secret, role, std::string const& name);

[[nodiscard]] std::vector<api_key> list(db::link&, api_key_filter const& = {});

// Returns whether there was such a key that was not revoked yet.
bool revoke(db::link&, std::int64_t id, staff const& by = the_keeper());

} // namespace api_keys

// Tells who holds a key. Knows all active keys as of a few seconds ago, so a revoked key stops
// working within that time in every process. A key it does not know is looked up, but only so
// often: whoever makes keys up does not get at the database by it. Thread-safe.
class authenticator {
public:
    authenticator();

    // From memory, when that is fresh. The inner value is empty for a key that is wrong, or that
    // nobody looks up now.
    [[nodiscard]] std::optional<std::optional<caller>> remembered(std::string_view secret);

    // From the database.
    [[nodiscard]] std::optional<caller> look_up(db::link&, std::string_view secret);

    // Reads the active keys. Throws db::error.
    void refresh(db::link&);

private:
    using clock = std::chrono::steady_clock;

    [[nodiscard]] std::optional<caller> find(std::string const& hash) const;

    std::mutex mutex_;
    std::unordered_map<std::string, caller> active_; // by hash of the key, in hexadecimal
    std::optional<clock::time_point> as_of_;
    rate_limiter looks_; // at the database, for keys that are not known
};

} // namespace holdfast

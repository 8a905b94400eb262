// SPDX-License-Identifier: Apache-2.0
#include "service/idempotency.hpp"

#include "service/secrets.hpp"
#include "sql/idempotency.hpp"

#include <cstring>

namespace holdfast::idempotency {

namespace {

struct found_row {
    std::array<std::uint8_t, 16> fingerprint{};
    std::optional<std::string> kept;
};

} // namespace

std::int64_t lock_number(std::string_view kind, std::string_view name)
{
    std::string text(kind);
    text += '\n';
    text += name;
    auto const digest = fingerprint(text);
    std::int64_t number = 0;
    std::memcpy(&number, digest.data(), sizeof number);
    return number;
}

std::int64_t lock_number(request_key const& k)
{
    return lock_number("key", std::to_string(k.api_key_id) + ' ' + k.key);
}

void wait_for(db::transaction& tx, request_key const& k)
{
    tx.exec(sql::idempotency::wait, lock_number(k));
}

result<std::optional<std::string>> begin(db::transaction& tx, request_key const& k)
{
    wait_for(tx, k);
    return find(tx, k);
}

result<std::optional<std::string>> find(db::transaction& tx, request_key const& k)
{
    auto const found = tx.maybe<found_row>(sql::idempotency::find, k.api_key_id, k.key);
    if (!found)
        return std::optional<std::string>();
    if (found->fingerprint != k.fingerprint || !found->kept)
        return key_reused();
    return found->kept;
}

void finish(db::transaction& tx, request_key const& k, std::string const& kept)
{
    tx.exec(sql::idempotency::keep, k.api_key_id, k.key, k.fingerprint, kept);
}

std::size_t forget(db::transaction& tx, std::chrono::seconds keep, std::size_t keys_max)
{
    return static_cast<std::size_t>(tx.exec(sql::idempotency::forget, keep.count(), keys_max));
}

refusal key_reused()
{
    return {.code = errc::idempotency_key_reused,
            .detail =
                "This key was sent before with another request. Use a new key for a new request."};
}

refusal in_progress()
{
    return {.code = errc::idempotency_key_in_progress,
            .detail =
                "The first request with this key is still running. Ask again with the same key.",
            .retry_after = std::chrono::seconds(1)};
}

bool is_wait_for_key(db::error const& fault) noexcept
{
    return fault.kind() == db::fault::lock_timeout &&
           fault.statement() == sql::idempotency::wait.name;
}

} // namespace holdfast::idempotency

// SPDX-License-Identifier: Apache-2.0
#include "db/tokens.hpp"

#include "sql/tokens.hpp"

#include <string_view>

namespace holdfast::db::tokens {

namespace {

constexpr std::string_view name_of_secret = "tokens";

} // namespace

void make_secret(transaction& tx, secret const& made)
{
    tx.exec(sql::tokens::make_secret, name_of_secret, made);
}

std::optional<secret> find_secret(transaction& tx)
{
    return tx.maybe<secret>(sql::tokens::find_secret, name_of_secret);
}

std::optional<rules> rules_of(transaction& tx, sku const& of)
{
    return tx.maybe<rules>(sql::tokens::rules, of);
}

bool spend(transaction& tx, spending const& what)
{
    return tx.exec(sql::tokens::spend, what.id, what.reservation_id, what.expires_at) == 1;
}

std::size_t forget(transaction& tx, std::chrono::seconds keep, std::size_t rows_max)
{
    return static_cast<std::size_t>(tx.exec(sql::tokens::forget, keep.count(), rows_max));
}

} // namespace holdfast::db::tokens

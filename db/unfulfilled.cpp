// SPDX-License-Identifier: Apache-2.0
#include "db/unfulfilled.hpp"

#include "sql/unfulfilled.hpp"

namespace holdfast::db::unfulfilled {

void add(transaction& tx, uuid const& id, std::string_view code, std::string_view detail,
         std::string_view request)
{
    tx.exec(sql::unfulfilled::add, id, code, detail, request);
}

std::optional<row> by_id(transaction& tx, uuid const& id)
{
    return tx.maybe<row>(sql::unfulfilled::by_id, id);
}

std::size_t forget(transaction& tx, std::chrono::seconds keep, std::size_t rows_max)
{
    return static_cast<std::size_t>(tx.exec(sql::unfulfilled::forget, keep.count(), rows_max));
}

} // namespace holdfast::db::unfulfilled

// SPDX-License-Identifier: Apache-2.0
#include "db/unfulfilled.hpp"

#include "sql/unfulfilled.hpp"

#include <vector>

namespace holdfast::db::unfulfilled {

void add(transaction& tx, std::span<draft const> all)
{
    std::vector<uuid> ids;
    std::vector<std::string> codes, details, requests;
    for (auto const& each : all) {
        ids.push_back(each.id);
        codes.push_back(each.code);
        details.push_back(each.detail);
        requests.push_back(each.request);
    }
    tx.exec(sql::unfulfilled::add, ids, codes, details, requests);
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

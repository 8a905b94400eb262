// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/unfulfilled.hpp"

#include "db/transact.hpp"
#include "db/unfulfilled.hpp"

namespace holdfast::fast_path {

std::optional<unfulfilled> find_unfulfilled(db::link& link, uuid const& id)
{
    auto row = db::read(link, db::scope::single,
                        [&](db::transaction& tx) { return db::unfulfilled::by_id(tx, id); });
    if (!row)
        return std::nullopt;
    return unfulfilled{.id = id,
                       .code = std::move(row->code),
                       .detail = std::move(row->detail),
                       .request = parse_queued(row->request),
                       .refused_at = row->refused_at};
}

} // namespace holdfast::fast_path

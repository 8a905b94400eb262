// SPDX-License-Identifier: Apache-2.0
#include "service/trail.hpp"

#include "db/transact.hpp"
#include "sql/trail.hpp"

#include <limits>

namespace holdfast::trail {

void note(db::transaction& tx, staff const& by, deed const& what)
{
    tx.exec(sql::trail::append, by.actor, what.action, what.subject, what.detail, by.request_id);
}

std::vector<trail_entry> list(db::link& link, trail_filter const& filter)
{
    auto const before = filter.before.value_or(std::numeric_limits<std::int64_t>::max());
    return db::read(link, db::scope::single, [&](db::transaction& tx) {
        return tx.many<trail_entry>(sql::trail::newest, filter.actor, filter.subject, before,
                                    filter.limit);
    });
}

} // namespace holdfast::trail

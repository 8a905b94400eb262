// SPDX-License-Identifier: Apache-2.0
#include "service/readiness.hpp"

#include "assets.hpp"
#include "db/migrate.hpp"
#include "db/transact.hpp"
#include "sql/readiness.hpp"

namespace holdfast {

std::vector<std::string> database_is_ready(db::link& link)
{
    std::vector<std::string> reasons;
    auto const can_write = db::read(link, db::scope::single, [](db::transaction& tx) {
        return tx.one<bool>(sql::readiness::can_write);
    });
    if (!can_write)
        reasons.emplace_back("The database is a standby and takes no writes.");
    if (auto fault = db::schema_fault(link.session(), assets::schema); !fault.empty())
        reasons.push_back(std::move(fault));
    return reasons;
}

} // namespace holdfast

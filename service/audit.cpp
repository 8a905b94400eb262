// SPDX-License-Identifier: Apache-2.0
#include "service/audit.hpp"

#include "db/transact.hpp"
#include "sql/audit.hpp"

namespace holdfast {

namespace {

constexpr std::int64_t violations_max = 1000;

// Reading a ledger of millions of lines takes a while.
constexpr auto patience = std::chrono::minutes(5);

} // namespace

audit_report run_audit(db::link& link)
{
    return db::read(link, db::scope::snapshot, [](db::transaction& tx) {
        tx.allow(patience);
        tx.read_whole_tables();
        audit_report report{.checked = tx.one<std::int64_t>(sql::audit::looked_at),
                            .violations = {}};
        auto const check = [&](auto const& statement) {
            auto const room = violations_max - static_cast<std::int64_t>(report.violations.size());
            for (auto& found : tx.many<violation>(statement, room))
                report.violations.push_back(std::move(found));
        };
        check(sql::audit::reserved_differs);
        check(sql::audit::level_differs);
        check(sql::audit::chain_breaks);
        check(sql::audit::promised_too_much);
        check(sql::audit::line_differs);
        check(sql::audit::confirmed_differs);
        check(sql::audit::limit_passed);
        return report;
    });
}

std::optional<audit_report> auditor::run(db::link& link)
{
    std::unique_lock const turn(running_, std::try_to_lock);
    if (!turn)
        return std::nullopt;
    return run_audit(link);
}

} // namespace holdfast

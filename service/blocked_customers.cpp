// SPDX-License-Identifier: Apache-2.0
#include "service/blocked_customers.hpp"

#include "db/transact.hpp"
#include "sql/blocked_customers.hpp"

#include <utility>

namespace holdfast {

namespace {

refusal too_many()
{
    return {.code = errc::validation_failed,
            .detail = "The list of blocked customers is full.",
            .errors = {{"", "there are " + std::to_string(blocked_customers_max) +
                                " blocked customers already"}}};
}

} // namespace

result<block_answer> blocked_customers::block(db::link& link, block_command const& cmd)
{
    bool was_new = false; // when a commit's answer was lost, the work finds what it did itself
    auto answer = db::transact(link, [&](db::transaction& tx) -> result<block_answer> {
        tx.exec(sql::blocked_customers::begin_change);
        was_new =
            !tx.maybe<blocked_customer>(sql::blocked_customers::find, cmd.customer) || was_new;
        auto made = tx.maybe<blocked_customer>(sql::blocked_customers::block, cmd.customer,
                                               cmd.reason, cmd.actor, blocked_customers_max);
        if (!made)
            return too_many();
        return block_answer{std::move(*made), was_new};
    });
    refresh(link);
    return answer;
}

result<void> blocked_customers::unblock(db::link& link, std::string const& customer)
{
    bool was_there = false; // a commit whose answer was lost has removed it already
    bool const is_removed = db::transact(link, [&](db::transaction& tx) {
        tx.exec(sql::blocked_customers::begin_change);
        was_there = tx.exec(sql::blocked_customers::unblock, customer) > 0 || was_there;
        return was_there;
    });
    refresh(link);
    if (!is_removed)
        return refusal{.code = errc::not_found, .detail = "This customer is not blocked."};
    return {};
}

std::vector<blocked_customer> blocked_customers::list(db::link& link,
                                                      blocked_filter const& filter) const
{
    return db::read(link, db::scope::single, [&](db::transaction& tx) {
        return tx.many<blocked_customer>(sql::blocked_customers::list, filter.after, filter.limit);
    });
}

bool blocked_customers::remembers(std::string const& customer) const
{
    std::shared_ptr<names const> known;
    {
        std::scoped_lock const lock(mutex_);
        known = remembered_;
    }
    return known->contains(customer);
}

void blocked_customers::refresh(db::link& link)
{
    struct found {
        std::int64_t revision = 0;
        std::optional<names> read; // only when it has changed
    };
    std::int64_t known = 0;
    {
        std::scoped_lock const lock(mutex_);
        known = revision_;
    }
    auto now = db::read(link, db::scope::snapshot, [&](db::transaction& tx) {
        found seen{.revision = tx.one<std::int64_t>(sql::blocked_customers::revision), .read = {}};
        if (seen.revision == known)
            return seen;
        auto all = tx.many<std::string>(sql::blocked_customers::all);
        seen.read.emplace(std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
        return seen;
    });
    if (!now.read)
        return;
    std::scoped_lock const lock(mutex_);
    if (now.revision <= revision_)
        return; // somebody who began later has finished earlier
    remembered_ = std::make_shared<names const>(std::move(*now.read));
    revision_ = now.revision;
}

} // namespace holdfast

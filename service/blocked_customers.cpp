// SPDX-License-Identifier: Apache-2.0
#include "service/blocked_customers.hpp"

#include "db/transact.hpp"
#include "service/json_writer.hpp"
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

void note_block(db::transaction& tx, block_command const& cmd)
{
    json_writer detail;
    detail.begin_object();
    detail.member("reason", cmd.reason);
    detail.end_object();
    trail::note(tx, {cmd.actor, cmd.request_id},
                {"customer.blocked", "customer:" + cmd.customer, detail.take()});
}

} // namespace

result<block_answer> blocked_customers::block(db::link& link, block_command const& cmd)
{
    bool was_new = false; // when a commit's answer was lost, the work finds what it did itself
    auto answer = db::transact(link, [&](db::transaction& tx) -> result<block_answer> {
        tx.exec(sql::blocked_customers::begin_change);
        auto const present = tx.maybe<blocked_customer>(sql::blocked_customers::find, cmd.customer);
        was_new = was_new || !present;
        auto made = tx.maybe<blocked_customer>(sql::blocked_customers::block, cmd.customer,
                                               cmd.reason, cmd.actor, blocked_customers_max);
        if (!made)
            return too_many();
        if (!present || present->reason != cmd.reason)
            note_block(tx, cmd);
        return block_answer{std::move(*made), was_new};
    });
    return answer;
}

result<void> blocked_customers::unblock(db::link& link, std::string const& customer,
                                        staff const& by)
{
    bool was_there = false; // a commit whose answer was lost has removed it already
    bool const is_removed = db::transact(link, [&](db::transaction& tx) {
        tx.exec(sql::blocked_customers::begin_change);
        if (tx.exec(sql::blocked_customers::unblock, customer) > 0) {
            was_there = true;
            trail::note(tx, by, {"customer.unblocked", "customer:" + customer});
        }
        return was_there;
    });
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

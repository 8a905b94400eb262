// SPDX-License-Identifier: Apache-2.0
// reservations::reserve: attempts (service/attempt.hpp) until every request has its answer, with
// the units of due holds returned in between where that may help.
#include "db/transact.hpp"
#include "service/attempt.hpp"
#include "service/availability.hpp"
#include "service/expiry.hpp"
#include "service/ledger.hpp"
#include "service/overload.hpp"
#include "service/reservations.hpp"
#include "service/settlement.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace holdfast {

namespace {

// After a transaction that counted on what it saw had to run again, so many batches lock first: as
// a rule somebody else serves the same rush, and would be met again.
constexpr int wary_batches = 64;

} // namespace

std::vector<reserve_answer> reservations::reserve(db::link& link, reserve_commands cmds,
                                                  company how) const
{
    std::vector<reserve_answer> answers(cmds.size());
    try {
        go_rounds(link, cmds, how, answers);
    } catch (std::exception const&) {
        bool const is_any_done =
            std::ranges::any_of(answers, [](reserve_answer const& a) { return a && *a; });
        if (!is_any_done)
            throw;
        // What is committed has its answer; the others meet the fault again when they are alone.
    }
    return answers;
}

void reservations::go_rounds(db::link& link, reserve_commands cmds, company how,
                             std::span<reserve_answer> answers) const
{
    std::vector<std::size_t> pending(cmds.size());
    std::iota(pending.begin(), pending.end(), std::size_t{0});
    for (int round = 0; round < rounds_max && !pending.empty(); ++round) {
        std::vector<reserve_command const*> tried;
        for (auto const i : pending)
            tried.push_back(cmds[i]);
        auto given = try_reserve(link, tried, how);
        auto const is_done = [&](std::size_t n) { return given.answers[n] && *given.answers[n]; };
        for (std::size_t n = 0; n < pending.size(); ++n)
            if (is_done(n)) // committed, whatever comes next
                answers[pending[n]] = std::move(given.answers[n]);
        auto const may_retry = reclaim_for(link, tried, given);
        std::vector<std::size_t> left;
        for (std::size_t n = 0; n < pending.size(); ++n) {
            if (may_retry[n])
                left.push_back(pending[n]);
            else if (!is_done(n))
                answers[pending[n]] = std::move(given.answers[n]);
        }
        pending = std::move(left);
    }
}

result<outcome<reservation>> reservations::reserve(db::link& link, reserve_command const& cmd) const
{
    return idempotency::refuse_in_progress([&]() -> result<outcome<reservation>> {
        auto const* const one = &cmd;
        auto answer = reserve(link, std::span(&one, 1), company::alone).front();
        if (!answer)
            throw overloaded();
        return *std::move(answer);
    });
}

attempted reservations::try_reserve(db::link& link, reserve_commands cmds, company how) const
{
    attempted done;
    bool const is_wary = wary_ > 0;
    wary_ -= is_wary ? 1 : 0;
    int attempts = 0;
    auto const committed = db::transact(link, [&](db::transaction& tx) -> result<void> {
        bool const is_first = attempts++ == 0;
        if (!is_first && !is_wary)
            wary_ = wary_batches;
        done = attempt(tx, cmds, how, is_first && !is_wary ? trust::in_the_look : trust::in_locks,
                       strategies_, settings_, secret_of_tokens_);
        if (!done.has_written)
            return refusal{.code = errc::insufficient_stock}; // each answer says why
        return {};
    });
    if (committed)
        count(metrics_, done.movements);
    return done;
}

// For those who were refused: returns units of due holds where that may help, says which of them
// are to try again, and tells the others what is left.
std::vector<bool> reservations::reclaim_for(db::link& link, reserve_commands cmds,
                                            attempted& done) const
{
    std::vector<bool> may_retry(cmds.size());
    std::vector<std::size_t> short_ones;
    std::vector<wish> wishes;
    auto const& due = done.customers_with_due_holds;
    for (std::size_t i = 0; i < cmds.size(); ++i) {
        auto const& answer = done.answers[i];
        if (!answer || *answer)
            continue;
        if (answer->error().code == errc::customer_limit)
            may_retry[i] = std::ranges::find(due, *cmds[i]->customer) != due.end();
        if (answer->error().code == errc::insufficient_stock && answer->error().items.empty()) {
            short_ones.push_back(i);
            wishes.push_back({cmds[i]->lines, cmds[i]->supersedes});
        }
    }
    if (!due.empty())
        expire_due_of(link, due, metrics_);
    if (short_ones.empty())
        return may_retry;
    auto found = make_room(link, wishes, metrics_);
    for (std::size_t n = 0; n < short_ones.size(); ++n) {
        if (found[n].empty())
            may_retry[short_ones[n]] = true;
        else
            done.answers[short_ones[n]] = insufficient(std::move(found[n]));
    }
    return may_retry;
}

} // namespace holdfast

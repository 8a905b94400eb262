// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/desk.hpp"

#include "service/fast_path/unfulfilled.hpp"
#include "service/log.hpp"
#include "service/overload.hpp"
#include "service/waiter.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace holdfast::fast_path {

namespace {

// A request meets as many changes of the fast path at most before it is told to try later.
constexpr int tries_max = 12;

// How often a request looks again whether an item is closed for good.
constexpr auto closing_look = std::chrono::milliseconds(250);

// What a hold gave back that has just ended. Whoever asks once more is told the same, and Redis is
// not. Where Redis makes promises it is not told the number: the reconciler may have seen the units
// already, and would count them twice.
std::vector<telling> freed_by(reservation const& r, items const& all)
{
    std::vector<telling> told;
    if (!r.has_just_ended || r.state == reservation_state::expired)
        return told;
    for (auto const& line : r.lines) {
        auto const found = all.find(line.at.sku.str());
        if (found == all.end() || line.quantity == line.confirmed)
            continue;
        settlement what{.customer = r.customer.value_or("")};
        if (!found->second.is_async)
            what.lines.emplace_back(line.at.location.str(), line.quantity - line.confirmed);
        auto const home = home_of(r.customer, r.id.str(), found->second.buckets);
        add_freed(told, found->second, home, std::move(what));
    }
    return told;
}

using answer = std::optional<result<reserved>>;

answer to_answer(result<outcome<reservation>> done)
{
    if (!done)
        return std::move(done).error();
    return reserved(*std::move(done));
}

// What Redis alone has decided.
answer decision_of(admission const& entry)
{
    if (entry.may_only_replay())
        return std::nullopt;
    if (auto why = entry.refused())
        return *std::move(why);
    auto accepted = entry.accepted();
    if (!accepted)
        return std::nullopt;
    if (!*accepted)
        return std::move(*accepted).error();
    return reserved(**std::move(accepted));
}

} // namespace

desk::desk(lanes& l, worker_pool& w, roster& r, std::optional<gate>& g,
           reservation_settings const& settings, blocked_customers const& blocked, metrics& m)
    : lanes_(l), workers_(w), roster_(r), gate_(g), blocked_(blocked),
      has_hold_caps_(settings.open_holds_per_customer > 0), metrics_(m)
{}

boost::asio::awaitable<result<reserved>> desk::run(reserve_command& cmd)
{
    for (int tries = 0; tries < tries_max; ++tries) {
        auto const known = roster_.now();
        auto done = co_await attempt(cmd, *known);
        if (done)
            co_return *std::move(done);
    }
    throw overloaded();
}

// Nothing when something has changed, so that it is worth another attempt.
boost::asio::awaitable<desk::answer> desk::attempt(reserve_command& cmd, items const& known)
{
    // What PostgreSQL would judge by more than Redis knows is not accepted without it.
    bool const may_be_queued =
        !has_hold_caps_ && !known.empty() && !(cmd.customer && blocked_.remembers(*cmd.customer));
    admission entry(cmd, known, may_be_queued);
    if (!entry.concerns_redis())
        co_return co_await pass_on(cmd, entry, known);
    if (gate_)
        co_await gate_->ask(entry);
    auto const lost = gate_ ? entry.lost() : std::optional(entry.parts().front()->of);
    if (lost) {
        co_await pass_by(*lost);
        co_return std::nullopt;
    }
    auto decided = decision_of(entry);
    if (decided)
        co_return decided;
    cmd.id = entry.id();
    cmd.notes = entry.notes();
    cmd.may_only_replay = entry.may_only_replay();
    co_return co_await pass_on(cmd, entry, known);
}

// To PostgreSQL.
boost::asio::awaitable<desk::answer> desk::pass_on(reserve_command& cmd, admission const& entry,
                                                   items const& known)
{
    std::optional<item> missing;
    try {
        auto done = co_await lanes_.run(cmd);
        tell(entry, &done);
        if (!done && cmd.may_only_replay && done.error().code == errc::insufficient_stock)
            co_return answer(entry.refused().value());
        co_return to_answer(std::move(done));
    } catch (not_noted const& fault) {
        missing = item{fault.sku, 1, fault.epoch};
    } catch (overloaded const&) {
        tell(entry, nullptr);
        throw;
    }
    // After any other fault it may have happened: the reconciler will see.
    tell(entry, nullptr);
    co_await catch_up(*missing, known);
    co_return std::nullopt;
}

void desk::tell(admission const& entry, result<outcome<reservation>> const* done)
{
    if (!gate_ || !entry.concerns_redis())
        return;
    auto told = tellings_of(entry, done);
    // Which of two limits was met is not said, and only one of them is the item's.
    for (auto& each : told)
        if (each.what.fate == fate::limit && (has_hold_caps_ || entry.parts().size() > 1))
            each.what.fate = fate::back;
    gate_->tell(std::move(told));
}

// Waits until nobody asks Redis about the item any more.
boost::asio::awaitable<void> desk::pass_by(item const& which)
{
    auto const suspend = [&](db::link& link) { return roster_.suspend(link, which) ? 1 : 0; };
    auto const was_open = co_await workers_.run(suspend);
    if (was_open == 1) {
        metrics_.fast_path_suspended();
        log::warning("fast_path.suspended", {{"sku", which.sku.str()}, {"epoch", which.epoch}});
    }
    co_await rest(lease_is_over);
}

// What we knew was out of date. Where it is not, Redis has to be passed by.
boost::asio::awaitable<void> desk::catch_up(item const& missing, items const& known)
{
    if (missing.epoch < 0) { // closed by somebody: until the lease is over nobody goes past Redis
        co_await rest(closing_look);
        co_return;
    }
    auto const found = known.find(missing.sku.str());
    bool const is_news = found == known.end() || found->second.epoch != missing.epoch;
    if (!gate_ || !is_news) {
        co_await pass_by(missing);
        co_return;
    }
    auto const refresh = [&](db::link& link) {
        roster_.refresh(link);
        return 0;
    };
    co_await workers_.run(refresh);
}

boost::asio::awaitable<result<reservation>> desk::run(settle_command const& cmd)
{
    auto done = co_await lanes_.run(cmd);
    if (!gate_)
        co_return done;
    if (!done && done.error().code == errc::unknown_reservation)
        done = co_await run_queued(cmd);
    if (!done)
        co_return done;
    auto const told = freed_by(*done, *roster_.now());
    if (!told.empty())
        co_await gate_->tell_now(told);
    co_return done;
}

// What Redis has accepted under the id is carried out first. The queue finds it done then.
boost::asio::awaitable<result<reservation>> desk::run_queued(settle_command const& cmd)
{
    auto const id = std::visit([](auto const& c) { return c.id; }, cmd);
    auto const queued = co_await find_queued(id);
    if (!queued)
        co_return co_await run_late(cmd, id);
    auto const made = co_await carry_out(queued->command);
    if (!made)
        co_return made.error();
    co_return co_await lanes_.run(cmd);
}

// It may have left the queue in between, or been refused before.
boost::asio::awaitable<result<reservation>> desk::run_late(settle_command const& cmd,
                                                           uuid const& id)
{
    auto done = co_await lanes_.run(cmd);
    if (done || done.error().code != errc::unknown_reservation)
        co_return done;
    auto const find = [&id](db::link& link) { return find_unfulfilled(link, id); };
    auto const refused = co_await workers_.run(find);
    if (refused)
        co_return refusal{.code = errc::unknown_reservation,
                          .detail = "It was accepted, and then refused (" + refused->code +
                                    "): " + refused->detail};
    co_return done;
}

// Throws overloaded when Redis forgot it in this moment.
boost::asio::awaitable<result<outcome<reservation>>> desk::carry_out(reserve_command const& cmd)
{
    try {
        co_return co_await lanes_.run(cmd);
    } catch (not_noted const&) {
        throw overloaded();
    }
}

boost::asio::awaitable<std::optional<queued_request>> desk::find_queued(uuid const& id)
{
    std::vector<redis::request> requests;
    auto const queues = roster_.queues();
    for (auto const& each : *queues)
        if (gate_ && hint_of(each.sku) == id.hint())
            for (int i = 0; i < each.buckets; ++i)
                requests.push_back(find(bucket_of(gate_->prefix(), each.sku.str(), i), id));
    if (requests.empty())
        co_return std::nullopt;
    auto const replies = co_await gate_->run(requests);
    for (auto const& reply : replies)
        if (reply.why() == nullptr && !reply.is_nil())
            co_return parse_queued(reply.text());
    bool const is_sure =
        std::ranges::all_of(replies, [](redis::reply const& r) { return r.why() == nullptr; });
    if (!is_sure)
        throw overloaded();
    co_return std::nullopt;
}

} // namespace holdfast::fast_path

// SPDX-License-Identifier: Apache-2.0
#include "service/workers/reconciler.hpp"

#include "db/transact.hpp"
#include "redis/error.hpp"
#include "service/log.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

namespace holdfast::workers {

namespace {

using namespace fast_path;
namespace store = db::fast_path;

constexpr std::size_t keys_at_once = 5000;

constexpr auto never = redis_time(4'000'000'000'000'000);

redis_time by_redis(std::optional<timestamp> const& when, store::fact const& known, redis_time now,
                    redis_time otherwise)
{
    if (!when)
        return otherwise;
    return now + std::chrono::floor<std::chrono::milliseconds>(*when - known.now);
}

// The rules of the sale, good until the lease is over.
grant rules_of(store::fact const& known, redis_time now)
{
    return {.until = now + lease,
            .on_sale = known.on_sale,
            .opens = by_redis(known.sale_starts_at, known, now, redis_time(0)),
            .closes = by_redis(known.sale_ends_at, known, now, never),
            .limit = known.max_per_customer.value_or(0),
            .changes = {},
            .relieved = {}};
}

// An id before all that were made `age` ago or later: version 7 begins with the milliseconds.
uuid first_id_since(timestamp now, std::chrono::seconds age)
{
    auto const at = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()) - age;
    std::array<std::uint8_t, 16> bytes{};
    for (std::size_t i = 0; i < 6; ++i)
        bytes[i] = static_cast<std::uint8_t>(at.count() >> (8 * (5 - i)));
    bytes[6] = 0x70;
    bytes[8] = 0x80;
    return uuid::of(bytes);
}

metrics::drift_kind kind_of(db::drift::finding const& found)
{
    if (found.kind == "ledger")
        return metrics::drift_kind::ledger;
    return found.kind == "pending" ? metrics::drift_kind::pending : metrics::drift_kind::available;
}

void log_findings(std::vector<db::drift::finding> const& all)
{
    for (auto const& each : all)
        log::warning("fast_path.drift", {{"sku", each.sku},
                                         {"location", each.location},
                                         {"kind", each.kind},
                                         {"expected", each.expected},
                                         {"found", each.found},
                                         {"cause", each.cause}});
}

} // namespace

bool reconciler::seen::is_whole() const
{
    return std::ranges::all_of(buckets, [](sight const& bucket) { return bucket.is_whole(); });
}

reconciler::reconciler(reconciler_options options, roster& r, metrics& m)
    : options_(std::move(options)), redis_(options_.where, options_.limits), roster_(r), metrics_(m)
{}

bucket reconciler::bucket_of(item const& of, int number) const
{
    return fast_path::bucket_of(options_.prefix, of.sku.str(), number);
}

progress reconciler::step(db::link& link)
{
    auto const rows = roster_.refresh(link);
    if (!is_ours(link))
        return progress::done_for_now;
    std::erase_if(watched_, [&](auto const& each) {
        return std::ranges::none_of(rows, [&](store::row const& row) {
            return row.sku == each.first && row.epoch == each.second.item.epoch;
        });
    });
    deferred_faults met;
    std::vector<closing> closings;
    auto round = look(closings);
    if (!round.empty())
        met.run([&] { compare(link, round, met); });
    settle_all(link, rows, closings, met);
    met.throw_if_any();
    return progress::done_for_now;
}

// What has to be written into an item's row, which somebody may have locked. So it comes after all
// leases are given.
void reconciler::settle_all(db::link& link, std::vector<store::row> const& rows,
                            std::vector<closing> const& closings, deferred_faults& met)
{
    for (auto const& each : closings)
        met.run([&] { close(link, each.item, each.why); });
    for (auto& [name, each] : watched_)
        met.run([&, &of = each] { calm(link, of); });
    for (auto const& row : rows)
        met.run([&] { settle_row(link, row); });
}

void reconciler::settle_row(db::link& link, store::row const& row)
{
    if (row.queues > 0 && !row.is_async)
        retire_queues(link, row);
    if (!row.is_on)
        return;
    if (row.epoch == 0 && row.may_be_opened && clock::now() >= open_again_)
        open(link, row);
    else if (row.epoch != 0 && !watched_.contains(row.sku))
        close(link, item_of(row), "another process kept it in line");
}

// Whether this process keeps Redis up to date. Whoever loses his session loses that as well.
bool reconciler::is_ours(db::link& link)
{
    if (our_session_ == link.sessions_made() && our_session_ != 0)
        return true;
    bool const is_taken =
        db::read(link, db::scope::single, [](db::transaction& tx) { return store::try_own(tx); });
    our_session_ = is_taken ? link.sessions_made() : 0;
    watched_.clear();
    return is_taken;
}

bool reconciler::is_worked_off(store::row const& row)
{
    std::vector<redis::request> requests;
    for (int i = 0; i < row.queues; ++i)
        requests.push_back(queue_length(fast_path::bucket_of(options_.prefix, row.sku, i)));
    return std::ranges::all_of(redis_.run(requests), [](redis::reply const& length) {
        auto const* why = length.why();
        return why == nullptr ? length.number() == 0 : why->kind() == "WRONGTYPE"; // no queue
    });
}

// Of an item that Redis accepts nothing for any more: once they are empty they are gone.
void reconciler::retire_queues(db::link& link, store::row const& row)
{
    if (!is_worked_off(row))
        return;
    bool const is_retired =
        db::transact(link, [&](db::transaction& tx) { return store::retire_queues(tx, row.sku); });
    if (!is_retired)
        return;
    std::vector<redis::request> requests;
    for (int i = 0; i < row.queues; ++i)
        requests.push_back(drop_queue(fast_path::bucket_of(options_.prefix, row.sku, i)));
    static_cast<void>(redis_.run(requests)); // an empty one that stays does no harm
}

// Begins an epoch: Redis first, which only notes requests from now on, then PostgreSQL, which wants
// them to be noted.
void reconciler::open(db::link& link, store::row const& row)
{
    auto of = item_of(row);
    if (!is_worked_off(row))
        return;
    of.epoch = db::transact(link, [](db::transaction& tx) { return store::next_epoch(tx); });
    std::vector<redis::request> requests;
    for (int i = 0; i < of.buckets; ++i)
        requests.push_back(load(bucket_of(of, i), of.epoch, of.sku.str(), of.is_async));
    for (auto const& reply : redis_.run(requests)) {
        auto const* why = reply.why();
        if (why == nullptr && reply.number() == 1)
            continue;
        if (why == nullptr && reply.number() < 0)
            return; // its queue is being worked off
        open_again_ = clock::now() + std::chrono::seconds(1);
        log::warning("fast_path.not_loaded",
                     {{"sku", of.sku.str()},
                      {"reason", why != nullptr ? why->text : "Redis has a later epoch of it"}});
        return;
    }
    bool const is_open = db::transact(
        link, [&](db::transaction& tx) { return store::open(tx, of.sku.str(), of.epoch); });
    if (is_open)
        watch(link, of);
}

// Whatever began before this moment may not have been noted.
void reconciler::watch(db::link& link, item const& of)
{
    watched made{.item = of};
    made.opened_at = db::read(link, db::scope::single, [](db::transaction& tx) {
                         return store::read_times(tx);
                     }).now;
    watched_.insert_or_assign(of.sku.str(), std::move(made));
    roster_.refresh(link);
}

// Notes requests that PostgreSQL has, once no transaction is under way that began before the epoch.
// Some in each round, since other items wait for theirs.
void reconciler::note_some(db::link& link, watched& of)
{
    auto const& name = of.item.sku.str();
    auto const read = [&](auto const& look) { return db::read(link, db::scope::single, look); };
    if (!of.noted_up_to) {
        auto const times = read([](db::transaction& tx) { return store::read_times(tx); });
        if (times.oldest_began <= of.opened_at)
            return;
        of.is_new =
            read([&](db::transaction& tx) { return store::keys(tx, name, uuid(), 1); }).empty();
        of.noted_up_to = first_id_since(times.now, options_.keep_keys);
    }
    auto const page = read(
        [&](db::transaction& tx) { return store::keys(tx, name, *of.noted_up_to, keys_at_once); });
    std::map<int, std::vector<std::string>> notes;
    for (auto const& each : page) {
        auto const note = note_of(each.api_key_id, each.key);
        notes[home_of(each.customer, note, of.item.buckets)].push_back(note);
    }
    std::vector<redis::request> requests;
    for (auto const& [number, some] : notes)
        requests.push_back(note(bucket_of(of.item, number), of.item.epoch, some));
    for (auto const& reply : redis_.run(requests))
        if (reply.number() != 1)
            return; // the next look will see why
    of.is_loaded = page.size() < keys_at_once;
    if (!page.empty())
        of.noted_up_to = page.back().reservation;
}

// Whether the numbers could not be compared for too long. A new epoch knows of nothing under way.
bool reconciler::is_crowded(watched& of, std::vector<sight> const& buckets) const
{
    if (std::ranges::all_of(buckets, &sight::is_whole)) {
        of.crowded_since.reset();
        return false;
    }
    if (!of.crowded_since)
        of.crowded_since = clock::now();
    return clock::now() - *of.crowded_since > options_.crowded_max;
}

// All buckets of all items at once. What cannot be relied on is left to PostgreSQL.
std::vector<reconciler::seen> reconciler::look(std::vector<closing>& closings)
{
    rounds_ = (rounds_ + 1) % options_.rounds_between;
    auto const pending_max = rounds_ == 0
                                 ? options_.pending_max
                                 : std::min(options_.pending_max, options_.pending_at_once);
    std::vector<redis::request> requests;
    for (auto const& [name, each] : watched_)
        for (int i = 0; i < each.item.buckets; ++i)
            requests.push_back(fast_path::look(bucket_of(each.item, i), pending_max));
    auto const replies = redis_.run(requests);
    std::vector<seen> round;
    std::size_t at = 0;
    for (auto& [name, each] : watched_) {
        seen made{.of = &each};
        std::string fault;
        for (int i = 0; i < each.item.buckets; ++i) {
            auto const& reply = replies[at++];
            if (auto const* why = reply.why()) {
                fault = why->text;
                continue;
            }
            auto sight = read_sight(reply);
            if (!sight || sight->epoch != each.item.epoch)
                fault = "Redis has lost the item, has it from another time, or cannot be read";
            else if (!sight->is_same_server)
                fault = "Redis was restarted, or a replica has taken over";
            else
                made.buckets.push_back(*std::move(sight));
        }
        if (fault.empty() && is_crowded(each, made.buckets))
            fault = "more requests are under way than can be compared";
        if (fault.empty())
            round.push_back(std::move(made));
        else
            closings.push_back({each.item, fault});
    }
    return round;
}

void reconciler::close(db::link& link, item const& which, std::string const& why)
{
    if (!roster_.close(link, which))
        return; // somebody else has, or has its row locked: the next round will see
    log::warning("fast_path.closed",
                 {{"sku", which.sku.str()}, {"epoch", which.epoch}, {"reason", why}});
    metrics_.fast_path_suspended();
}

void reconciler::compare(db::link& link, std::vector<seen>& round, deferred_faults& met)
{
    std::vector<std::string> names;
    std::vector<uuid> ids;
    std::vector<store::fact> limited;
    for (auto const& each : round) {
        names.push_back(each.of->item.sku.str());
        for (auto const& bucket : each.buckets)
            for (auto const& request : bucket.pending)
                ids.push_back(request.id);
        for (auto const& [location, known] : each.of->before)
            if (known.max_per_customer)
                limited.push_back(known);
    }
    std::vector<store::fact> all;
    std::vector<uuid> made;
    std::vector<store::relief> relieved;
    db::read(link, db::scope::snapshot, [&](db::transaction& tx) {
        all = store::facts(tx, names);
        made = ids.empty() ? std::vector<uuid>() : store::made(tx, ids);
        relieved = limited.empty() ? std::vector<store::relief>() : store::relieved(tx, limited);
        return 0;
    });
    auto const now = by_sku(all);
    std::set<uuid> const known(made.begin(), made.end());
    std::map<std::string, std::vector<std::string>> customers;
    for (auto const& each : relieved)
        customers[each.sku].push_back(each.customer);
    std::erase_if(round, [&](seen const& each) { return !now.contains(each.of->item.sku.str()); });
    std::vector<db::drift::finding> findings;
    for (auto& each : round) {
        each.is_loaded = each.of->is_loaded;
        if (!each.is_loaded)
            met.run([&] { note_some(link, *each.of); });
        judge(each, now.at(each.of->item.sku.str()), known, findings);
    }
    record(link, round, findings);
    std::vector<redis::request> requests;
    for (auto& each : round) {
        auto const name = each.of->item.sku.str();
        if (each.is_loaded && !each.is_stopped)
            correct(each, now.at(name), known, customers[name], requests);
    }
    take_in(round, now, redis_.run(requests), met);
}

// What is known only once Redis has answered: what it was not told of has to be read once more.
void reconciler::take_in(std::vector<seen>& round, std::map<std::string, facts> const& now,
                         std::vector<redis::reply> const& replies, deferred_faults& met)
{
    for (auto const& reply : replies)
        if (auto const* why = reply.why())
            met.keep(std::make_exception_ptr(redis::error(why->text)));
    for (auto& each : round) {
        auto const& read = now.at(each.of->item.sku.str());
        each.of->before = read;
        auto const told = std::span(replies).subspan(each.first_request);
        if (each.is_loaded && !each.is_stopped && each.is_whole() &&
            std::ranges::all_of(told.first(each.buckets.size()), [](redis::reply const& reply) {
                return reply.why() == nullptr && reply.number() == 1;
            }))
            each.of->agreed = agree(each.agreed, read);
    }
}

void reconciler::calm(db::link& link, watched& of)
{
    if (of.is_calm || clock::now() - of.since <= options_.calm_after)
        return;
    of.is_calm = db::transact(link, [&](db::transaction& tx) {
        return store::calm(tx, of.item.sku.str(), of.item.epoch);
    });
}

// What is wrong with one item, and what of that nothing explains. What was agreed on is forgotten
// until Redis has been told, so that a round that fails leaves nothing to judge by; where not all
// is seen Redis is told nothing new.
void reconciler::judge(seen& one, facts const& now, std::set<uuid> const& made,
                       std::vector<db::drift::finding>& findings)
{
    judge_ledger(one, now, findings);
    if (!one.is_loaded || !one.is_whole())
        return;
    one.agreed = std::exchange(one.of->agreed, {});
    one.wrong = differences(one.of->before, now, handed_to_redis(one.buckets, made));
    auto const unexplained = drifted(one.agreed, now, one.wrong, options_.news_max);
    units total = 0;
    for (auto const& each : unexplained)
        total += std::abs(each.found - each.expected);
    one.is_stopped = total > options_.repair_max;
    auto const& of = one.of->item;
    for (auto const& each : unexplained)
        findings.push_back({.sku = of.sku.str(),
                            .location = each.location,
                            .kind = "available",
                            .expected = each.expected,
                            .found = each.found,
                            .cause = "nothing in PostgreSQL explains it: somebody wrote into "
                                     "Redis, or it lost units",
                            .is_repaired = !one.is_stopped,
                            .epoch = of.epoch,
                            .level = level_of(now.at(each.location))});
    for (auto const& [location, back] : given_back(one.buckets, made)) {
        auto const known = now.find(location);
        findings.push_back({.sku = of.sku.str(),
                            .location = location,
                            .kind = "pending",
                            .expected = 0,
                            .found = back,
                            .cause = "a process ended, or lost the database, between Redis and "
                                     "the commit",
                            .is_repaired = !one.is_stopped,
                            .epoch = of.epoch,
                            .level = known == now.end() ? stock_level() : level_of(known->second)});
    }
}

// Levels that the ledger does not explain, each version once.
void reconciler::judge_ledger(seen& one, facts const& now,
                              std::vector<db::drift::finding>& findings)
{
    auto& told = one.of->told; // noted when it is written down
    for (auto const& [location, known] : now) {
        auto const fault = ledger_fault_of(known);
        if (!fault) {
            told.erase(location);
            continue;
        }
        auto const before = told.find(location);
        if (before != told.end() && before->second == known.version)
            continue;
        findings.push_back({.sku = known.sku,
                            .location = location,
                            .kind = "ledger",
                            .expected = fault->expected,
                            .found = fault->found,
                            .cause = fault->cause,
                            .is_repaired = false,
                            .epoch = one.of->item.epoch,
                            .level = level_of(known)});
    }
}

// Before anything is repaired, so that nothing is repaired that nobody hears of.
void reconciler::record(db::link& link, std::vector<seen> const& round,
                        std::vector<db::drift::finding> const& findings)
{
    if (findings.empty())
        return;
    db::transact(link, [&](db::transaction& tx) {
        db::drift::write(tx, findings);
        for (auto const& each : round)
            if (each.is_stopped)
                store::stop(tx, each.of->item.sku.str(), each.of->item.epoch);
        return 0;
    });
    for (auto const& each : findings) {
        metrics_.fast_path_drifted(kind_of(each), std::abs(each.found - each.expected));
        if (each.kind == "ledger")
            watched_.at(each.sku).told[each.location] = each.level.version;
    }
    log_findings(findings);
    for (auto const& each : round)
        if (each.is_stopped) {
            metrics_.fast_path_suspended();
            log::warning("fast_path.stopped",
                         {{"sku", each.of->item.sku.str()}, {"epoch", each.of->item.epoch}});
        }
    if (std::ranges::any_of(round, &seen::is_stopped))
        roster_.refresh(link);
}

// What one item has to be told.
void reconciler::correct(seen& one, facts const& now, std::set<uuid> const& made,
                         std::vector<std::string> const& relieved,
                         std::vector<redis::request>& requests)
{
    auto const& limit = now.begin()->second.max_per_customer;
    one.of->is_new = one.of->is_new && one.of->limit.value_or(limit) == limit;
    one.of->limit = one.of->limit.value_or(limit);
    auto const& of = one.of->item;
    for (auto const& each : one.wrong)
        metrics_.fast_path_corrected(each.expected > each.found ? "more" : "fewer",
                                     std::abs(each.expected - each.found));
    auto const given = one.is_whole()
                           ? spread(one.buckets, one.wrong)
                           : std::vector<std::map<std::string, units>>(one.buckets.size());
    // Before customers are relieved of what they had: it may be among that. Of what is not whole
    // some buckets show none of theirs, so nothing is settled by it.
    if (one.is_whole())
        for (auto const& each : leftovers(one.buckets, made)) {
            std::vector<settlement> const told{{.id = each.id.str(), .fate = each.what}};
            requests.push_back(settle(bucket_of(of, each.bucket), of.epoch, told));
        }
    one.first_request = requests.size();
    for (std::size_t i = 0; i < one.buckets.size(); ++i) {
        auto const number = static_cast<int>(i);
        auto granted = rules_of(now.begin()->second, one.buckets[i].now);
        granted.is_all_known = one.of->is_new;
        granted.changes.assign(given[i].begin(), given[i].end());
        granted.relieved = relieved; // each bucket that served him has counted
        requests.push_back(give(bucket_of(of, number), of.epoch, granted));
    }
}

} // namespace holdfast::workers

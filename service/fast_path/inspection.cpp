// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/inspection.hpp"

#include "db/transact.hpp"
#include "service/waiter.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

namespace holdfast::fast_path {

namespace {

namespace store = db::fast_path;

constexpr std::size_t pending_max = 20'000;
constexpr int looks = 5;
constexpr auto between_looks = std::chrono::milliseconds(200);

std::vector<redis::request> looks_of(std::vector<store::row> const& rows, std::string_view prefix,
                                     std::size_t pending_told)
{
    std::vector<redis::request> requests;
    for (auto const& row : rows)
        for (int i = 0; i < row.buckets; ++i)
            requests.push_back(look(bucket_of(prefix, row.sku, i), pending_told));
    return requests;
}

// The buckets of one item, or nothing when one of them is missing or from another epoch.
std::optional<std::vector<sight>> sights_of(store::row const& row, redis::reply const* replies)
{
    std::vector<sight> sights;
    for (int i = 0; i < row.buckets; ++i) {
        if (replies[i].why() != nullptr)
            return std::nullopt;
        auto one = read_sight(replies[i]);
        if (!one || one->epoch != row.epoch)
            return std::nullopt;
        sights.push_back(*std::move(one));
    }
    return sights;
}

standing standing_of(store::row const& row, std::optional<std::vector<sight>> const& sights)
{
    auto const of = item_of(row);
    standing made{.sku = of.sku,
                  .buckets = of.buckets,
                  .epoch = of.epoch,
                  .is_stopped = row.is_stopped,
                  .is_async = row.is_async};
    if (row.epoch == 0 || !sights)
        return made;
    made.is_live = std::ranges::all_of(*sights, [](sight const& s) { return s.now < s.until; });
    for (auto const& bucket : *sights) {
        for (auto const& [location, level] : bucket.levels) {
            made.available += level.available;
            made.held += level.held;
        }
    }
    return made;
}

// How long the queues of an item are, which may be of an epoch before, and how the nodes that have
// them write to disk.
std::vector<redis::request> questions_of_queues(store::row const& row, std::string_view prefix)
{
    std::vector<redis::request> requests;
    for (int i = 0; i < row.queues; ++i) // there may be more than buckets now
        requests.push_back(queue_length(bucket_of(prefix, row.sku, i)));
    for (int i = 0; i < row.buckets; ++i)
        requests.push_back({bucket_of(prefix, row.sku, i).state, {"CONFIG", "GET", "append*"}});
    return requests;
}

std::string durability_of(redis::reply const& settings)
{
    if (settings.why() != nullptr)
        return "unknown"; // it may not be asked
    std::map<std::string, std::string> values;
    auto const& list = settings.parts();
    for (std::size_t i = 0; i + 1 < list.size(); i += 2)
        values[list[i].text()] = list[i + 1].text();
    return values["appendonly"] == "yes" ? values["appendfsync"] : "off";
}

std::int64_t sum_of(std::span<redis::reply const> lengths)
{
    std::int64_t sum = 0;
    for (auto const& each : lengths)
        sum += each.why() == nullptr ? each.number() : 0;
    return sum;
}

std::string weakest(std::span<redis::reply const> replies)
{
    static constexpr std::array<std::string_view, 5> by_strength{"unknown", "off", "no", "everysec",
                                                                 "always"};
    auto weakest = by_strength.end();
    for (auto const& reply : replies)
        weakest = std::min(weakest, std::ranges::find(by_strength, durability_of(reply)));
    return weakest == by_strength.end() ? std::string("unknown") : std::string(*weakest);
}

bool is_same(finding const& a, finding const& b)
{
    return a.sku == b.sku && a.location == b.location && a.kind == b.kind &&
           (a.found < a.expected) == (b.found < b.expected);
}

std::string cause_of(difference const& d)
{
    if (d.found < d.expected)
        return "units came back, or were taken in Redis for a request that never came to be";
    return "units were sold or taken out past Redis";
}

finding not_loaded(item const& of)
{
    return {of.sku, "", "not-loaded", 0, 0, "PostgreSQL serves it alone until Redis is loaded"};
}

finding stopped(item const& of, std::vector<db::drift::stop> const& all)
{
    finding made{
        of.sku,
        "",
        "stopped",
        0,
        0,
        "nothing explained what was wrong in Redis, and it was more than redis_repair_max"};
    for (auto const& each : all)
        if (each.sku == of.sku.str()) {
            made.expected = each.expected;
            made.found = each.found;
        }
    return made;
}

} // namespace

inspector::inspector(worker_pool& w, roster& r, std::optional<gate>& g)
    : workers_(w), roster_(r), gate_(g)
{}

boost::asio::awaitable<std::vector<standing>> inspector::show(std::optional<sku> const& only)
{
    auto const read_all = [](db::link& link) {
        return db::read(link, db::scope::single,
                        [](db::transaction& tx) { return store::all(tx); });
    };
    auto rows = co_await workers_.run(read_all);
    std::erase_if(rows, [&](store::row const& row) {
        return !row.is_on || (only && row.sku != only->str());
    });
    std::vector<redis::reply> replies;
    if (gate_) {
        auto asked = looks_of(rows, gate_->prefix(), 0);
        for (auto const& row : rows)
            if (row.is_async)
                std::ranges::move(questions_of_queues(row, gate_->prefix()),
                                  std::back_inserter(asked));
        replies = co_await gate_->run(asked);
    }
    std::vector<standing> all;
    std::size_t at = 0;
    for (auto const& row : rows) {
        all.push_back(standing_of(row, gate_ ? sights_of(row, replies.data() + at) : std::nullopt));
        at += static_cast<std::size_t>(row.buckets);
    }
    for (std::size_t i = 0; gate_ && i < rows.size(); ++i) {
        if (!rows[i].is_async)
            continue;
        auto const queues = static_cast<std::size_t>(rows[i].queues);
        auto const buckets = static_cast<std::size_t>(rows[i].buckets);
        std::span<redis::reply const> const rest(replies);
        all[i].queue_length = sum_of(rest.subspan(at, queues));
        all[i].appendfsync = weakest(rest.subspan(at + queues, buckets));
        at += queues + buckets;
    }
    co_return all;
}

struct inspector::state {
    std::vector<store::row> rows;
    std::map<std::string, facts> known;
    std::set<uuid> made;
    std::vector<db::drift::stop> stops;
};

boost::asio::awaitable<inspector::state> inspector::read(std::vector<uuid> const& ids)
{
    auto const look = [&ids](db::transaction& tx) {
        state now{.rows = store::all(tx)};
        std::erase_if(now.rows, [](store::row const& row) { return !row.is_on; });
        std::vector<std::string> names, stopped;
        for (auto const& row : now.rows) {
            names.push_back(row.sku);
            if (row.is_stopped)
                stopped.push_back(row.sku);
        }
        now.known = by_sku(store::facts(tx, names));
        if (!stopped.empty())
            now.stops = db::drift::last_stops(tx, stopped);
        if (!ids.empty())
            for (auto const& id : store::made(tx, ids))
                now.made.insert(id);
        return now;
    };
    auto const work = [&look](db::link& link) { return db::read(link, db::scope::snapshot, look); };
    co_return co_await workers_.run(work);
}

boost::asio::awaitable<inspector::round> inspector::look()
{
    round found;
    std::vector<uuid> pending;
    auto const before = co_await read(pending);
    auto const asked = looks_of(before.rows, gate_->prefix(), pending_max);
    auto const replies = co_await gate_->run(asked);
    std::vector<std::optional<std::vector<sight>>> sights;
    std::size_t at = 0;
    for (auto const& row : before.rows) {
        sights.push_back(sights_of(row, replies.data() + at));
        if (sights.back() && !std::ranges::all_of(*sights.back(), &sight::is_whole))
            sights.back().reset();
        at += static_cast<std::size_t>(row.buckets);
        for (auto const& bucket : sights.back().value_or(std::vector<sight>()))
            for (auto const& request : bucket.pending)
                pending.push_back(request.id);
    }
    auto const after = co_await read(pending);
    for (std::size_t i = 0; i < before.rows.size(); ++i)
        add(found, before.rows[i], before, after, sights[i]);
    co_return found;
}

// What is wrong with one item.
void inspector::add(round& found, store_row const& row, state const& before, state const& after,
                    std::optional<std::vector<sight>> const& sights)
{
    auto const of = item_of(row);
    auto const first = before.known.find(row.sku);
    auto const now = after.known.find(row.sku);
    if (now != after.known.end())
        for (auto const& [location, known] : now->second)
            if (auto const fault = ledger_fault_of(known)) {
                found.findings.push_back({of.sku, location, "ledger", fault->expected, fault->found,
                                          fault->cause, row.epoch, level_of(known)});
                found.repairs.emplace_back(std::nullopt);
            }
    if (!sights || row.epoch == 0) {
        found.findings.push_back(row.is_stopped ? stopped(of, after.stops) : not_loaded(of));
        found.repairs.emplace_back(std::nullopt);
        return;
    }
    if (first == before.known.end() || now == after.known.end())
        return;
    for (auto const& each :
         differences(first->second, now->second, handed_to_redis(*sights, after.made))) {
        auto const known = now->second.find(each.location);
        found.findings.push_back(
            {of.sku, each.location, "available", each.expected,
             std::clamp(each.found, -level_max, level_max), cause_of(each), row.epoch,
             known == now->second.end() ? stock_level() : level_of(known->second)});
        bool const is_missing = each.found < each.expected;
        auto const by = is_missing ? each.expected - each.found : each.found - each.expected;
        settlement change{.fate = is_missing ? fate::freed : fate::sold};
        change.lines.emplace_back(each.location, by);
        found.repairs.push_back(telling{of, 0, std::move(change)});
    }
    for (auto const& each : leftovers(*sights, after.made)) {
        found.findings.push_back({of.sku, "", "pending", 0, 1,
                                  each.what == fate::kept
                                      ? "a reservation was committed, and Redis was not told"
                                      : "a process ended between Redis and the commit",
                                  row.epoch});
        found.repairs.push_back(telling{of, each.bucket, {.id = each.id.str(), .fate = each.what}});
    }
}

boost::asio::awaitable<inspection> inspector::compare(bool repair)
{
    inspection made;
    if (!gate_)
        co_return made;
    auto last = co_await look();
    for (int n = 1; n < looks && !last.findings.empty(); ++n) {
        co_await rest(between_looks);
        auto now = co_await look();
        auto const before = std::exchange(last, std::move(now));
        round kept;
        for (std::size_t i = 0; i < last.findings.size(); ++i)
            if (std::ranges::any_of(before.findings, [&](finding const& was) {
                    return is_same(was, last.findings[i]);
                })) {
                kept.findings.push_back(last.findings[i]);
                kept.repairs.push_back(last.repairs[i]);
            }
        last = std::move(kept);
    }
    if (repair)
        made.repaired = co_await put_right(last);
    made.findings = std::move(last.findings);
    co_return made;
}

// Returns how many of the findings were repaired. Written down before, so that nothing is repaired
// that nobody hears of.
boost::asio::awaitable<std::size_t> inspector::put_right(round const& last)
{
    std::vector<telling> told;
    std::vector<db::drift::finding> repaired;
    std::vector<std::string> resumed;
    for (std::size_t i = 0; i < last.findings.size(); ++i) {
        auto const& each = last.findings[i];
        if (last.repairs[i])
            told.push_back(*last.repairs[i]);
        else if (each.kind == "stopped")
            resumed.push_back(each.sku.str());
        else
            continue;
        repaired.push_back({each.sku.str(), each.location, each.kind, each.expected, each.found,
                            each.cause, true, each.epoch, each.level});
    }
    if (repaired.empty())
        co_return 0;
    auto const write = [&](db::transaction& tx) {
        db::drift::write(tx, repaired);
        for (auto const& each : resumed)
            store::resume(tx, each);
        return 0;
    };
    auto const work = [&write](db::link& link) { return db::transact(link, write); };
    co_await workers_.run(work);
    if (!told.empty())
        co_await gate_->tell_now(told);
    co_return repaired.size();
}

boost::asio::awaitable<std::vector<past_finding>> inspector::history(drift_filter const& filter)
{
    auto const look = [&filter](db::transaction& tx) {
        return db::drift::newest(tx, filter.sku, filter.before, filter.limit);
    };
    auto const work = [&look](db::link& link) { return db::read(link, db::scope::single, look); };
    co_return co_await workers_.run(work);
}

} // namespace holdfast::fast_path

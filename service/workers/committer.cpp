// SPDX-License-Identifier: Apache-2.0
#include "service/workers/committer.hpp"

#include "db/fast_path.hpp"
#include "db/transact.hpp"
#include "db/unfulfilled.hpp"
#include "redis/error.hpp"
#include "service/log.hpp"
#include "service/overload.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

namespace holdfast::workers {

namespace {

using namespace fast_path;

constexpr std::size_t batch_max = 256; // of one item
constexpr auto between_claims = std::chrono::seconds(1);

constexpr std::size_t failures_max = 10'000;

std::string const group = "holdfast";

constexpr std::string_view parked_code = "parked"; // beside the slugs of refusals

metrics::queue_outcome outcome_of(std::string_view code)
{
    if (code.empty())
        return metrics::queue_outcome::committed;
    return code == parked_code ? metrics::queue_outcome::parked : metrics::queue_outcome::refused;
}

// Whether the same may succeed later: then nothing is the matter with the request.
bool is_passing(std::exception const& fault)
{
    if (dynamic_cast<db::outcome_unknown const*>(&fault) != nullptr ||
        dynamic_cast<overloaded const*>(&fault) != nullptr)
        return true;
    auto const* error = dynamic_cast<db::error const*>(&fault);
    if (error == nullptr)
        return false;
    return error->kind() != db::fault::constraint && error->kind() != db::fault::other;
}

bool is_conflict(std::exception const& fault)
{
    auto const* error = dynamic_cast<db::error const*>(&fault);
    return error != nullptr && error->kind() == db::fault::conflict;
}

// Whether one of these ids is a reservation's. A request that finds itself made does not conflict
// with it, so after a conflict it is somebody else's.
bool is_id_taken(db::link& link, std::vector<uuid> const& ids)
{
    return !db::read(link, db::scope::single, [&](db::transaction& tx) {
                return db::fast_path::made(tx, ids);
            }).empty();
}

redis::request read_new(bucket const& from, std::string const& name)
{
    return {from.state,
            {"XREADGROUP", "GROUP", group, name, "COUNT", std::to_string(batch_max), "STREAMS",
             from.queue, ">"}};
}

redis::request make_group(bucket const& of)
{
    return {of.state, {"XGROUP", "CREATE", of.queue, group, "0"}};
}

// What nobody has finished for so long is ours then (Redis 6.2).
redis::request claim_idle(bucket const& in, std::string const& name, std::chrono::milliseconds idle)
{
    return {in.state,
            {"XAUTOCLAIM", in.queue, group, name, std::to_string(idle.count()), "0-0", "COUNT",
             std::to_string(batch_max)}};
}

std::vector<redis::reply> run(redis::client& client, std::vector<redis::request> const& requests)
{
    return requests.empty() ? std::vector<redis::reply>() : client.run(requests);
}

} // namespace

committer::committer(committer_options options, roster const& r, reservations const& use_cases,
                     metrics& m)
    : options_(std::move(options)), name_(uuid::make_v7().str()),
      redis_(options_.where, options_.limits), roster_(r), reservations_(use_cases), metrics_(m)
{}

std::vector<committer::place> const& committer::places()
{
    auto queues = roster_.queues();
    if (queues == queues_)
        return places_;
    places_.clear();
    for (auto const& each : *queues)
        for (int i = 0; i < each.buckets; ++i)
            places_.push_back({each.sku, bucket_of(options_.prefix, each.sku.str(), i)});
    queues_ = std::move(queues);
    return places_;
}

progress committer::step(db::link& link)
{
    auto const& all = places();
    if (all.empty())
        return progress::done_for_now;
    deferred_faults met;
    auto entries = read(all, met);
    bool const is_more = entries.size() >= batch_max;
    if (clock::now() >= claim_again_) {
        auto claimed = claim(all);
        std::ranges::move(claimed, std::back_inserter(entries));
        claim_again_ = clock::now() + between_claims;
    }
    // Of one item at a time: whoever has its level locked is in the way of no other.
    std::ranges::stable_sort(entries, {}, [](entry const& e) { return e.from.of; });
    carry_out_all(link, entries, met);
    met.throw_if_any();
    return is_more ? progress::more_to_do : progress::done_for_now;
}

// An item that cannot be served now, which may have taken long to show, is left for later whole.
void committer::carry_out_all(db::link& link, std::span<entry> entries, deferred_faults& met)
{
    std::optional<sku> stuck;
    while (!entries.empty()) {
        auto const of = entries.front().from.of;
        auto const is_other = [&](entry const& e) { return e.from.of != of; };
        auto const count = std::ranges::find_if(entries, is_other) - entries.begin();
        auto const batch = entries.first(std::min(static_cast<std::size_t>(count), batch_max));
        entries = entries.subspan(batch.size());
        if (stuck == of)
            continue;
        bool const is_done = met.run([&] {
            carry_out(link, batch);
            write_down(link, batch);
            finish(batch);
        });
        if (!is_done)
            stuck = of;
    }
}

// What nobody has been given yet.
std::vector<committer::entry> committer::read(std::vector<place> const& from, deferred_faults& met)
{
    std::vector<redis::request> requests;
    for (auto const& each : from)
        requests.push_back(read_new(each.keys, name_));
    auto const replies = run(redis_, requests);
    std::vector<redis::request> missing;
    std::vector<entry> entries;
    for (std::size_t i = 0; i < from.size(); ++i) {
        auto const* why = replies[i].why();
        if (why != nullptr && why->kind() == "NOGROUP")
            missing.push_back(make_group(from[i].keys)); // refused while nothing was ever queued
        else if (why != nullptr)
            met.keep(std::make_exception_ptr(redis::error(why->text)));
        else if (!replies[i].is_nil())
            add(entries, from[i], replies[i].parts().at(0).parts().at(1));
    }
    static_cast<void>(run(redis_, missing));
    return entries;
}

// What another member, or we ourselves, did not finish.
std::vector<committer::entry> committer::claim(std::vector<place> const& from)
{
    std::vector<redis::request> requests;
    for (auto const& each : from)
        requests.push_back(claim_idle(each.keys, name_, options_.claim_after));
    auto const replies = run(redis_, requests);
    std::vector<entry> entries;
    for (std::size_t i = 0; i < from.size(); ++i)
        if (replies[i].why() == nullptr) // there is no group where nothing was ever queued
            add(entries, from[i], replies[i].parts().at(1));
    return entries;
}

void committer::add(std::vector<entry>& to, place const& from, redis::reply const& list)
{
    for (auto const& each : list.parts()) {
        if (each.is_nil())
            continue; // taken out meanwhile
        entry made{.from = from, .position = each.parts().at(0).text()};
        auto const& fields = each.parts().at(1);
        if (!fields.is_nil() && fields.parts().size() == 4) {
            made.id = fields.parts()[1].text();
            made.text = fields.parts()[3].text();
        }
        to.push_back(std::move(made));
    }
}

// All in one transaction where that can be done, else one by one.
void committer::carry_out(db::link& link, std::span<entry> batch)
{
    std::vector<reserve_command const*> commands;
    std::vector<entry*> of;
    for (auto& each : batch) {
        auto request = parse_queued(each.text);
        if (!request || request->id.str() != each.id ||
            request->command.lines.front().at.sku != each.from.of) {
            each.end = parked("It is not a request that was queued.");
            continue;
        }
        each.request = std::move(request);
        commands.push_back(&each.request->command);
        of.push_back(&each);
    }
    std::vector<uuid> ids;
    for (auto const* each : of)
        ids.push_back(each->request->id);
    std::vector<reserve_answer> answers(commands.size());
    try {
        if (!commands.empty())
            answers = reservations_.reserve(link, commands, company::many);
    } catch (std::exception const& fault) {
        if (is_passing(fault) && !(is_conflict(fault) && is_id_taken(link, ids)))
            throw;
        // One of them may be the culprit: each alone will show.
    }
    for (std::size_t n = 0; n < of.size(); ++n)
        of[n]->end =
            answers[n] ? judge(*of[n]->request, *answers[n]) : carry_out_alone(link, *of[n]);
}

std::optional<committer::end> committer::carry_out_alone(db::link& link, entry& which)
{
    auto& command = which.request->command;
    try {
        return judge(*which.request, reservations_.reserve(link, command));
    } catch (not_noted const& missing) {
        // Redis was loaded anew since it was accepted: its key is noted there first.
        std::array const notes{note_of(command.key.api_key_id, command.key.key)};
        auto const noted = redis_.run(note(which.from.keys, missing.epoch, notes));
        if (auto const* why = noted.why())
            throw redis::error(why->text);
        if (noted.number() != 1 || command.notes.front().epoch == missing.epoch)
            return after_failure(which, "Redis does not know its item as it was.");
        command.notes = {{missing.sku, missing.epoch}};
    } catch (std::exception const& fault) {
        if (is_passing(fault) && !(is_conflict(fault) && is_id_taken(link, {command.id.value()})))
            throw;
        return after_failure(which, "It failed each time it was tried.");
    }
    return carry_out_alone(link, which);
}

// Nothing where it is to be tried again.
std::optional<committer::end> committer::judge(queued_request const& request,
                                               result<outcome<reservation>> const& answer)
{
    if (answer && answer->value.id == request.id)
        return end{};
    if (answer)
        return end{fate::back, std::string(slug(errc::idempotency_key_reused)),
                   "Its Idempotency-Key had made " + answer->value.id.str() + " meanwhile."};
    auto const why = answer.error();
    if (why.code == errc::idempotency_key_in_progress)
        return std::nullopt;
    auto const told = why.code == errc::customer_limit ? fate::limit : fate::back;
    return end{told, std::string(slug(why.code)), why.detail};
}

committer::end committer::parked(std::string_view why)
{
    return {fate::back, std::string(parked_code), std::string(why)};
}

// Parked after so many that were its own.
std::optional<committer::end> committer::after_failure(entry const& which, std::string_view why)
{
    if (failures_.size() >= failures_max)
        failures_.clear(); // most of them have been finished by others
    if (++failures_[which.id] < options_.attempts_max)
        return std::nullopt;
    return parked(why);
}

// Of those that were not made, before they leave the queue.
void committer::write_down(db::link& link, std::span<entry const> batch)
{
    std::vector<db::unfulfilled::draft> drafts;
    for (auto const& each : batch) {
        if (!each.end || each.end->code.empty())
            continue;
        if (each.end->code == parked_code)
            log::error("fast_path.parked",
                       {{"reservation", each.id}, {"reason", each.end->detail}});
        if (auto const id = uuid::parse(each.id)) // nobody can ask for another
            drafts.push_back(
                {*id, each.end->code, each.end->detail, each.request ? each.text : std::string()});
    }
    if (!drafts.empty())
        db::transact(link, [&](db::transaction& tx) {
            db::unfulfilled::add(tx, drafts);
            return 0;
        });
}

// Takes out of the queues what has come to its end.
void committer::finish(std::span<entry const> batch)
{
    using told_to = std::pair<std::string, std::int64_t>; // a bucket, and an epoch
    std::map<told_to, std::pair<bucket, std::vector<settlement>>> by_bucket;
    std::map<std::string, std::pair<bucket, std::vector<std::string>>> ended; // by queue
    for (auto const& each : batch) {
        if (!each.end)
            continue;
        auto const epoch = each.request ? each.request->command.notes.front().epoch : 0;
        auto& [where, told] = by_bucket[{each.from.keys.queue, epoch}];
        where = each.from.keys;
        told.push_back({.id = each.id, .fate = each.end->fate});
        auto& [from, positions] = ended[each.from.keys.queue];
        from = each.from.keys;
        positions.push_back(each.position);
        failures_.erase(each.id);
        metrics_.queue_ended(outcome_of(each.end->code), 1);
        if (each.end->code.empty())
            metrics_.queue_took(std::chrono::system_clock::now() - each.request->accepted_at);
    }
    std::vector<redis::request> requests;
    for (auto const& [key, value] : by_bucket)
        requests.push_back(settle(value.first, key.second, value.second));
    for (auto const& [queue, value] : ended) {
        redis::command acknowledge{"XACK", queue, group}, remove{"XDEL", queue};
        acknowledge.insert(acknowledge.end(), value.second.begin(), value.second.end());
        remove.insert(remove.end(), value.second.begin(), value.second.end());
        requests.push_back({value.first.state, std::move(acknowledge)});
        requests.push_back({value.first.state, std::move(remove)});
    }
    for (auto const& reply : run(redis_, requests))
        if (auto const* why = reply.why())
            throw redis::error(why->text); // it will be found done
}

} // namespace holdfast::workers

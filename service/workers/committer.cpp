// SPDX-License-Identifier: Apache-2.0
#include "service/workers/committer.hpp"

#include "db/transact.hpp"
#include "db/unfulfilled.hpp"
#include "redis/error.hpp"
#include "service/log.hpp"
#include "service/overload.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace holdfast::workers {

namespace {

using namespace fast_path;

constexpr std::size_t batch_max = 256; // of one item
constexpr auto between_claims = std::chrono::seconds(1);

std::string const group = "holdfast";

// Whether the same may succeed later: then nothing is the matter with the request.
bool is_passing(std::exception const& fault)
{
    if (dynamic_cast<db::outcome_unknown const*>(&fault) != nullptr ||
        dynamic_cast<overloaded const*>(&fault) != nullptr)
        return true;
    auto const* error = dynamic_cast<db::error const*>(&fault);
    return error != nullptr && error->kind() != db::fault::constraint &&
           error->kind() != db::fault::other;
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

// Those that nobody has finished for so long, with how often they were begun.
redis::request unfinished(bucket const& in, std::chrono::milliseconds idle)
{
    return {in.state,
            {"XPENDING", in.queue, group, "IDLE", std::to_string(idle.count()), "-", "+",
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

std::vector<committer::place> committer::places() const
{
    std::vector<place> all;
    auto const queues = roster_.queues();
    for (auto const& each : *queues)
        for (int i = 0; i < each.buckets; ++i)
            all.push_back({each.sku, bucket_of(options_.prefix, each.sku.str(), i)});
    return all;
}

progress committer::step(db::link& link)
{
    auto const all = places();
    if (all.empty())
        return progress::done_for_now;
    faults met;
    auto entries = read(all, met);
    bool const is_more = entries.size() >= batch_max;
    if (clock::now() >= claim_again_) {
        auto claimed = claim(all);
        std::ranges::move(claimed, std::back_inserter(entries));
        claim_again_ = clock::now() + between_claims;
    }
    std::ranges::stable_sort(entries, {}, [](entry const& e) { return e.from.of; });
    for (std::size_t first = 0, last = 0; first < entries.size(); first = last) {
        while (last < entries.size() && last - first < batch_max &&
               entries[last].from.of == entries[first].from.of)
            ++last;
        work_off(link, std::span(entries).subspan(first, last - first), met);
    }
    if (!met.empty())
        std::rethrow_exception(met.front());
    return is_more ? progress::more_to_do : progress::done_for_now;
}

// Of one item: whoever has its level locked stops nothing else for longer than one wait.
void committer::work_off(db::link& link, std::span<entry> batch, faults& met)
{
    try {
        finish(batch, carry_out(link, batch));
    } catch (std::exception const&) {
        met.push_back(std::current_exception());
    }
}

// What nobody has been given yet.
std::vector<committer::entry> committer::read(std::vector<place> const& from, faults& met)
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
            met.push_back(std::make_exception_ptr(redis::error(why->text)));
        else if (!replies[i].is_nil())
            add(entries, from[i], replies[i].parts().at(0).parts().at(1), {});
    }
    static_cast<void>(run(redis_, missing));
    return entries;
}

// What another member, or we ourselves, did not finish.
std::vector<committer::entry> committer::claim(std::vector<place> const& from)
{
    std::vector<redis::request> requests;
    for (auto const& each : from)
        requests.push_back(unfinished(each.keys, options_.claim_after));
    auto const found = run(redis_, requests);
    requests.clear();
    std::vector<std::size_t> asked;
    std::vector<begun> attempts(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (found[i].why() != nullptr || found[i].parts().empty())
            continue; // there is no group where nothing was ever queued
        redis::command command{"XCLAIM", from[i].keys.queue, group, name_,
                               std::to_string(options_.claim_after.count())};
        for (auto const& each : found[i].parts()) {
            command.push_back(each.parts().at(0).text());
            attempts[i][each.parts().at(0).text()] = each.parts().at(3).number() + 1;
        }
        requests.push_back({from[i].keys.state, std::move(command)});
        asked.push_back(i);
    }
    auto const replies = run(redis_, requests);
    std::vector<entry> entries;
    for (std::size_t n = 0; n < asked.size(); ++n)
        if (replies[n].why() == nullptr)
            add(entries, from[asked[n]], replies[n], attempts[asked[n]]);
    return entries;
}

void committer::add(std::vector<entry>& to, place const& from, redis::reply const& list,
                    begun const& attempts)
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
        if (auto const known = attempts.find(made.position); known != attempts.end())
            made.attempts = known->second;
        to.push_back(std::move(made));
    }
}

// All in one transaction where that can be done, else one by one.
std::vector<committer::end> committer::carry_out(db::link& link, std::span<entry> batch)
{
    std::vector<end> ends(batch.size());
    std::vector<reserve_command const*> commands;
    std::vector<std::size_t> of;
    for (std::size_t i = 0; i < batch.size(); ++i) {
        auto request = parse_queued(batch[i].text);
        if (request && request->id.str() == batch[i].id &&
            request->command.lines.front().at.sku == batch[i].from.of)
            batch[i].request = std::move(request);
        if (!batch[i].request) {
            ends[i] = park(link, batch[i], "It is not a request that was queued.");
            continue;
        }
        commands.push_back(&batch[i].request->command);
        of.push_back(i);
    }
    std::vector<reserve_answer> answers(commands.size());
    try {
        if (!commands.empty())
            answers = reservations_.reserve(link, commands, company::many);
    } catch (std::exception const& fault) {
        if (is_passing(fault))
            throw;
        // One of them may be the culprit: each alone will show.
    }
    for (std::size_t n = 0; n < of.size(); ++n) {
        auto& each = batch[of[n]];
        ends[of[n]] = answers[n] ? judge(link, each, *answers[n]) : carry_out_alone(link, each);
    }
    return ends;
}

committer::end committer::carry_out_alone(db::link& link, entry& which)
{
    auto& command = which.request->command;
    try {
        return judge(link, which, reservations_.reserve(link, command));
    } catch (not_noted const& missing) {
        // Redis was loaded anew since it was accepted: its key is noted there first.
        std::array const notes{note_of(command.key.api_key_id, command.key.key)};
        auto const noted = redis_.run(note(which.from.keys, missing.epoch, notes));
        if (noted.why() != nullptr || noted.number() != 1 ||
            command.notes.front().epoch == missing.epoch)
            return which.attempts < options_.attempts_max
                       ? end()
                       : park(link, which, "Redis does not know its item as it was.");
        command.notes = {{missing.sku, missing.epoch}};
    } catch (std::exception const& fault) {
        if (is_passing(fault))
            throw;
        if (which.attempts < options_.attempts_max)
            return std::nullopt;
        return park(link, which, "It failed each time it was tried.");
    }
    return carry_out_alone(link, which);
}

committer::end committer::judge(db::link& link, entry const& which,
                                result<outcome<reservation>> const& answer)
{
    auto const& request = *which.request;
    if (answer && answer->value.id == request.id) {
        metrics_.queue_ended("committed");
        metrics_.queue_took(std::chrono::system_clock::now() - request.accepted_at);
        return fate::kept;
    }
    if (answer) {
        auto const why = "Its Idempotency-Key had made " + answer->value.id.str() + " meanwhile.";
        return give_up(link, which, slug(errc::idempotency_key_reused), why);
    }
    if (answer.error().code == errc::idempotency_key_in_progress)
        return std::nullopt;
    auto const gone = give_up(link, which, slug(answer.error().code), answer.error().detail);
    return answer.error().code == errc::customer_limit ? fate::limit : gone;
}

committer::end committer::park(db::link& link, entry const& which, std::string_view why)
{
    log::error("fast_path.parked", {{"reservation", which.id}, {"reason", why}});
    if (!uuid::parse(which.id)) { // nobody can ask for it
        metrics_.queue_ended("parked");
        return fate::back;
    }
    return give_up(link, which, "parked", why);
}

// For good. Whoever asks for it finds why.
fate committer::give_up(db::link& link, entry const& which, std::string_view code,
                        std::string_view detail)
{
    db::transact(link, [&](db::transaction& tx) {
        db::unfulfilled::add(tx, uuid::parse(which.id).value(), code, detail,
                             which.request ? which.text : std::string());
        return 0;
    });
    metrics_.queue_ended(code == "parked" ? "parked" : "refused");
    return fate::back;
}

// Takes out of the queues what has come to its end.
void committer::finish(std::span<entry const> batch, std::vector<end> const& ends)
{
    using told_to = std::pair<std::string, std::int64_t>; // a bucket, and an epoch
    std::map<told_to, std::pair<bucket, std::vector<settlement>>> by_bucket;
    std::map<std::string, std::pair<bucket, std::vector<std::string>>> ended; // by queue
    for (std::size_t i = 0; i < batch.size(); ++i) {
        if (!ends[i])
            continue;
        auto const& each = batch[i];
        auto const epoch = each.request ? each.request->command.notes.front().epoch : 0;
        auto& [where, told] = by_bucket[{each.from.keys.queue, epoch}];
        where = each.from.keys;
        told.push_back({.id = each.id, .fate = *ends[i]});
        auto& [from, positions] = ended[each.from.keys.queue];
        from = each.from.keys;
        positions.push_back(each.position);
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

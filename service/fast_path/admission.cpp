// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/admission.hpp"

#include "redis/error.hpp"
#include "service/attempt.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace holdfast::fast_path {

namespace {

// One more than the buckets there may be: the last to note at home.
constexpr int rounds_max = 65;

struct place {
    std::string sku;
    std::int64_t epoch = 0;
    int bucket = 0;

    auto operator<=>(place const&) const = default;
};

place place_of(part const& p)
{
    auto const number = p.is_to_be_noted ? p.home : (p.home + p.tried) % p.of.buckets;
    return {p.of.sku.str(), p.of.epoch, number};
}

// Whether it goes on to PostgreSQL now.
bool goes_on(part const& p)
{
    return p.verdict == verdict::taken || p.verdict == verdict::ask;
}

void add(std::vector<stand>& sums, std::vector<stand> const& more)
{
    sums.resize(more.size());
    for (std::size_t i = 0; i < more.size(); ++i) {
        sums[i].available += more[i].available;
        sums[i].held += more[i].held;
    }
}

// Whether no way of moving units between buckets, and nothing that is under way, would do.
bool is_short_for_certain(part const& p)
{
    for (std::size_t i = 0; i < p.lines.size(); ++i)
        if (p.stands[i].available + p.stands[i].held < p.lines[i].quantity)
            return true;
    return false;
}

// What one bucket has decided.
void take_in(part& p, decision const& d)
{
    if (p.is_to_be_noted) {
        p.is_to_be_noted = false;
        return;
    }
    if (d.verdict == verdict::short_of_units) {
        add(p.stands, d.lines);
        p.may_only_replay = p.may_only_replay || d.may_only_replay;
        if (p.wanted.what == wish::queue)
            p.wanted.what = wish::take; // its repetition looks for it at home
        if (++p.tried < p.of.buckets)
            return; // the next one may have some
        if (is_short_for_certain(p)) {
            p.verdict = verdict::short_of_units;
            return;
        }
        p.verdict = verdict::ask; // enough in all: PostgreSQL does not know of buckets
        p.may_only_replay = false;
        p.is_to_be_noted = p.of.buckets > 1;
        p.bucket = p.home;
        p.wanted.what = wish::ask;
    } else {
        p.bucket = (p.home + p.tried) % p.of.buckets;
        p.is_to_be_noted = p.tried > 0;
        p.verdict = d.verdict;
        p.text = d.text;
        p.stands = d.lines;
        p.may_only_replay = d.may_only_replay;
        p.wanted.what = wish::note;
    }
}

bool is_open(part const& p)
{
    return !p.is_lost && (!p.verdict || p.is_to_be_noted);
}

class asking {
public:
    asking(redis::client& client, std::string_view prefix) : client_(client), prefix_(prefix) {}

    // Tells, and asks once for whatever is open.
    void go(std::span<admission* const> all, std::span<telling const> told)
    {
        std::vector<redis::request> requests = to_requests(told);
        auto const first = requests.size();
        std::map<place, std::vector<part*>> open;
        for (auto* each : all)
            for (auto const& p : each->parts())
                if (is_open(*p))
                    open[place_of(*p)].push_back(p.get());
        std::vector<std::vector<application const*>> asked;
        for (auto const& [where, parts] : open) {
            auto& applications = asked.emplace_back();
            for (auto const* p : parts)
                applications.push_back(&p->wanted);
            requests.push_back(
                take(bucket_of(prefix_, where.sku, where.bucket), where.epoch, applications));
        }
        auto const replies = client_.run(requests);
        std::size_t n = 0;
        for (auto const& [where, parts] : open) {
            read(replies[first + n], asked[n], parts);
            ++n;
        }
    }

private:
    [[nodiscard]] std::vector<redis::request> to_requests(std::span<telling const> told) const
    {
        std::map<place, std::vector<settlement>> by_place;
        for (auto const& each : told)
            by_place[{each.of.sku.str(), each.of.epoch, each.bucket}].push_back(each.what);
        std::vector<redis::request> requests;
        for (auto const& [where, settlements] : by_place)
            requests.push_back(
                settle(bucket_of(prefix_, where.sku, where.bucket), where.epoch, settlements));
        return requests;
    }

    static void read(redis::reply const& got, std::span<application const* const> asked,
                     std::span<part* const> parts)
    {
        std::vector<decision> decisions;
        try {
            decisions = read_decisions(got, asked);
        } catch (redis::error const&) {
            decisions.clear(); // as if it did not know the item
        }
        for (std::size_t i = 0; i < parts.size(); ++i) {
            if (decisions.empty())
                parts[i]->is_lost = true;
            else
                take_in(*parts[i], decisions[i]);
        }
    }

    redis::client& client_;
    std::string_view prefix_;
};

refusal closed(part const& p)
{
    return {.code = errc::not_on_sale,
            .detail = p.of.sku.str() + " is paused or outside its sale window."};
}

refusal over_limit(part const& p)
{
    return {.code = errc::customer_limit,
            .detail = "This customer has as many of " + p.of.sku.str() + " as one may have."};
}

} // namespace

admission::admission(reserve_command const& cmd, items const& all, bool may_be_queued)
    : id_(uuid::make_v7(hint_of(cmd.lines.front().at.sku))), key_(cmd.key),
      supersedes_(cmd.supersedes)
{
    std::size_t lines = 0;
    for (auto const& line : cmd.lines) {
        auto const found = all.find(line.at.sku.str());
        if (found == all.end())
            continue;
        ++lines;
        if (parts_.empty() || parts_.back()->of.sku != line.at.sku)
            parts_.push_back(std::make_unique<part>(part{.of = found->second}));
        parts_.back()->lines.push_back(line);
    }
    bool const takes = lines == cmd.lines.size() && !cmd.supersedes;
    auto const note = parts_.empty() ? std::string() : note_of(cmd.key.api_key_id, cmd.key.key);
    for (auto const& p : parts_) {
        p->wanted = {.id = id_.str(),
                     .note = note,
                     .customer = cmd.customer,
                     .what = takes ? wish::take : wish::ask,
                     .lines = p->lines};
        p->home = home_of(cmd.customer, note, p->of.buckets);
    }
    if (!may_be_queued || !takes || parts_.size() != 1 || !parts_.front()->of.is_async ||
        cmd.confirm_at_once || cmd.token)
        return;
    auto const now = std::chrono::system_clock::now();
    to_be_queued_ = {.id = id_,
                     .accepted_at = std::chrono::floor<std::chrono::microseconds>(now),
                     .command = cmd};
    to_be_queued_->command.notes = notes();
    auto& wanted = parts_.front()->wanted;
    wanted.what = wish::queue;
    wanted.text = to_text(*to_be_queued_);
}

std::optional<result<outcome<queued_request>>> admission::accepted() const
{
    using answer = result<outcome<queued_request>>;
    for (auto const& p : parts_) {
        if (p->verdict == verdict::queued)
            return answer(outcome<queued_request>{*to_be_queued_, false});
        if (p->verdict != verdict::repeated)
            continue;
        auto earlier = parse_queued(p->text);
        if (!earlier)
            return answer(idempotency::in_progress());
        if (earlier->command.key.fingerprint != key_.fingerprint)
            return answer(idempotency::key_reused());
        return answer(outcome<queued_request>{*std::move(earlier), true});
    }
    return std::nullopt;
}

std::optional<refusal> admission::refused() const
{
    std::optional<refusal> limit;
    for (auto const& p : parts_) {
        if (p->verdict == verdict::closed)
            return closed(*p);
        if (p->verdict == verdict::customer_limit && !limit)
            limit = over_limit(*p);
    }
    bool const is_short = std::ranges::any_of(
        parts_, [](auto const& p) { return p->verdict == verdict::short_of_units; });
    return limit || !is_short ? limit : shortage();
}

refusal admission::shortage() const
{
    std::vector<shortfall> short_lines;
    for (auto const& p : parts_)
        for (std::size_t i = 0; i < p->stands.size(); ++i)
            if (p->stands[i].available < p->lines[i].quantity)
                short_lines.push_back({p->lines[i].at, p->lines[i].quantity,
                                       std::max<units>(0, p->stands[i].available)});
    return insufficient(std::move(short_lines));
}

std::optional<item> admission::lost() const
{
    for (auto const& p : parts_)
        if (p->is_lost)
            return p->of;
    return std::nullopt;
}

bool admission::may_only_replay() const
{
    return std::ranges::any_of(parts_, [](auto const& p) { return p->may_only_replay; });
}

std::vector<fast_path_note> admission::notes() const
{
    std::vector<fast_path_note> notes;
    for (auto const& p : parts_)
        notes.push_back({p->of.sku, p->of.epoch});
    return notes;
}

void add_freed(std::vector<telling>& to, item const& of, int home, settlement what)
{
    what.fate = fate::freed;
    auto const elsewhere = what.customer.empty() ? 0 : of.buckets - 1;
    for (int i = 1; i <= elsewhere; ++i)
        to.push_back(
            {of, (home + i) % of.buckets, {.fate = fate::freed, .customer = what.customer}});
    if (!what.customer.empty() || !what.lines.empty())
        to.push_back({of, home, std::move(what)});
}

std::vector<telling> tellings_of(admission const& of, result<outcome<reservation>> const* answer)
{
    auto end = fate::back;
    if (answer != nullptr && *answer && !(*answer)->is_replay)
        end = fate::kept;
    else if (answer != nullptr && !*answer && answer->error().code == errc::customer_limit)
        end = fate::limit;
    std::vector<telling> told;
    for (auto const& p : of.parts()) {
        if (!goes_on(*p))
            continue;
        told.push_back({p->of, p->bucket, {.id = of.id().str(), .fate = end}});
        // What he gave up for it is no longer among what he has.
        if (of.supersedes() && end == fate::kept && p->wanted.customer)
            add_freed(told, p->of, p->home, {.customer = *p->wanted.customer});
    }
    return told;
}

void admit(redis::client& client, std::string_view prefix, std::span<admission* const> all,
           std::span<telling const> told)
{
    asking rounds(client, prefix);
    rounds.go(all, told);
    auto const has_open = [](admission* each) {
        return std::ranges::any_of(each->parts(), [](auto const& p) { return is_open(*p); });
    };
    for (int round = 1; round < rounds_max && std::ranges::any_of(all, has_open); ++round)
        rounds.go(all, {});
    std::vector<telling> undone;
    for (auto const* each : all) {
        auto const is_let_through = [](auto const& p) {
            return goes_on(*p) || p->verdict == verdict::queued;
        };
        if (!each->lost() && std::ranges::all_of(each->parts(), is_let_through))
            continue;
        auto const back = tellings_of(*each, nullptr);
        undone.insert(undone.end(), back.begin(), back.end());
    }
    if (!undone.empty())
        rounds.go({}, undone);
}

} // namespace holdfast::fast_path

// SPDX-License-Identifier: Apache-2.0
#include "service/workers/courier.hpp"

#include "db/transact.hpp"
#include "db/webhooks.hpp"
#include "service/event_json.hpp"
#include "service/idempotency.hpp"
#include "service/log.hpp"
#include "service/secrets.hpp"
#include "service/webhooks.hpp"
#include "service/workers/route.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <utility>

namespace holdfast::workers {

namespace {

namespace store = db::webhooks;
using clock = std::chrono::steady_clock;

constexpr auto look_interval = std::chrono::milliseconds(1000); // at the list of webhooks
constexpr auto round_max = std::chrono::milliseconds(50);
constexpr auto finish_max = std::chrono::seconds(5);
constexpr auto retry_after_max = std::chrono::hours(24);
constexpr std::size_t events_at_once = 1000; // read of the feed in one go

// Statuses (RFC 9110, section 15) that say more than that it failed.
constexpr int gone = 410; // the receiver wants no more
constexpr int too_many = 429;
constexpr int unavailable = 503;
constexpr auto gone_pause = std::chrono::seconds(5); // should the webhook stay active after all

// After a webhook was changed under us, or while somebody is changing it.
constexpr auto changed_pause = std::chrono::milliseconds(100);

std::int64_t lock_number_of(uuid const& id)
{
    return idempotency::lock_number("webhook", id.str());
}

bool is_success(call_outcome const& came)
{
    return came.status && *came.status >= 200 && *came.status < 300;
}

// A tenth more or less, so that what failed together does not come back together.
std::chrono::milliseconds jittered(std::chrono::milliseconds pause)
{
    thread_local std::minstd_rand random{std::random_device()()};
    std::uniform_real_distribution<double> factor(0.9, 1.1);
    return std::chrono::milliseconds(
        static_cast<std::int64_t>(static_cast<double>(pause.count()) * factor(random)));
}

// A webhook this process delivers to.
struct served {
    store::webhook hook;
    std::optional<std::vector<event_type>> types;
    event_place place;
    std::map<std::string, event_place> backlogs; // SKUs whose events are written down later
    workers::route route;
    bool may_have_more = true; // pending deliveries that are not in the route
    bool is_ending = false;    // no more calls; it is left once none is under way
    clock::time_point not_before;
};

// A call under way.
struct on_call {
    uuid webhook;
    std::int64_t revision = 0; // of the webhook when it was called
    std::int64_t delivery = 0;
    std::int64_t attempts = 0; // with this one
};

// A webhook that answered 410, as it was then.
struct giving_up {
    uuid webhook;
    std::int64_t revision = 0;
};

// Seconds since 1970, as a call's head has them.
std::string timestamp_now()
{
    auto const since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(since_1970).count());
}

std::string signature_of(store::webhook const& by, store::pending_delivery const& what,
                         std::string const& timestamp)
{
    auto secrets = by.secret + (by.former_secrets ? ',' + *by.former_secrets : "");
    std::string signatures;
    for (std::size_t at = 0; at < secrets.size();) {
        auto const end = std::min(secrets.find(',', at), secrets.size());
        auto const secret = store::secret_of(std::string_view(secrets).substr(at, end - at));
        signatures +=
            (at > 0 ? " " : "") + webhook_signature(secret, what.event_id, timestamp, what.body);
        at = end + 1;
    }
    return signatures;
}

store::letter letter_of(event const& e)
{
    return {.event_id = e.id,
            .event_type = std::string(to_string(e.type)),
            .sku = e.at.sku.str(),
            .body = webhook_body(e)};
}

} // namespace

struct courier::impl {
    impl(courier_options o, event_feed const& f, event_bell const& b, address_guard const& g,
         metrics& m)
        : options(std::move(o)), feed(f), bell(b), counters(m), calls(options.calls, g)
    {}

    // Whatever was ours is so only while the session lasts. Another process may be at it already,
    // so what is under way is cut: an event may be told twice, but not beside a later one.
    void notice_lost_session(db::link& link)
    {
        if (link.sessions_made() == session_number && link.is_connected())
            return;
        collect(std::chrono::milliseconds(0));
        calls.cut_all();
        on_calls.clear();
        ours.clear();
        (void)link.session();
        session_number = link.sessions_made();
        next_look = {};
    }

    void look(db::link& link)
    {
        auto const now = clock::now();
        if (now < next_look)
            return;
        next_look = now + look_interval;
        std::map<uuid, store::webhook> active;
        for (auto& hook : all_webhooks(link))
            if (hook.state == "active")
                active.emplace(hook.id, std::move(hook));
        for (auto& [id, each] : ours)
            each.is_ending = !active.contains(id);
        for (auto& [id, hook] : active) {
            auto found = ours.find(id);
            if (found == ours.end() && take_over(link, id))
                found = ours.emplace(id, served{}).first;
            if (found != ours.end())
                update(link, found->second, std::move(hook));
        }
        hurry(link);
    }

    // Gives up those that are not active any more, once no call to them is under way.
    void leave_ended(db::link& link)
    {
        std::erase_if(ours, [&](auto const& each) {
            bool const is_over = each.second.is_ending && each.second.route.under_way() == 0;
            if (is_over)
                leave(link, each.first);
            return is_over;
        });
        counters.webhooks_owned(ours.size());
    }

    // What somebody has brought forward.
    void hurry(db::link& link)
    {
        for (auto& [id, each] : ours) {
            auto const waiting = each.route.waiting_for_time(clock::now());
            if (waiting.empty())
                continue;
            auto const due = db::read(link, db::scope::single,
                                      [&](db::transaction& tx) { return store::due(tx, waiting); });
            for (auto const one : due)
                each.route.hurry(one, clock::now());
        }
    }

    static std::vector<store::webhook> all_webhooks(db::link& link)
    {
        return db::read(link, db::scope::single,
                        [](db::transaction& tx) { return store::all(tx); });
    }

    static bool take_over(db::link& link, uuid const& id)
    {
        return db::read(link, db::scope::single, [&](db::transaction& tx) {
            return store::try_own(tx, lock_number_of(id));
        });
    }

    static void leave(db::link& link, uuid const& id)
    {
        db::read(link, db::scope::single, [&](db::transaction& tx) {
            store::disown(tx, lock_number_of(id));
            return 0;
        });
    }

    // What people may change meanwhile, the places included: a replay sets them back. So may
    // another process, after our session was lost.
    static void update(db::link& link, served& of, store::webhook hook)
    {
        of.is_ending = false;
        of.may_have_more = true; // such as one that is to be sent again
        bool const is_changed = of.hook.revision != hook.revision || of.hook.place != hook.place;
        of.hook = std::move(hook);
        if (!is_changed)
            return;
        of.types = types_named(of.hook.types);
        of.place = parse_event_place(of.hook.place).value_or(event_place());
        of.backlogs.clear();
        auto const kept = db::read(link, db::scope::single, [&](db::transaction& tx) {
            return store::backlogs(tx, of.hook.id);
        });
        for (auto const& each : kept)
            of.backlogs[each.sku] = parse_event_place(each.place).value_or(event_place());
    }

    // Writes down what is new. Webhooks that are told everything read the same pages.
    void write_down(db::link& link)
    {
        std::map<event_place, event_page> pages;
        for (auto& [id, each] : ours) {
            bool const has_room = each.route.size() < options.waiting_max / 2;
            if (!has_room || each.may_have_more || each.is_ending || clock::now() < each.not_before)
                continue;
            catch_up(link, each);
            if (bell.last_position() < each.place.position)
                continue;
            auto found = pages.find(each.place);
            if (found == pages.end()) {
                auto page = feed.page(link, each.place, {}, events_at_once);
                if (!page) {
                    begin_anew(link, each, page.error());
                    continue;
                }
                found = pages.emplace(each.place, std::move(*page)).first;
            }
            write_down(link, each, found->second);
        }
    }

    void write_down(db::link& link, served& of, event_page const& page)
    {
        std::vector<store::letter> letters;
        std::map<std::string, event_place> backlogs;
        std::map<std::string, std::size_t> taken;
        auto before = of.place; // the event that is looked at
        for (auto const& e : page.events) {
            auto const sku = e.at.sku.str();
            bool const is_put_off = of.backlogs.contains(sku) || backlogs.contains(sku);
            if (is_wanted(e, of.types, of.hook.sku_prefix) && !is_put_off) {
                if (of.route.size_of(sku) + taken[sku] < options.waiting_of_sku_max) {
                    ++taken[sku];
                    letters.push_back(letter_of(e));
                } else {
                    backlogs[sku] = before;
                }
            }
            before = parse_event_place(e.id).value();
        }
        if (page.next != of.place && write(link, of, page.next, letters, backlogs))
            of.backlogs.merge(backlogs);
    }

    // Goes on with the SKUs that were put off, where there is room for them again.
    void catch_up(db::link& link, served& of)
    {
        for (auto const& [sku, from] : std::map(of.backlogs)) {
            if (of.route.size_of(sku) > options.waiting_of_sku_max / 2)
                continue;
            auto const room = options.waiting_of_sku_max - of.route.size_of(sku);
            auto const page = feed.page(link, from, {.sku = holdfast::sku(sku)}, room);
            if (!page) {
                begin_anew(link, of, page.error());
                return;
            }
            std::vector<store::letter> letters;
            for (auto const& e : page->events)
                if (parse_event_place(e.id).value() <= of.place &&
                    is_wanted(e, of.types, of.hook.sku_prefix))
                    letters.push_back(letter_of(e));
            bool const is_over = page->next >= of.place;
            if (!write(link, of, of.place, letters, {{sku, page->next}},
                       is_over ? std::optional(over{sku}) : std::nullopt))
                return;
            if (is_over)
                of.backlogs.erase(sku);
            else
                of.backlogs[sku] = page->next;
        }
    }

    // The backlog of a SKU that is over, or of every SKU.
    struct over {
        std::optional<std::string> sku = {};
    };

    // Moves the webhook to `place` and writes the rest down, all of it, or nothing when the webhook
    // is not as it was seen.
    bool write(db::link& link, served& of, event_place const& place,
               std::vector<store::letter> const& letters,
               std::map<std::string, event_place> const& backlogs,
               std::optional<over> const& backlog = std::nullopt)
    {
        std::vector<store::backlog> kept;
        for (auto const& [sku, from] : backlogs)
            kept.push_back({sku, to_string(from)});
        auto const is_done = db::transact(link, [&](db::transaction& tx) {
            tx.commit_lazily();
            if (!store::advance(tx, of.hook.id, of.hook.revision, of.hook.place, to_string(place)))
                return false;
            if (!letters.empty())
                store::enqueue(tx, of.hook.id, letters, options.schedule.front());
            if (backlog)
                store::drop_backlog(tx, of.hook.id, backlog->sku);
            else if (!kept.empty())
                store::keep_backlog(tx, of.hook.id, kept);
            return true;
        });
        if (!is_done) { // it was changed, or somebody is at it: read it anew
            of.hook.revision = 0;
            of.not_before = clock::now() + changed_pause;
            next_look = {};
            return false;
        }
        of.hook.place = to_string(place);
        of.place = place;
        of.may_have_more = of.may_have_more || !letters.empty();
        return true;
    }

    // Events it had not been told are forgotten: goes on with what is kept.
    void begin_anew(db::link& link, served& of, refusal const& why)
    {
        log::warning("webhook.fell_behind", {{"webhook", of.hook.id.str()}, {"fault", why.detail}});
        if (write(link, of, event_place(), {}, {}, over{}))
            of.backlogs.clear();
    }

    void load(db::link& link)
    {
        for (auto& [id, each] : ours) {
            if (!each.may_have_more || each.is_ending || each.route.size() >= options.waiting_max)
                continue;
            auto const room = options.waiting_max - each.route.size();
            auto const known = each.route.ids();
            auto found = db::read(link, db::scope::single, [&](db::transaction& tx) {
                return store::pending(tx, each.hook.id, known, room);
            });
            each.may_have_more = found.size() == room;
            each.route.add(std::move(found), clock::now());
        }
    }

    void make_calls()
    {
        for (auto& [id, each] : ours)
            while (!each.is_ending && each.route.under_way() < options.under_way_max) {
                auto const* const next = each.route.next(clock::now());
                if (next == nullptr)
                    break;
                make_call(each, next->what);
            }
    }

    void make_call(served const& to, store::pending_delivery const& what)
    {
        auto const timestamp = timestamp_now();
        auto const number = ++last_number;
        on_calls.emplace(number, on_call{to.hook.id, to.hook.revision, what.id, what.attempts + 1});
        calls.post({.number = number,
                    .url = to.hook.url,
                    .headers = {{"Content-Type", "application/json"},
                                {"webhook-id", what.event_id},
                                {"webhook-timestamp", timestamp},
                                {"webhook-signature", signature_of(to.hook, what, timestamp)}},
                    .body = what.body});
    }

    void collect(std::chrono::milliseconds longest)
    {
        for (auto const& came : calls.wait(longest)) {
            auto const found = on_calls.find(came.number);
            auto const made = found->second;
            on_calls.erase(found);
            unwritten.push_back(judge(made, came));
            if (came.status == gone)
                given_up.push_back({made.webhook, made.revision});
        }
    }

    // What an attempt comes to, for the route and to be written down.
    store::attempt judge(on_call const& made, call_outcome const& came)
    {
        store::attempt noted{.id = made.delivery,
                             .attempts = made.attempts,
                             .status = came.status,
                             .fault = {},
                             .state = "delivered"};
        auto const to = ours.find(made.webhook);
        if (is_success(came)) {
            counters.webhook_attempted("delivered");
            if (to != ours.end())
                to->second.route.done(made.delivery);
            return noted;
        }
        // 410 is not the event's fault: it is told once the webhook is mended.
        noted.attempts -= came.status == gone ? 1 : 0;
        noted.fault = came.status ? fmt::format("it answered {}", *came.status) : came.fault;
        auto const pause = pause_after(noted.attempts, came);
        noted.state = pause ? "pending" : "dead";
        noted.delay = pause.value_or(std::chrono::milliseconds(0));
        counters.webhook_attempted(pause ? "failed" : "dead");
        if (to == ours.end())
            return noted;
        if (pause)
            to->second.route.again(made.delivery, noted.attempts, clock::now() + *pause);
        else
            to->second.route.done(made.delivery);
        return noted;
    }

    // Nothing when there are no attempts left.
    [[nodiscard]] std::optional<std::chrono::milliseconds>
    pause_after(std::int64_t attempts, call_outcome const& came) const
    {
        if (came.status == gone)
            return gone_pause;
        auto const made = static_cast<std::size_t>(attempts);
        if (made >= options.schedule.size())
            return std::nullopt;
        std::chrono::milliseconds pause = jittered(options.schedule[made]);
        bool const is_asked = came.status == too_many || came.status == unavailable;
        if (is_asked && came.retry_after)
            pause = std::max<std::chrono::milliseconds>(
                pause, std::min<std::chrono::seconds>(*came.retry_after, retry_after_max));
        return pause;
    }

    void write_outcomes(db::link& link)
    {
        if (unwritten.empty() && given_up.empty())
            return;
        std::vector<uuid> disabled;
        db::transact(link, [&](db::transaction& tx) {
            tx.commit_lazily();
            if (!unwritten.empty())
                store::note(tx, unwritten);
            disabled.clear();
            for (auto const& [id, revision] : given_up)
                if (store::disable(tx, id, revision, "It answered 410 Gone."))
                    disabled.push_back(id);
            return 0;
        });
        for (auto const& id : disabled)
            log::warning("webhook.disabled", {{"webhook", id.str()}});
        if (!disabled.empty())
            next_look = {};
        unwritten.clear();
        given_up.clear();
    }

    courier_options options;
    event_feed const& feed;
    event_bell const& bell;
    metrics& counters;
    poster calls;
    std::map<uuid, served> ours;
    std::map<std::uint64_t, on_call> on_calls;
    std::vector<store::attempt> unwritten; // kept until the database has them
    std::vector<giving_up> given_up;
    std::uint64_t last_number = 0;
    std::uint64_t session_number = 0;
    clock::time_point next_look;
};

courier::courier(courier_options options, event_feed const& feed, event_bell const& bell,
                 address_guard const& guard, metrics& m)
    : impl_(std::make_unique<impl>(std::move(options), feed, bell, guard, m))
{}

courier::~courier() = default;

progress courier::step(db::link& link)
{
    auto& me = *impl_;
    me.notice_lost_session(link);
    me.write_outcomes(link);
    me.notice_lost_session(link);
    me.look(link);
    me.leave_ended(link);
    me.load(link);
    me.write_down(link);
    me.load(link);
    me.make_calls();
    me.collect(round_max);
    me.write_outcomes(link);
    return progress::more_to_do;
}

void courier::finish(db::link& link)
{
    auto const deadline = clock::now() + finish_max;
    while (impl_->calls.under_way() > 0 && clock::now() < deadline)
        impl_->collect(round_max);
    impl_->write_outcomes(link);
}

} // namespace holdfast::workers

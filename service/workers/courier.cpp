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
#include <set>
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
constexpr int gone = 410;                    // "410 Gone": the receiver wants no more

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
    workers::route route;
    bool may_have_more = true; // pending deliveries that are not in the route
};

// A call under way.
struct on_call {
    uuid webhook;
    std::int64_t delivery = 0;
    std::int64_t attempts = 0; // with this one
    std::string event_id;
};

} // namespace

struct courier::impl {
    impl(courier_options o, event_feed const& f, event_bell const& b, address_guard const& g,
         metrics& m)
        : options(std::move(o)), feed(f), bell(b), counters(m), calls(options.calls, g)
    {}

    // Whatever was ours is so only while the session lasts.
    void notice_lost_session(db::link& link)
    {
        if (link.sessions_made() == session_number && link.is_connected())
            return;
        (void)link.session();
        session_number = link.sessions_made();
        ours.clear();
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
        std::erase_if(ours, [&](auto const& each) {
            bool const is_over = !active.contains(each.first);
            if (is_over)
                leave(link, each.first);
            return is_over;
        });
        for (auto& [id, hook] : active) {
            auto found = ours.find(id);
            if (found == ours.end() && take_over(link, id))
                found = ours.emplace(id, served{}).first;
            if (found != ours.end())
                update(found->second, std::move(hook));
        }
        counters.webhooks_owned(ours.size());
        hurry(link);
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

    // What people may change meanwhile, the place included: a replay sets it back.
    static void update(served& of, store::webhook hook)
    {
        of.hook = std::move(hook);
        of.types = types_named(of.hook.types);
        of.place = parse_event_place(of.hook.place).value_or(event_place());
        of.may_have_more = true; // such as one that is to be sent again
    }

    // Writes down what is new. Webhooks that are told everything read the same pages.
    void write_down(db::link& link)
    {
        std::map<event_place, event_page> pages;
        for (auto& [id, each] : ours) {
            bool const has_room = each.route.size() < options.waiting_max / 2;
            if (!has_room || each.may_have_more || bell.last_position() < each.place.position)
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
            enqueue(link, each, found->second);
        }
    }

    void enqueue(db::link& link, served& of, event_page const& page)
    {
        std::vector<store::letter> letters;
        for (auto const& e : page.events)
            if (is_wanted(e, of.types, of.hook.sku_prefix))
                letters.push_back({.event_id = e.id,
                                   .event_type = std::string(to_string(e.type)),
                                   .sku = e.at.sku.str(),
                                   .body = webhook_body(e)});
        auto const next = to_string(page.next);
        if (next == of.hook.place)
            return;
        auto const is_done = db::transact(link, [&](db::transaction& tx) {
            tx.commit_lazily();
            if (!store::advance(tx, of.hook.id, of.hook.revision, next))
                return false;
            if (!letters.empty())
                store::enqueue(tx, of.hook.id, letters);
            return true;
        });
        if (!is_done) { // it was changed
            next_look = {};
            return;
        }
        of.hook.place = next;
        of.place = page.next;
        of.may_have_more = of.may_have_more || !letters.empty();
    }

    // Events it had not been told are forgotten: goes on with what is kept.
    void begin_anew(db::link& link, served const& of, refusal const& why)
    {
        log::warning("webhook.fell_behind", {{"webhook", of.hook.id.str()}, {"fault", why.detail}});
        db::transact(link, [&](db::transaction& tx) {
            store::move(tx, of.hook.id, to_string(event_place()));
            return 0;
        });
        next_look = {};
    }

    void load(db::link& link)
    {
        for (auto& [id, each] : ours) {
            if (!each.may_have_more || each.route.size() >= options.waiting_max)
                continue;
            auto const room = options.waiting_max - each.route.size();
            auto const known = each.route.ids();
            auto found = db::read(link, db::scope::single, [&](db::transaction& tx) {
                return store::pending(tx, each.hook.id, known, room);
            });
            std::erase_if(found, [&](auto const& one) { return is_on_call(one.id); });
            each.may_have_more = found.size() == room;
            each.route.add(std::move(found), clock::now());
        }
    }

    [[nodiscard]] bool is_on_call(std::int64_t delivery) const
    {
        return std::ranges::any_of(
            on_calls, [&](auto const& each) { return each.second.delivery == delivery; });
    }

    void make_calls()
    {
        for (auto& [id, each] : ours)
            while (each.route.under_way() < options.under_way_max) {
                auto const* const next = each.route.next(clock::now());
                if (next == nullptr)
                    break;
                make_call(each, next->what);
            }
    }

    void make_call(served const& to, store::pending_delivery const& what)
    {
        auto const timestamp =
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count());
        auto const sign = [&](std::string const& secret) {
            return webhook_signature(store::secret_of(secret), what.event_id, timestamp, what.body);
        };
        auto signature = sign(to.hook.secret);
        if (to.hook.former_secret)
            signature += ' ' + sign(*to.hook.former_secret);
        auto const number = ++last_number;
        on_calls.emplace(number, on_call{to.hook.id, what.id, what.attempts + 1, what.event_id});
        calls.post({.number = number,
                    .url = to.hook.url,
                    .headers = {{"Content-Type", "application/json"},
                                {"webhook-id", what.event_id},
                                {"webhook-timestamp", timestamp},
                                {"webhook-signature", std::move(signature)}},
                    .body = what.body});
    }

    void collect(db::link& link, std::chrono::milliseconds longest)
    {
        auto const ended = calls.wait(longest);
        std::vector<store::attempt> attempts;
        for (auto const& came : ended) {
            auto const found = on_calls.find(came.number);
            auto const made = std::move(found->second);
            on_calls.erase(found);
            attempts.push_back(judge(made, came));
            if (came.status == gone)
                given_up.insert(made.webhook);
        }
        unwritten.insert(unwritten.end(), attempts.begin(), attempts.end());
        write_outcomes(link);
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
        noted.fault = came.status ? fmt::format("it answered {}", *came.status) : came.fault;
        if (came.status == gone) { // not the event's fault: it is told once the webhook is mended
            noted.attempts -= 1;
            noted.state = "pending";
            counters.webhook_attempted("failed");
            return noted;
        }
        auto const pause = pause_after(made.attempts, came);
        noted.state = pause ? "pending" : "dead";
        noted.delay = pause.value_or(std::chrono::milliseconds(0));
        counters.webhook_attempted(pause ? "failed" : "dead");
        if (to == ours.end())
            return noted;
        if (pause)
            to->second.route.again(made.delivery, made.attempts, clock::now() + *pause);
        else
            to->second.route.done(made.delivery);
        return noted;
    }

    // Nothing when there are no attempts left.
    [[nodiscard]] std::optional<std::chrono::milliseconds>
    pause_after(std::int64_t attempts, call_outcome const& came) const
    {
        auto const made = static_cast<std::size_t>(attempts);
        if (made >= options.schedule.size())
            return std::nullopt;
        std::chrono::milliseconds pause = jittered(options.schedule[made]);
        if (came.retry_after)
            pause = std::max<std::chrono::milliseconds>(
                pause, std::min<std::chrono::seconds>(*came.retry_after, retry_after_max));
        return pause;
    }

    void write_outcomes(db::link& link)
    {
        if (unwritten.empty() && given_up.empty())
            return;
        db::transact(link, [&](db::transaction& tx) {
            tx.commit_lazily();
            if (!unwritten.empty())
                store::note(tx, unwritten);
            for (auto const& id : given_up)
                store::disable(tx, id, "It answered 410 Gone.");
            return 0;
        });
        for (auto const& id : given_up)
            log::warning("webhook.disabled", {{"webhook", id.str()}});
        if (!given_up.empty())
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
    std::set<uuid> given_up;               // webhooks that answered 410
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
    me.look(link);
    me.load(link);
    me.write_down(link);
    me.load(link);
    me.make_calls();
    me.collect(link, round_max);
    return progress::more_to_do;
}

void courier::finish(db::link& link)
{
    auto const deadline = clock::now() + finish_max;
    while (impl_->calls.under_way() > 0 && clock::now() < deadline)
        impl_->collect(link, round_max);
}

} // namespace holdfast::workers

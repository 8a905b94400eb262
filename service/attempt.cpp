// SPDX-License-Identifier: Apache-2.0
#include "service/attempt.hpp"

#include "db/reservations.hpp"
#include "db/tokens.hpp"
#include "service/customer_limits.hpp"
#include "service/expiry.hpp"
#include "service/ledger.hpp"
#include "service/settlement.hpp"
#include "service/token_check.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace holdfast {

namespace {

using view = db::reservations::view;

db::reservations::key to_store_key(request_key const& k)
{
    return {k.api_key_id, k.key, k.fingerprint};
}

reservation to_reservation(reserve_command const& cmd, timestamp now)
{
    reservation made{.id = cmd.id.value_or(uuid::make_v7(hint_of(cmd.lines.front().at.sku))),
                     .state = cmd.confirm_at_once ? reservation_state::confirmed
                                                  : reservation_state::held,
                     .customer = cmd.customer,
                     .reference = cmd.reference,
                     .metadata = cmd.metadata,
                     .created_at = now,
                     .expires_at = now + cmd.ttl,
                     .settled_at = cmd.confirm_at_once ? std::optional(now) : std::nullopt,
                     .supersedes = cmd.supersedes};
    for (auto const& line : cmd.lines)
        made.lines.push_back({.at = line.at,
                              .quantity = line.quantity,
                              .confirmed = cmd.confirm_at_once ? line.quantity : 0});
    return made;
}

result<void> check_known(view const& seen)
{
    for (auto const& p : seen.prospects)
        if (!p.is_known)
            return refusal{.code = errc::unknown_sku,
                           .detail = "There is no item " + p.at.sku.str() + "."};
    return {};
}

// The first item that the request should have been noted for, and is not. What Redis accepted
// before an item was closed is carried out while it is being closed.
db::reservations::prospect const* not_noted_of(reserve_command const& cmd, view const& seen)
{
    for (auto const& p : seen.prospects) {
        auto const is_note = [&p](fast_path_note const& n) {
            return n.epoch == p.fast_epoch && n.sku == p.at.sku;
        };
        bool const has_to_be = cmd.is_accepted ? p.fast_epoch > 0 : p.fast_epoch != 0;
        if (has_to_be && std::ranges::none_of(cmd.notes, is_note))
            return &p;
    }
    return nullptr;
}

result<void> check_on_sale(view const& seen)
{
    for (auto const& p : seen.prospects)
        if (!p.is_on_sale)
            return refusal{.code = errc::not_on_sale,
                           .detail = p.at.sku.str() + " is paused or outside its sale window."};
    return {};
}

// Why a request is refused that falls short as the look saw it. Without items where due holds may
// help.
std::optional<refusal> shortage_of(reserve_command const& cmd, view const& seen)
{
    std::vector<shortfall> items;
    bool may_be_helped = false;
    for (std::size_t i = 0; i < cmd.lines.size(); ++i) {
        auto const& [at, wanted] = cmd.lines[i];
        auto const& p = seen.prospects[i];
        if (p.seen.available() >= wanted)
            continue;
        items.push_back({at, wanted, std::max<units>(0, p.seen.available())});
        may_be_helped = may_be_helped || p.is_short_with_due;
    }
    if (items.empty())
        return std::nullopt;
    return insufficient(may_be_helped ? std::vector<shortfall>() : std::move(items));
}

// All that is left is promised to others, whatever the look says.
refusal nothing_to_replay(reserve_command const& cmd)
{
    auto const& first = cmd.lines.front();
    return insufficient({{first.at, first.quantity, 0}});
}

limit_check limits_of(reserve_command const& cmd, view const& seen, units open_holds_max)
{
    limit_check check{.customer = cmd.customer,
                      .lines = cmd.lines,
                      .limits = {},
                      .open_holds_max = cmd.confirm_at_once ? 0 : open_holds_max};
    for (auto const& p : seen.prospects)
        check.limits.push_back({p.at.sku.str(), p.max_per_customer});
    return check;
}

// One attempt in one transaction. Of several requests each has its own answer; a request that is
// refused leaves nothing behind in it.
class attempting {
public:
    attempting(db::transaction& tx, reserve_commands cmds, company how, trust what,
               strategy_registry const& strategies, reservation_settings const& settings,
               token_secret& secret)
        : tx_(tx), cmds_(cmds), company_(how), trust_(what), strategies_(strategies),
          settings_(settings), secret_(secret), answers_(cmds.size()), book_(tx)
    {}

    // False when there is nothing to commit, and the transaction must be rolled back.
    bool run()
    {
        look();
        for (std::size_t i = 0; i < cmds_.size(); ++i)
            judge(i);
        keep_rules();
        if (candidates_.empty())
            return false;
        taken_ = entries();
        // Levels are locked from the taking on, so what can be written before it is. When it then
        // falls short, that is rolled back and tried again.
        is_hopeful_ = !is_alone() && looks_enough();
        if (is_hopeful_)
            insert();
        if (!(is_hopeful_ && take_as_seen()) && !take())
            return false;
        if (!is_hopeful_)
            insert();
        write();
        return true;
    }

    // Nothing for a request that was set aside.
    [[nodiscard]] std::vector<reserve_answer>& answers() noexcept { return answers_; }

    // Of those refused for their limits, the customers whom expiring their due holds may help.
    [[nodiscard]] std::vector<std::string> const& customers_with_due_holds() const noexcept
    {
        return customers_with_due_holds_;
    }

    [[nodiscard]] std::vector<movement> movements() const
    {
        auto all = released_;
        all.insert(all.end(), book_.movements().begin(), book_.movements().end());
        return all;
    }

private:
    struct candidate {
        std::size_t place = 0;
        reservation made;
        std::vector<stock_level> taken = {}; // by line, as each left its level
        bool is_short = false;
    };

    [[nodiscard]] bool is_alone() const noexcept { return company_ == company::alone; }

    void look()
    {
        std::vector<db::reservations::question> questions;
        for (auto const* cmd : cmds_)
            keys_.push_back(to_store_key(cmd->key));
        for (std::size_t i = 0; i < cmds_.size(); ++i)
            questions.push_back({keys_[i], idempotency::lock_number(cmds_[i]->key),
                                 cmds_[i]->customer, cmds_[i]->lines});
        views_ = db::reservations::look(tx_, questions);
        if (!is_alone() || views_.front().has_key_lock)
            return;
        idempotency::wait_for(tx_, cmds_.front()->key);
        views_ = db::reservations::look(tx_, questions);
    }

    // What the look alone decides. The others are candidates.
    void judge(std::size_t i)
    {
        auto const& cmd = *cmds_[i];
        auto const& seen = views_[i];
        bool const is_first = asked_.emplace(cmd.key.api_key_id, cmd.key.key).second;
        bool const is_for_one = cmd.supersedes || cmd.token; // takes locks that others wait for
        if (!is_first || !seen.has_key_lock || (is_for_one && !is_alone()))
            return;
        if (seen.earlier)
            answers_[i] = replay(*seen.earlier, cmd.key);
        else if (seen.is_key_of_another_kind)
            answers_[i] = idempotency::key_reused();
        else if (cmd.may_only_replay)
            answers_[i] = nothing_to_replay(cmd);
        else if (auto known = check_known(seen); !known)
            answers_[i] = std::move(known).error();
        else if (seen.is_customer_blocked)
            answers_[i] = refusal{.code = errc::customer_blocked,
                                  .detail = "Nothing more is promised to this customer."};
        else if (auto const* missing = not_noted_of(cmd, seen))
            set_aside(*missing);
        else if (auto named = require_customer(limits_of(cmd, seen, 0)); !named)
            answers_[i] = std::move(named).error();
        else if (auto bearer = bearer_wanted(cmd, seen); !bearer)
            answers_[i] = std::move(bearer).error();
        else if (auto superseding = supersede(cmd); !superseding)
            answers_[i] = std::move(superseding).error();
        else if (auto on_sale = check_on_sale(seen); !on_sale)
            answers_[i] = std::move(on_sale).error();
        else if (auto made = to_candidate(i, *bearer); !made)
            answers_[i] = std::move(made).error();
        else
            candidates_.push_back(*std::move(made));
    }

    result<candidate> to_candidate(std::size_t i, std::optional<token_bearer> const& bearer)
    {
        candidate made{i, to_reservation(*cmds_[i], views_[i].now)};
        if (bearer)
            HOLDFAST_TRY_VOID(spend_token(*cmds_[i], *bearer, made.made));
        return made;
    }

    // In the same transaction, so that a refusal that comes later leaves the token unspent. In the
    // order of locks it stands behind the superseded hold and before the customer.
    result<void> spend_token(reserve_command const& cmd, token_bearer const& bearer,
                             reservation const& made)
    {
        auto const secret = cmd.token ? secret_.find(tx_) : std::nullopt;
        HOLDFAST_TRY(auto const shown, token_shown(cmd, bearer, secret, made.created_at));
        if (!db::tokens::spend(tx_, {shown.id, made.id, shown.expires_at}))
            return token_is_used(bearer);
        return {};
    }

    // Alone it is told to whoever can have it noted.
    void set_aside(db::reservations::prospect const& missing) const
    {
        if (is_alone())
            throw not_noted(missing.at.sku, missing.fast_epoch);
    }

    result<outcome<reservation>> replay(db::reservations::earlier const& earlier,
                                        request_key const& k)
    {
        if (earlier.fingerprint != k.fingerprint)
            return idempotency::key_reused();
        auto found = db::reservations::by_id(tx_, earlier.id);
        HOLDFAST_INVARIANT(found.has_value());
        return outcome<reservation>{as_it_stands(std::move(*found)), true};
    }

    // Locks the reservation to be superseded. There may be nothing to release: it is over without a
    // sale, and can be confirmed no more.
    result<void> supersede(reserve_command const& cmd)
    {
        if (!cmd.supersedes)
            return {};
        auto locked = db::reservations::lock(tx_, {*cmd.supersedes});
        if (locked.by_id.empty())
            return unknown_reservation(*cmd.supersedes);
        auto& found = locked.by_id.begin()->second;
        if (found.reservation.state == reservation_state::confirmed)
            return refusal{.code = errc::already_confirmed,
                           .detail = "The reservation to be superseded is confirmed."};
        superseded_ = std::move(found);
        return {};
    }

    [[nodiscard]] bool is_held_superseded() const noexcept
    {
        return superseded_ && superseded_->reservation.state == reservation_state::held;
    }

    void keep_rules()
    {
        if (is_held_superseded() && !candidates_.empty())
            release_superseded();
        refuse(over_their_limits());
        refuse_clearly_short();
    }

    // Puts the superseded hold's units back before anything is taken, with every level of both
    // reservations locked in order first.
    void release_superseded()
    {
        auto& first = candidates_.front();
        auto const& cmd = *cmds_[first.place];
        auto const check = limits_of(cmd, views_[first.place], settings_.open_holds_per_customer);
        lock_customers(tx_, std::span(&check, 1));
        auto const& old = superseded_->reservation;
        std::vector<level_key> keys;
        for (auto const& line : old.lines)
            keys.push_back(line.at);
        for (auto const& line : cmd.lines)
            keys.push_back(line.at);
        ledger old_book(tx_);
        old_book.lock(keys);
        auto const is_due = superseded_->is_due;
        put_back(old_book, old, is_due ? movement_kind::expired : movement_kind::released,
                 {.actor = cmd.actor});
        old_book.write();
        released_ = old_book.movements();
        db::reservations::close(tx_, std::vector{old.id},
                                is_due ? reservation_state::expired : reservation_state::released);
    }

    using refusals = std::vector<std::pair<std::size_t, refusal>>; // by place

    // Of several requests of one limited customer only the first is looked at.
    refusals over_their_limits()
    {
        std::vector<limit_check> checks;
        std::vector<std::size_t> places;
        std::set<std::string> customers;
        std::erase_if(candidates_, [&](candidate const& c) {
            auto check =
                limits_of(*cmds_[c.place], views_[c.place], settings_.open_holds_per_customer);
            if (!is_limited(check))
                return false;
            if (!customers.insert(*check.customer).second)
                return true;
            checks.push_back(std::move(check));
            places.push_back(c.place);
            return false;
        });
        refusals refused;
        if (checks.empty())
            return refused;
        auto verdicts = keep_limits(tx_, checks);
        for (std::size_t n = 0; n < places.size(); ++n) {
            if (verdicts[n].may_change)
                customers_with_due_holds_.push_back(*checks[n].customer);
            if (!verdicts[n].kept)
                refused.emplace_back(places[n], std::move(verdicts[n].kept).error());
        }
        return refused;
    }

    // Sold out as far as the look could see: no row is locked to say so. It saw key and level at
    // one instant, so a duplicate that has been served since has what came free since.
    void refuse_clearly_short()
    {
        if (is_held_superseded())
            return;
        for (auto const& c : candidates_)
            if (auto why = shortage_of(*cmds_[c.place], views_[c.place]))
                answers_[c.place] = *std::move(why);
        std::erase_if(candidates_, [&](candidate const& c) { return !!answers_[c.place]; });
    }

    void refuse(refusals refused)
    {
        std::set<std::size_t> places;
        for (auto const& [place, why] : refused)
            places.insert(place);
        answer(std::move(refused));
        std::erase_if(candidates_, [&](candidate const& c) { return places.contains(c.place); });
    }

    // A duplicate may have committed between our look and our lock of the key: then what it took is
    // ours, and no reason to refuse.
    void answer(refusals refused)
    {
        if (refused.empty())
            return;
        std::vector<db::reservations::key> keys;
        for (auto const& [place, why] : refused)
            keys.push_back(keys_[place]);
        auto const done = db::reservations::find_keys(tx_, keys);
        for (std::size_t n = 0; n < refused.size(); ++n) {
            auto& [place, why] = refused[n];
            if (done[n])
                answers_[place] = replay(*done[n], cmds_[place]->key);
            else
                answers_[place] = std::move(why);
        }
    }

    struct entry {
        candidate* of = nullptr;
        std::size_t line = 0;
        units_wanted wanted;
        std::string_view strategy;
        stock_level seen; // by the look
    };

    // By level, and first come first served on each.
    std::vector<entry> entries()
    {
        std::vector<entry> all;
        for (auto& c : candidates_) {
            c.taken.resize(c.made.lines.size());
            for (std::size_t n = 0; n < c.made.lines.size(); ++n)
                all.push_back({&c,
                               n,
                               {c.made.lines[n].at, c.made.lines[n].quantity},
                               strategy_of(views_[c.place].prospects[n]),
                               views_[c.place].prospects[n].seen});
        }
        std::ranges::stable_sort(all, {}, [](entry const& e) { return std::tie(e.wanted.at); });
        return all;
    }

    std::string_view strategy_of(db::reservations::prospect const& p) const
    {
        return p.strategy && strategies_.has(*p.strategy) ? std::string_view(*p.strategy)
                                                          : settings_.default_strategy;
    }

    // Whether everything fits if nobody else comes in between.
    bool looks_enough() const
    {
        units sum = 0;
        for (std::size_t n = 0; n < taken_.size(); ++n) {
            bool const is_next = n == 0 || taken_[n - 1].wanted.at != taken_[n].wanted.at;
            sum = (is_next ? 0 : sum) + taken_[n].wanted.quantity;
            if (sum > taken_[n].seen.available())
                return false;
        }
        return true;
    }

    // Counts on one level being as the look saw it, so that everything goes out in one go. False
    // when it has to be done otherwise.
    bool take_as_seen()
    {
        auto const& first = taken_.front();
        if (trust_ != trust::in_the_look || first.wanted.at != taken_.back().wanted.at)
            return false;
        std::vector<units_wanted> wanted;
        for (auto const& e : taken_)
            wanted.push_back(e.wanted);
        auto const got = strategies_.named(first.strategy).take_as_seen(tx_, wanted, first.seen);
        if (!got)
            return false;
        for (std::size_t n = 0; n < taken_.size(); ++n)
            taken_[n].of->taken[taken_[n].line] = (*got)[n].after;
        return true;
    }

    // Takes runs of neighbouring entries of one strategy together, so that levels are locked in
    // order whatever their strategies are.
    bool take()
    {
        for (std::size_t first = 0, last = 0; first < taken_.size(); first = last) {
            auto const name = taken_[first].strategy;
            std::vector<units_wanted> run;
            for (last = first; last < taken_.size() && taken_[last].strategy == name; ++last)
                run.push_back(taken_[last].wanted);
            auto const got = strategies_.named(name).take(tx_, run);
            for (std::size_t n = 0; n < run.size(); ++n) {
                auto& e = taken_[first + n];
                e.of->is_short = e.of->is_short || !got[n].fits;
                e.of->taken[e.line] = got[n].after;
            }
        }
        return drop_short();
    }

    // A list of several lines may have got some of them, and reservations may be written already:
    // only a rollback brings those back.
    bool drop_short()
    {
        auto const is_short = [](candidate const& c) { return c.is_short; };
        bool const is_torn = std::ranges::any_of(candidates_, [&](candidate const& c) {
            return c.is_short && (is_hopeful_ || c.made.lines.size() > 1);
        });
        if (is_torn && !is_alone()) {
            start_over();
            return false;
        }
        refusals refused;
        for (auto const& c : candidates_)
            if (c.is_short)
                refused.emplace_back(c.place, refusal{.code = errc::insufficient_stock});
        answer(std::move(refused));
        std::erase_if(taken_, [](entry const& e) { return e.of->is_short; });
        return !std::ranges::all_of(candidates_, is_short);
    }

    // Nothing has happened: the single lines are tried again together, unless they are short by
    // themselves, and the lists alone.
    void start_over()
    {
        for (auto const& c : candidates_)
            if (c.made.lines.size() == 1)
                answers_[c.place] = refusal{.code = errc::insufficient_stock};
    }

    void insert()
    {
        std::vector<db::reservations::draft> drafts;
        for (auto& c : candidates_)
            if (!c.is_short)
                drafts.push_back({c.made, keys_[c.place], cmds_[c.place]->ttl});
        db::reservations::insert(tx_, drafts);
    }

    void write()
    {
        for (auto const& e : taken_)
            book_.note_taken(e.wanted.at, e.of->taken[e.line],
                             {.kind = movement_kind::reserved,
                              .reserved_delta = e.wanted.quantity,
                              .reservation_id = e.of->made.id,
                              .by = {.actor = cmds_[e.of->place]->actor}});
        for (auto const& e : taken_)
            if (cmds_[e.of->place]->confirm_at_once)
                book_.move(e.wanted.at, {.kind = movement_kind::confirmed,
                                         .on_hand_delta = -e.wanted.quantity,
                                         .reserved_delta = -e.wanted.quantity,
                                         .reservation_id = e.of->made.id,
                                         .by = {.actor = cmds_[e.of->place]->actor}});
        book_.write();
        if (superseded_)
            db::reservations::supersede(tx_, superseded_->reservation.id,
                                        candidates_.front().made.id);
        for (auto& c : candidates_)
            if (!c.is_short)
                answers_[c.place] = outcome<reservation>{std::move(c.made), false};
    }

    db::transaction& tx_;
    reserve_commands cmds_;
    company company_;
    trust trust_;
    strategy_registry const& strategies_;
    reservation_settings const& settings_;
    token_secret& secret_;
    std::vector<reserve_answer> answers_;
    std::vector<db::reservations::key> keys_;
    std::vector<view> views_;
    std::set<std::pair<std::int64_t, std::string_view>> asked_; // keys in this batch
    std::vector<candidate> candidates_;
    std::vector<entry> taken_;
    bool is_hopeful_ = false; // reservations are written before their units are taken
    std::optional<db::reservations::found> superseded_;
    std::vector<movement> released_;
    std::vector<std::string> customers_with_due_holds_;
    ledger book_;
};

} // namespace

attempted attempt(db::transaction& tx, reserve_commands cmds, company how, trust what,
                  strategy_registry const& strategies, reservation_settings const& settings,
                  token_secret& secret)
{
    attempting once(tx, cmds, how, what, strategies, settings, secret);
    bool const has_written = once.run();
    return {std::move(once.answers()), once.customers_with_due_holds(), once.movements(),
            has_written};
}

refusal insufficient(std::vector<shortfall> items)
{
    return {.code = errc::insufficient_stock,
            .detail = "Not enough units are available; nothing was taken.",
            .items = std::move(items)};
}

} // namespace holdfast

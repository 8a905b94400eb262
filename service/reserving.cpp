// SPDX-License-Identifier: Apache-2.0
// reservations::reserve: look, keep the rules, take, write. Locks in the global order: the key, the
// hold that is superseded, the customer, the levels.
#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "service/availability.hpp"
#include "service/customer_limits.hpp"
#include "service/ledger.hpp"
#include "service/overload.hpp"
#include "service/reservations.hpp"
#include "service/settlement.hpp"

#include <algorithm>
#include <map>

namespace holdfast {

namespace {

// Each round either reclaims a batch of due holds or finds units that were freed meanwhile; a
// caller who loses that race so often waits in an overload.
constexpr int rounds_max = 50;

using view = db::reservations::view;

db::reservations::key to_store_key(request_key const& k)
{
    return {k.api_key_id, k.key, k.fingerprint};
}

result<outcome<reservation>> replay(db::transaction& tx, db::reservations::earlier const& earlier,
                                    request_key const& k)
{
    if (earlier.fingerprint != k.fingerprint)
        return idempotency::key_reused();
    auto found = db::reservations::by_id(tx, earlier.id);
    HOLDFAST_INVARIANT(found.has_value());
    return outcome<reservation>{as_it_stands(std::move(*found)), true};
}

// One attempt in one transaction. A refusal rolls everything back.
class attempt {
public:
    attempt(db::transaction& tx, reserve_command const& cmd, strategy_registry const& strategies,
            reservation_settings const& settings)
        : tx_(tx), cmd_(cmd), strategies_(strategies), settings_(settings),
          key_(to_store_key(cmd.key)), book_(tx)
    {}

    result<outcome<reservation>> run()
    {
        auto const seen = look();
        if (seen.earlier)
            return replay(tx_, *seen.earlier, cmd_.key);
        if (seen.is_key_of_another_kind)
            return idempotency::key_reused();
        HOLDFAST_TRY_VOID(check_known(seen));
        auto const limits = limits_of(seen);
        HOLDFAST_TRY_VOID(require_customer(limits));
        HOLDFAST_TRY(auto const superseded, lock_superseded());
        HOLDFAST_TRY_VOID(check_on_sale(seen));
        if (superseded) {
            lock_customer(tx_, limits);
            release(*superseded);
        }
        if (auto kept = keep_limits(tx_, limits); !kept)
            return refuse_unless_done(std::move(kept).error());
        if (!cmd_.supersedes && is_clearly_short(seen))
            return refuse_unless_done({.code = errc::insufficient_stock});
        auto made = insert();
        auto const levels = take(seen);
        if (!levels)
            return refusal{.code = errc::insufficient_stock};
        write(made, *levels);
        return outcome<reservation>{std::move(made), false};
    }

    [[nodiscard]] std::vector<movement> movements() const
    {
        auto all = released_;
        all.insert(all.end(), book_.movements().begin(), book_.movements().end());
        return all;
    }

private:
    view look()
    {
        auto const number = idempotency::lock_number(cmd_.key);
        auto seen = db::reservations::look(tx_, key_, number, cmd_.lines);
        if (seen.has_key_lock)
            return seen;
        idempotency::wait_for(tx_, cmd_.key);
        return db::reservations::look(tx_, key_, number, cmd_.lines);
    }

    static result<void> check_known(view const& seen)
    {
        for (auto const& p : seen.prospects)
            if (!p.is_known)
                return refusal{.code = errc::unknown_sku,
                               .detail = "There is no item " + p.at.sku.str() + "."};
        return {};
    }

    static result<void> check_on_sale(view const& seen)
    {
        for (auto const& p : seen.prospects)
            if (!p.is_on_sale)
                return refusal{.code = errc::not_on_sale,
                               .detail = p.at.sku.str() + " is paused or outside its sale window."};
        return {};
    }

    // Locks the hold to be superseded. Nothing when there is none, or it is over without a sale.
    result<std::optional<db::reservations::found>> lock_superseded()
    {
        if (!cmd_.supersedes)
            return std::optional<db::reservations::found>();
        auto found = db::reservations::lock(tx_, *cmd_.supersedes);
        if (!found)
            return unknown_reservation(*cmd_.supersedes);
        if (found->reservation.state == reservation_state::confirmed)
            return refusal{.code = errc::already_confirmed,
                           .detail = "The reservation to be superseded is confirmed."};
        if (found->reservation.state != reservation_state::held)
            return std::optional<db::reservations::found>();
        return found;
    }

    // Puts the superseded hold's units back before anything is taken, with every level of both
    // reservations locked in order first.
    void release(db::reservations::found const& superseded)
    {
        auto const& old = superseded.reservation;
        std::vector<level_key> keys;
        for (auto const& line : old.lines)
            keys.push_back(line.at);
        for (auto const& line : cmd_.lines)
            keys.push_back(line.at);
        ledger old_book(tx_);
        old_book.lock(keys);
        put_back(old_book, old,
                 superseded.is_due ? movement_kind::expired : movement_kind::released,
                 {.actor = cmd_.actor});
        old_book.write();
        released_ = old_book.movements();
        db::reservations::close(
            tx_, std::vector{old.id},
            superseded.is_due ? reservation_state::expired : reservation_state::released, id_);
    }

    limit_check limits_of(view const& seen) const
    {
        limit_check check{.customer = cmd_.customer,
                          .lines = cmd_.lines,
                          .limits = {},
                          .open_holds_max =
                              cmd_.confirm_at_once ? 0 : settings_.open_holds_per_customer};
        for (auto const& p : seen.prospects)
            check.limits.push_back({p.at.sku.str(), p.max_per_customer});
        return check;
    }

    bool is_clearly_short(view const& seen) const
    {
        for (std::size_t i = 0; i < cmd_.lines.size(); ++i)
            if (seen.prospects[i].available < cmd_.lines[i].quantity)
                return true;
        return false;
    }

    // A duplicate may have committed between our look and our lock of the key: then what it took is
    // ours, and no reason to refuse.
    result<outcome<reservation>> refuse_unless_done(refusal why)
    {
        if (auto const earlier = db::reservations::find_key(tx_, key_))
            return replay(tx_, *earlier, cmd_.key);
        return why;
    }

    std::string_view strategy_of(db::reservations::prospect const& p) const
    {
        return p.strategy && strategies_.has(*p.strategy) ? std::string_view(*p.strategy)
                                                          : settings_.default_strategy;
    }

    // Takes runs of neighbouring lines of one strategy together, so that levels are locked in order
    // whatever their strategies are. Nothing when a line does not fit.
    std::optional<std::vector<stock_level>> take(view const& seen)
    {
        std::vector<units_wanted> wanted;
        for (auto const& line : cmd_.lines)
            wanted.push_back({line.at, line.quantity});
        std::vector<stock_level> levels;
        for (std::size_t first = 0, last = 0; first < wanted.size(); first = last) {
            auto const name = strategy_of(seen.prospects[first]);
            for (last = first; last < wanted.size() && strategy_of(seen.prospects[last]) == name;)
                ++last;
            auto const run = std::span(wanted).subspan(first, last - first);
            for (auto const& t : strategies_.named(name).take(tx_, run)) {
                if (!t.fits)
                    return std::nullopt;
                levels.push_back(t.after);
            }
        }
        return levels;
    }

    // Inserted before the units are taken, so that their rows stay locked for one round trip less;
    // a line that does not fit rolls it back.
    reservation insert()
    {
        reservation made{.id = id_,
                         .customer = cmd_.customer,
                         .reference = cmd_.reference,
                         .metadata = cmd_.metadata,
                         .supersedes = cmd_.supersedes};
        for (auto const& line : cmd_.lines)
            made.lines.push_back({.at = line.at, .quantity = line.quantity});
        auto const times = db::reservations::insert(tx_, made, key_, cmd_.ttl);
        if (!times) // a duplicate that did not take the key's lock: run again and find it
            throw db::error(db::fault::conflict, "", "reservations.insert");
        made.created_at = times->created_at;
        made.expires_at = times->expires_at;
        return made;
    }

    void write(reservation& made, std::vector<stock_level> const& levels)
    {
        for (std::size_t i = 0; i < made.lines.size(); ++i)
            book_.note_taken(made.lines[i].at, levels[i],
                             {.kind = movement_kind::reserved,
                              .reserved_delta = made.lines[i].quantity,
                              .reservation_id = made.id,
                              .by = {.actor = cmd_.actor}});
        if (cmd_.confirm_at_once)
            confirm_lines(tx_, book_, made, {.actor = cmd_.actor});
        book_.write();
    }

    db::transaction& tx_;
    reserve_command const& cmd_;
    strategy_registry const& strategies_;
    reservation_settings const& settings_;
    db::reservations::key key_;
    ledger book_;
    std::vector<movement> released_;
    uuid id_ = uuid::make_v7();
};

} // namespace

result<outcome<reservation>> reservations::reserve(db::link& link, reserve_command const& cmd) const
{
    return idempotency::refuse_in_progress([&]() -> result<outcome<reservation>> {
        for (int round = 0; round < rounds_max; ++round) {
            std::vector<movement> moved;
            auto answer = db::transact(link, [&](db::transaction& tx) {
                attempt once(tx, cmd, strategies_, settings_);
                auto reserved = once.run();
                moved = once.movements();
                return reserved;
            });
            if (answer) {
                count(metrics_, moved);
                return answer;
            }
            auto const refused = answer.error().code;
            if (refused == errc::customer_limit && expire_due_of(link, *cmd.customer, metrics_) > 0)
                continue;
            if (refused != errc::insufficient_stock)
                return answer;
            auto items = make_room(link, cmd.lines, cmd.supersedes, metrics_);
            if (!items.empty())
                return refusal{.code = errc::insufficient_stock,
                               .detail = "Not enough units are available; nothing was taken.",
                               .items = std::move(items)};
        }
        throw overloaded();
    });
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// reservations: settle (confirm, release, extend), give_back. Each locks the reservations first, so
// that a final state is reached once, then their levels.
#include "db/items.hpp"
#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "service/availability.hpp"
#include "service/customer_limits.hpp"
#include "service/json_writer.hpp"
#include "service/ledger.hpp"
#include "service/overload.hpp"
#include "service/reservations.hpp"
#include "service/settlement.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

namespace {

std::vector<level_key> keys_of(reservation const& r)
{
    std::vector<level_key> keys;
    for (auto const& line : r.lines)
        keys.push_back(line.at);
    return keys;
}

// What is to be confirmed, without the lines of which nothing is.
std::vector<line_request> confirmed_by(reservation const& r)
{
    std::vector<line_request> lines;
    for (auto const& line : r.lines)
        if (line.confirmed > 0)
            lines.push_back({line.at, line.confirmed});
    return lines;
}

refusal already_confirmed()
{
    return {.code = errc::already_confirmed,
            .detail = "The reservation is confirmed; bring units back with a return."};
}

refusal already_released()
{
    return {.code = errc::already_released, .detail = "The reservation is released."};
}

refusal superseded(uuid const& by)
{
    return {.code = errc::already_released,
            .detail = "The reservation was superseded by " + by.str() + "."};
}

refusal invalid_lines(std::vector<std::string> details)
{
    refusal why{.code = errc::validation_failed, .detail = "The lines do not fit the reservation."};
    for (auto& detail : details)
        why.errors.push_back({"/lines", std::move(detail)});
    return why;
}

reservation_line* find_line(reservation& r, level_key const& at)
{
    auto const found = std::ranges::find(r.lines, at, &reservation_line::at);
    return found == r.lines.end() ? nullptr : &*found;
}

// Sets what is to be confirmed of each line: the lines named, or everything.
result<void> choose_confirmed(reservation& r, confirm_command const& cmd)
{
    for (auto& line : r.lines)
        line.confirmed = cmd.lines ? 0 : line.quantity;
    if (!cmd.lines)
        return {};
    std::vector<std::string> faults;
    for (auto const& wanted : *cmd.lines) {
        auto* const line = find_line(r, wanted.at);
        if (!line)
            faults.push_back(fmt::format("{} at {} is not in this reservation", wanted.at.sku.str(),
                                         wanted.at.location.str()));
        else if (wanted.quantity > line->quantity)
            faults.push_back(fmt::format("{} of {} are held, not {}", line->quantity,
                                         wanted.at.sku.str(), wanted.quantity));
        else
            line->confirmed = wanted.quantity;
    }
    if (!faults.empty())
        return invalid_lines(std::move(faults));
    return {};
}

// How much of each line stands in its level as reserved: the whole line of a hold, or only what is
// to be confirmed, when an expired hold has just taken that again.
enum class holding { whole_lines, confirmed_units };

// A level that is short, by a count, an adjustment or a transfer, may not have the units any more:
// then nothing is confirmed.
result<void> check_on_hand(ledger const& book, reservation const& r)
{
    std::vector<shortfall> gone;
    for (auto const& line : r.lines)
        if (book.level(line.at).on_hand < line.confirmed)
            gone.push_back({line.at, line.confirmed, book.level(line.at).on_hand});
    if (!gone.empty())
        return refusal{.code = errc::insufficient_stock,
                       .detail = "There are fewer units on hand than were promised.",
                       .items = std::move(gone)};
    return {};
}

// Deducts what is confirmed and puts the rest back.
void move_confirmed(ledger& book, reservation const& r, holding held, attribution const& by)
{
    for (auto const& line : r.lines) {
        auto const reserved = held == holding::whole_lines ? line.quantity : line.confirmed;
        if (reserved > 0)
            book.move(line.at, {.kind = line.confirmed > 0 ? movement_kind::confirmed
                                                           : movement_kind::released,
                                .on_hand_delta = -line.confirmed,
                                .reserved_delta = -reserved,
                                .reservation_id = r.id,
                                .by = by});
    }
}

refusal expired(std::vector<shortfall> items = {})
{
    return {.code = errc::reservation_expired,
            .detail = "The hold has expired; its units are free for others.",
            .items = std::move(items)};
}

// Commands for reservations that are there, in one transaction. They are carried out one after the
// other on what the locked rows said; then everything is written at once.
class settling {
public:
    settling(db::transaction& tx, ledger& book) : tx_(tx), book_(book) {}

    // Locks all reservations, then all levels that may move.
    void lock(std::vector<uuid> const& ids)
    {
        locked_ = db::reservations::lock(tx_, ids);
        std::vector<level_key> keys;
        for (auto const& [id, found] : locked_.by_id)
            if (found.reservation.state == reservation_state::held)
                for (auto const& line : found.reservation.lines)
                    keys.push_back(line.at);
        if (!keys.empty())
            book_.lock(keys);
    }

    settle_answer carry_out(confirm_command const& cmd)
    {
        auto* const found = find(cmd.id);
        if (!found)
            return unknown_reservation(cmd.id);
        auto& r = found->reservation;
        if (r.state == reservation_state::confirmed)
            return r;
        if (r.state == reservation_state::released)
            return already_released();
        if (r.state == reservation_state::expired || found->is_due) {
            if (cmd.if_expired != if_expired::reserve_again)
                return expired();
            if (r.superseded_by)
                return superseded(*r.superseded_by);
            return std::nullopt;
        }
        auto chosen = r;
        HOLDFAST_TRY_VOID(choose_confirmed(chosen, cmd));
        HOLDFAST_TRY_VOID(check_on_hand(book_, chosen));
        r = std::move(chosen);
        move_confirmed(book_, r, holding::whole_lines, {.actor = cmd.actor});
        return settle(r, reservation_state::confirmed);
    }

    settle_answer carry_out(release_command const& cmd)
    {
        auto* const found = find(cmd.id);
        if (!found)
            return unknown_reservation(cmd.id);
        auto& r = found->reservation;
        if (r.state == reservation_state::confirmed)
            return already_confirmed();
        if (r.state != reservation_state::held)
            return r;
        put_back(book_, r, found->is_due ? movement_kind::expired : movement_kind::released,
                 {.actor = cmd.actor, .note = cmd.reason});
        return settle(r, found->is_due ? reservation_state::expired : reservation_state::released);
    }

    settle_answer carry_out(extend_command const& cmd)
    {
        auto* const found = find(cmd.id);
        if (!found)
            return unknown_reservation(cmd.id);
        auto& r = found->reservation;
        if (r.state == reservation_state::confirmed)
            return already_confirmed();
        if (r.state == reservation_state::released)
            return already_released();
        if (r.state == reservation_state::expired || found->is_due)
            return expired();
        r.expires_at = locked_.now + cmd.ttl;
        extended_[r.id] = cmd.ttl;
        if (cmd.reason)
            reasoned_.push_back(&cmd);
        return r;
    }

    // Tells those who came too late for the hold `id` what there is now. Call it after write().
    [[nodiscard]] std::vector<shortfall> what_is_left_of(uuid const& id)
    {
        std::vector<line_request> wanted;
        for (auto const& line : find(id)->reservation.lines)
            wanted.push_back({line.at, line.quantity});
        return availability_of(tx_, wanted);
    }

    void write()
    {
        book_.write();
        if (!extended_.empty()) {
            std::vector<db::reservations::extension> extensions;
            for (auto const& [id, ttl] : extended_)
                extensions.push_back({id, ttl});
            db::reservations::extend(tx_, extensions);
        }
        for (auto const* extension : reasoned_)
            note(*extension);
        if (!settled_.empty())
            db::reservations::settle(tx_, settled_);
    }

private:
    db::reservations::found* find(uuid const& id)
    {
        auto const found = locked_.by_id.find(id);
        return found == locked_.by_id.end() ? nullptr : &found->second;
    }

    // Returns it for the caller whose call ends it; others find it ended.
    reservation settle(reservation& r, reservation_state final)
    {
        r.state = final;
        r.settled_at = locked_.now;
        settled_.push_back(&r);
        auto ended = r;
        ended.has_just_ended = true;
        return ended;
    }

    void note(extend_command const& cmd)
    {
        json_writer detail;
        detail.begin_object();
        detail.member("reason", cmd.reason);
        detail.member("ttl_seconds", cmd.ttl.count());
        detail.end_object();
        trail::note(tx_, cmd.by, {"hold.extended", "reservation:" + cmd.id.str(), detail.take()});
    }

    db::transaction& tx_;
    ledger& book_;
    db::reservations::locked locked_;
    std::map<uuid, std::chrono::seconds> extended_;
    std::vector<extend_command const*> reasoned_; // extensions that say why
    std::vector<reservation const*> settled_;
};

uuid const& id_of(settle_command const& cmd)
{
    return std::visit([](auto const& c) -> uuid const& { return c.id; }, cmd);
}

// The customer's limits hold for units taken again as they do for new ones.
result<void> keep_limits_again(db::transaction& tx, reservation const& r,
                               std::span<line_request const> lines)
{
    limit_check check{.customer = r.customer, .lines = lines, .limits = {}, .apart_from = r.id};
    std::vector<std::string> skus;
    for (auto const& line : lines)
        skus.push_back(line.at.sku.str());
    for (auto const& item : db::items::by_skus(tx, skus))
        check.limits.push_back({item.sku, item.max_per_customer});
    HOLDFAST_TRY_VOID(require_customer(check));
    return keep_limits(tx, std::span(&check, 1)).front().kept;
}

// Takes what is to be confirmed of an expired hold again, all or none, under the levels' locks.
result<void> take_again(db::transaction& tx, ledger& book, reservation const& r,
                        attribution const& by)
{
    auto const lines = confirmed_by(r);
    HOLDFAST_TRY_VOID(keep_limits_again(tx, r, lines));
    book.lock(keys_of(r));
    if (r.state == reservation_state::held)
        put_back(book, r, movement_kind::expired, {.actor = "holdfast"});
    for (auto const& line : lines)
        if (!book.has(line.at) || book.level(line.at).available() < line.quantity)
            return expired(availability_of(tx, lines));
    for (auto const& line : lines)
        book.move(line.at, {.kind = movement_kind::reserved,
                            .reserved_delta = line.quantity,
                            .reservation_id = r.id,
                            .by = by});
    return {};
}

// Confirms a hold that has expired, if its units and its customer's limits still allow it.
result<reservation> confirm_again(db::transaction& tx, ledger& book, confirm_command const& cmd)
{
    auto locked = db::reservations::lock(tx, {cmd.id});
    if (locked.by_id.empty())
        return unknown_reservation(cmd.id);
    auto& [r, is_due] = locked.by_id.begin()->second;
    if (r.state == reservation_state::confirmed)
        return r;
    if (r.state == reservation_state::released)
        return already_released();
    if (r.superseded_by)
        return superseded(*r.superseded_by);
    HOLDFAST_INVARIANT(r.state == reservation_state::expired || is_due);
    HOLDFAST_TRY_VOID(choose_confirmed(r, cmd));
    attribution const by{.actor = cmd.actor};
    HOLDFAST_TRY_VOID(take_again(tx, book, r, by));
    HOLDFAST_TRY_VOID(check_on_hand(book, r));
    move_confirmed(book, r, holding::confirmed_units, by);
    book.write();
    r.state = reservation_state::confirmed;
    r.settled_at = locked.now;
    auto const* const one = &r;
    db::reservations::settle(tx, std::span(&one, 1));
    return r;
}

// Whether the customer of this reservation had due holds, which are expired now.
bool expire_due_of_same_customer(db::link& link, uuid const& id, metrics& m)
{
    auto const found = db::read(link, db::scope::snapshot, [&](db::transaction& tx) {
        return db::reservations::by_id(tx, id);
    });
    auto const customer = found ? found->reservation.customer : std::nullopt;
    return customer && expire_due_of(link, {*customer}, m) > 0;
}

bool are_all_enough(std::span<shortfall const> items)
{
    return std::ranges::all_of(items, [](auto const& i) { return i.available >= i.requested; });
}

// Checks a return against what was confirmed and is not back yet, and counts it in.
result<void> count_returned(reservation& r, return_command const& cmd)
{
    std::vector<std::string> faults;
    for (auto const& back : cmd.lines) {
        auto* const line = find_line(r, back.at);
        auto const left = line ? line->confirmed - line->returned : 0;
        if (back.quantity > left) {
            faults.push_back(fmt::format("{} confirmed units of {} at {} can be returned, not {}",
                                         left, back.at.sku.str(), back.at.location.str(),
                                         back.quantity));
            continue;
        }
        line->returned += back.quantity;
        line->restocked += cmd.restock ? back.quantity : 0;
    }
    if (!faults.empty())
        return invalid_lines(std::move(faults));
    return {};
}

result<void> check_returnable(db::reservations::found const& found)
{
    switch (found.reservation.state) {
    case reservation_state::confirmed: return {};
    case reservation_state::released: return already_released();
    case reservation_state::expired:
        return refusal{.code = errc::reservation_expired, .detail = "The hold has expired."};
    case reservation_state::held: break;
    }
    if (found.is_due)
        return refusal{.code = errc::reservation_expired, .detail = "The hold has expired."};
    return invalid_lines({"nothing of this reservation is confirmed yet: release it instead"});
}

result<outcome<reservation>> try_give_back(db::transaction& tx, ledger& book,
                                           return_command const& cmd)
{
    HOLDFAST_TRY(auto const kept, idempotency::begin(tx, cmd.key));
    if (kept) {
        auto found = db::reservations::by_id(tx, cmd.id);
        HOLDFAST_INVARIANT(found.has_value());
        return outcome<reservation>{as_it_stands(std::move(*found)), true};
    }
    auto locked = db::reservations::lock(tx, {cmd.id});
    if (locked.by_id.empty())
        return unknown_reservation(cmd.id);
    auto& found = locked.by_id.begin()->second;
    auto& r = found.reservation;
    HOLDFAST_TRY_VOID(check_returnable(found));
    HOLDFAST_TRY_VOID(count_returned(r, cmd));
    book.lock(keys_of(r));
    for (auto const& back : cmd.lines) {
        auto const on_hand = book.level(back.at).on_hand;
        auto const delta = cmd.restock ? back.quantity : 0;
        if (on_hand > level_max - delta)
            return refusal{.code = errc::quantity_overflow,
                           .detail =
                               fmt::format("{} at {} would have more than {} on hand.",
                                           back.at.sku.str(), back.at.location.str(), level_max)};
        book.move(back.at, {.kind = movement_kind::returned,
                            .on_hand_delta = delta,
                            .reservation_id = r.id,
                            .by = {.actor = cmd.actor}});
    }
    book.write();
    db::reservations::give_back(tx, r.id, cmd.lines,
                                cmd.restock ? db::reservations::restocking::to_the_shelf
                                            : db::reservations::restocking::none);
    idempotency::finish(tx, cmd.key, r.id.str());
    return outcome<reservation>{std::move(r), false};
}

// Runs `work(transaction, ledger)` and counts what it moved once that is committed.
template <class Work>
auto counted(db::link& link, metrics& m, Work&& work)
{
    std::vector<movement> moved;
    auto answer = db::transact(link, [&](db::transaction& tx) {
        ledger book(tx);
        auto done = work(tx, book);
        moved = book.movements();
        return done;
    });
    if (answer)
        count(m, moved);
    return answer;
}

} // namespace

std::vector<settle_answer> reservations::settle(db::link& link,
                                                std::span<settle_command const* const> cmds) const
{
    auto answers = counted(link, metrics_, [&](db::transaction& tx, ledger& book) {
        std::vector<uuid> ids;
        for (auto const* cmd : cmds)
            ids.push_back(id_of(*cmd));
        settling work(tx, book);
        work.lock(ids);
        std::vector<settle_answer> given;
        for (auto const* cmd : cmds)
            given.push_back(
                std::visit([&](auto const& each) { return work.carry_out(each); }, *cmd));
        work.write();
        for (std::size_t i = 0; i < given.size(); ++i)
            if (given[i] && !*given[i] && given[i]->error().code == errc::reservation_expired)
                given[i] = expired(work.what_is_left_of(ids[i]));
        return result<std::vector<settle_answer>>(std::move(given));
    });
    return std::move(answers).value();
}

result<reservation> reservations::confirm(db::link& link, confirm_command const& cmd) const
{
    settle_command const asked(cmd);
    auto const* const one = &asked;
    if (auto answer = settle(link, std::span(&one, 1)).front())
        return *std::move(answer);
    // A refusal for a limit stands when nothing was due before it: others may reclaim as well.
    bool is_nothing_due = false;
    for (int round = 0; round < rounds_max; ++round) {
        auto answer = counted(link, metrics_, [&](db::transaction& tx, ledger& book) {
            return confirm_again(tx, book, cmd);
        });
        if (answer)
            return answer;
        auto const& refused = answer.error();
        if (refused.code == errc::customer_limit && !is_nothing_due) {
            is_nothing_due = !expire_due_of_same_customer(link, cmd.id, metrics_);
            continue;
        }
        if (refused.code != errc::reservation_expired || !are_all_enough(refused.items))
            return answer;
        // Enough is free once the other holds whose time has passed are reclaimed.
        std::vector<level_key> keys;
        for (auto const& item : refused.items)
            keys.push_back(item.at);
        expire_due(link, keys, metrics_);
    }
    throw overloaded();
}

result<reservation> reservations::settle(db::link& link, settle_command const& cmd) const
{
    if (auto const* confirmation = std::get_if<confirm_command>(&cmd))
        return confirm(link, *confirmation);
    auto const* const one = &cmd;
    return settle(link, std::span(&one, 1)).front().value();
}

result<reservation> reservations::release(db::link& link, release_command const& cmd) const
{
    return settle(link, settle_command(cmd));
}

result<reservation> reservations::extend(db::link& link, extend_command const& cmd) const
{
    return settle(link, settle_command(cmd));
}

result<outcome<reservation>> reservations::give_back(db::link& link,
                                                     return_command const& cmd) const
{
    return idempotency::refuse_in_progress([&] {
        return counted(link, metrics_, [&](db::transaction& tx, ledger& book) {
            return try_give_back(tx, book, cmd);
        });
    });
}

} // namespace holdfast

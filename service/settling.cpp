// SPDX-License-Identifier: Apache-2.0
// reservations: confirm, release, extend, give_back. Each locks the reservation first, so that its
// final state is reached once, then its levels.
#include "db/items.hpp"
#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "service/availability.hpp"
#include "service/customer_limits.hpp"
#include "service/ledger.hpp"
#include "service/overload.hpp"
#include "service/reservations.hpp"
#include "service/settlement.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {

namespace {

constexpr int rounds_max = 50; // as in reserving.cpp

std::vector<level_key> keys_of(reservation const& r)
{
    std::vector<level_key> keys;
    for (auto const& line : r.lines)
        keys.push_back(line.at);
    return keys;
}

std::vector<line_request> wanted_by(reservation const& r)
{
    std::vector<line_request> lines;
    for (auto const& line : r.lines)
        lines.push_back({line.at, line.quantity});
    return lines;
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

refusal invalid_lines(std::string detail)
{
    return {.code = errc::validation_failed,
            .detail = "The lines do not fit the reservation.",
            .errors = {{"/lines", std::move(detail)}}};
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
    for (auto const& wanted : *cmd.lines) {
        auto* const line = find_line(r, wanted.at);
        if (!line)
            return invalid_lines(fmt::format("{} at {} is not in this reservation",
                                             wanted.at.sku.str(), wanted.at.location.str()));
        if (wanted.quantity > line->quantity)
            return invalid_lines(fmt::format("{} of {} are held, not {}", line->quantity,
                                             wanted.at.sku.str(), wanted.quantity));
        line->confirmed = wanted.quantity;
    }
    return {};
}

// How much of each line stands in its level as reserved: the whole line of a hold, or only what is
// to be confirmed, when an expired hold has just taken that again.
enum class holding { whole_lines, confirmed_units };

struct settlement {
    holding held = holding::whole_lines;
    attribution by;
};

// Deducts what is confirmed and puts the rest back. A level that a count left short may not have
// the units any more: then nothing is confirmed.
result<void> settle_confirmed(db::transaction& tx, ledger& book, reservation& r,
                              settlement const& how)
{
    std::vector<shortfall> gone;
    for (auto const& line : r.lines)
        if (book.level(line.at).on_hand < line.confirmed)
            gone.push_back({line.at, line.confirmed, book.level(line.at).on_hand});
    if (!gone.empty())
        return refusal{.code = errc::insufficient_stock,
                       .detail = "A count found fewer units than were promised.",
                       .items = std::move(gone)};
    for (auto const& line : r.lines) {
        auto const reserved = how.held == holding::whole_lines ? line.quantity : line.confirmed;
        if (reserved > 0)
            book.move(line.at, {.kind = line.confirmed > 0 ? movement_kind::confirmed
                                                           : movement_kind::released,
                                .on_hand_delta = -line.confirmed,
                                .reserved_delta = -reserved,
                                .reservation_id = r.id,
                                .by = how.by});
    }
    book.write();
    r.state = reservation_state::confirmed;
    r.settled_at = db::reservations::confirm(tx, r);
    return {};
}

refusal expired(db::transaction& tx, std::span<line_request const> wanted)
{
    return {.code = errc::reservation_expired,
            .detail = "The hold has expired; its units are free for others.",
            .items = availability_of(tx, wanted)};
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
    return keep_limits(tx, check);
}

// Takes what is to be confirmed of an expired hold again, all or none, under the levels' locks.
result<void> take_again(db::transaction& tx, ledger& book, db::reservations::found const& found,
                        attribution const& by)
{
    auto const& r = found.reservation;
    auto const lines = confirmed_by(r);
    HOLDFAST_TRY_VOID(keep_limits_again(tx, r, lines));
    book.lock(keys_of(r));
    if (r.state == reservation_state::held)
        put_back(book, r, movement_kind::expired, {.actor = "holdfast"});
    for (auto const& line : lines)
        if (!book.has(line.at) || book.level(line.at).available() < line.quantity)
            return expired(tx, lines);
    for (auto const& line : lines)
        book.move(line.at, {.kind = movement_kind::reserved,
                            .reserved_delta = line.quantity,
                            .reservation_id = r.id,
                            .by = by});
    return {};
}

result<reservation> try_confirm(db::transaction& tx, ledger& book, confirm_command const& cmd)
{
    auto found = db::reservations::lock(tx, cmd.id);
    if (!found)
        return unknown_reservation(cmd.id);
    auto& r = found->reservation;
    if (r.state == reservation_state::confirmed)
        return r;
    if (r.state == reservation_state::released)
        return already_released();
    attribution const by{.actor = cmd.actor};
    bool const is_expired = r.state == reservation_state::expired || found->is_due;
    if (is_expired && cmd.if_expired == if_expired::refuse)
        return expired(tx, wanted_by(r));
    HOLDFAST_TRY_VOID(choose_confirmed(r, cmd));
    if (is_expired) {
        HOLDFAST_TRY_VOID(take_again(tx, book, *found, by));
    } else {
        book.lock(keys_of(r));
    }
    auto const held = is_expired ? holding::confirmed_units : holding::whole_lines;
    HOLDFAST_TRY_VOID(settle_confirmed(tx, book, r, {held, by}));
    return r;
}

std::size_t expire_due_of_same_customer(db::link& link, uuid const& id, metrics& m)
{
    auto const found = db::read(link, db::scope::snapshot, [&](db::transaction& tx) {
        return db::reservations::by_id(tx, id);
    });
    auto const customer = found ? found->reservation.customer : std::nullopt;
    return customer ? expire_due_of(link, *customer, m) : 0;
}

bool are_all_enough(std::span<shortfall const> items)
{
    return std::ranges::all_of(items, [](auto const& i) { return i.available >= i.requested; });
}

result<reservation> try_release(db::transaction& tx, ledger& book, uuid const& id,
                                std::string const& actor)
{
    auto found = db::reservations::lock(tx, id);
    if (!found)
        return unknown_reservation(id);
    auto& r = found->reservation;
    if (r.state == reservation_state::confirmed)
        return already_confirmed();
    if (r.state != reservation_state::held)
        return r;
    book.lock(keys_of(r));
    put_back(book, r, found->is_due ? movement_kind::expired : movement_kind::released,
             {.actor = actor});
    book.write();
    r.state = found->is_due ? reservation_state::expired : reservation_state::released;
    r.settled_at = db::reservations::close(tx, std::vector{id}, r.state);
    return r;
}

// Checks a return against what was confirmed and is not back yet, and counts it in.
result<void> count_returned(reservation& r, return_command const& cmd)
{
    for (auto const& back : cmd.lines) {
        auto* const line = find_line(r, back.at);
        auto const left = line ? line->confirmed - line->returned : 0;
        if (back.quantity > left)
            return invalid_lines(
                fmt::format("{} confirmed units of {} at {} can be returned, not {}", left,
                            back.at.sku.str(), back.at.location.str(), back.quantity));
        line->returned += back.quantity;
        line->restocked += cmd.restock ? back.quantity : 0;
    }
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
    return invalid_lines("nothing of this reservation is confirmed yet: release it instead");
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
    auto found = db::reservations::lock(tx, cmd.id);
    if (!found)
        return unknown_reservation(cmd.id);
    auto& r = found->reservation;
    HOLDFAST_TRY_VOID(check_returnable(*found));
    HOLDFAST_TRY_VOID(count_returned(r, cmd));
    book.lock(keys_of(r));
    for (auto const& back : cmd.lines) {
        auto const on_hand = book.level(back.at).on_hand;
        auto const delta = cmd.restock ? back.quantity : 0;
        if (on_hand > level_max - delta)
            return refusal{.code = errc::quantity_overflow, .detail = back.at.sku.str()};
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
auto settle(db::link& link, metrics& m, Work&& work)
{
    std::vector<movement> moved;
    auto answer = db::transact(link, [&](db::transaction& tx) {
        ledger book(tx);
        auto settled = work(tx, book);
        moved = book.movements();
        return settled;
    });
    if (answer)
        count(m, moved);
    return answer;
}

} // namespace

result<reservation> reservations::confirm(db::link& link, confirm_command const& cmd) const
{
    for (int round = 0; round < rounds_max; ++round) {
        auto answer = settle(link, metrics_, [&](db::transaction& tx, ledger& book) {
            return try_confirm(tx, book, cmd);
        });
        if (!answer && answer.error().code == errc::customer_limit &&
            expire_due_of_same_customer(link, cmd.id, metrics_) > 0)
            continue;
        bool const may_take_again = !answer && cmd.if_expired == if_expired::reserve_again &&
                                    answer.error().code == errc::reservation_expired;
        if (!may_take_again || !are_all_enough(answer.error().items))
            return answer;
        // Enough is free once the other holds whose time has passed are reclaimed.
        std::vector<level_key> keys;
        for (auto const& item : answer.error().items)
            keys.push_back(item.at);
        expire_due(link, keys, metrics_);
    }
    throw overloaded();
}

result<reservation> reservations::release(db::link& link, uuid const& id,
                                          std::string const& actor) const
{
    return settle(link, metrics_, [&](db::transaction& tx, ledger& book) {
        return try_release(tx, book, id, actor);
    });
}

result<reservation> reservations::extend(db::link& link, uuid const& id,
                                         std::chrono::seconds ttl) const
{
    return db::transact(link, [&](db::transaction& tx) -> result<reservation> {
        auto found = db::reservations::lock(tx, id);
        if (!found)
            return unknown_reservation(id);
        auto& r = found->reservation;
        if (r.state == reservation_state::confirmed)
            return already_confirmed();
        if (r.state == reservation_state::released)
            return already_released();
        if (r.state == reservation_state::expired || found->is_due)
            return expired(tx, wanted_by(r));
        r.expires_at = db::reservations::extend(tx, id, ttl);
        return r;
    });
}

result<outcome<reservation>> reservations::give_back(db::link& link,
                                                     return_command const& cmd) const
{
    return idempotency::refuse_in_progress([&] {
        return settle(link, metrics_, [&](db::transaction& tx, ledger& book) {
            return try_give_back(tx, book, cmd);
        });
    });
}

} // namespace holdfast

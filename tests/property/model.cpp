// SPDX-License-Identifier: Apache-2.0
#include "tests/property/model.hpp"

#include <algorithm>

namespace holdfast::test {

namespace {

units at(std::map<level_key, units> const& numbers, level_key const& key)
{
    auto const found = numbers.find(key);
    return found == numbers.end() ? 0 : found->second;
}

bool has_line(model::hold const& h, level_key const& key)
{
    return std::ranges::find(h.lines, key, &reservation_line::at) != h.lines.end();
}

std::vector<line_request> wanted_by(model::hold const& h)
{
    std::vector<line_request> lines;
    for (auto const& line : h.lines)
        lines.push_back({line.at, line.quantity});
    return lines;
}

} // namespace

stock_level model::level(level_key const& key) const
{
    return {at(on_hand_, key), at(reserved_, key)};
}

std::vector<uuid> model::holds_on(level_key const& key) const
{
    std::vector<uuid> ids;
    for (auto const& [id, h] : holds_)
        if (h.state == reservation_state::held && has_line(h, key))
            ids.push_back(id);
    return ids;
}

// Units that come free at a level when this hold is given up.
units model::freed_by(std::optional<uuid> const& id, level_key const& key) const
{
    auto const found = id ? holds_.find(*id) : holds_.end();
    if (found == holds_.end() || found->second.state != reservation_state::held)
        return 0;
    auto const line = std::ranges::find(found->second.lines, key, &reservation_line::at);
    return line == found->second.lines.end() ? 0 : line->quantity;
}

units model::had_by(std::string const& customer, sku const& s,
                    std::optional<uuid> const& except) const
{
    units sum = 0;
    for (auto const& [id, h] : holds_) {
        if (h.customer != customer)
            continue;
        for (auto const& line : h.lines) {
            if (line.at.sku != s)
                continue;
            if (h.state == reservation_state::confirmed)
                sum += line.confirmed - line.restocked;
            if (h.state == reservation_state::held && id != except)
                sum += line.quantity;
        }
    }
    return sum;
}

units model::open_holds_of(std::string const& customer, std::optional<uuid> const& except) const
{
    return std::ranges::count_if(holds_, [&](auto const& entry) {
        return entry.second.customer == customer && entry.first != except &&
               entry.second.state == reservation_state::held;
    });
}

std::string model::limit_word(std::optional<std::string> const& customer,
                              std::vector<line_request> const& lines,
                              std::optional<uuid> const& except) const
{
    std::map<sku, units> wanted;
    for (auto const& line : lines)
        if (items_.at(line.at.sku).max_per_customer)
            wanted[line.at.sku] += line.quantity;
    if (wanted.empty())
        return "ok";
    if (!customer)
        return "validation_failed";
    for (auto const& [s, quantity] : wanted)
        if (had_by(*customer, s, except) + quantity > *items_.at(s).max_per_customer)
            return "customer_limit";
    return "ok";
}

words model::judge(reserve_command const& c) const
{
    for (auto const& line : c.lines)
        if (!knows(line.at.sku))
            return {"unknown_sku"};
    auto const limit = limit_word(c.customer, c.lines, c.supersedes);
    if (limit == "validation_failed")
        return {limit};
    if (c.supersedes) {
        auto const old = holds_.find(*c.supersedes);
        if (old == holds_.end())
            return {"unknown_reservation"};
        if (old->second.state == reservation_state::confirmed)
            return {"already_confirmed"};
    }
    for (auto const& line : c.lines)
        if (!items_.at(line.at.sku).is_on_sale)
            return {"not_on_sale"};
    bool const is_capped = c.customer && !c.confirm_at_once && open_holds_max_ > 0;
    if (is_capped && open_holds_of(*c.customer, c.supersedes) >= open_holds_max_)
        return {"customer_limit"};
    if (limit != "ok")
        return {limit};
    return {shortfalls(c).empty() ? "ok" : "insufficient_stock"};
}

std::vector<line_request> model::shortfalls(reserve_command const& c) const
{
    std::vector<line_request> all;
    for (auto const& line : merged(c.lines)) {
        auto const free = available(line.at);
        if (free + freed_by(c.supersedes, line.at) < line.quantity)
            all.push_back({line.at, std::max<units>(0, free)});
    }
    return all;
}

bool model::are_held(hold const& h, std::vector<line_request> const& lines) const
{
    return std::ranges::all_of(lines, [&](line_request const& wanted) {
        auto const line = std::ranges::find(h.lines, wanted.at, &reservation_line::at);
        return line != h.lines.end() && wanted.quantity <= line->quantity;
    });
}

words model::judge(confirm_command const& c) const
{
    auto const found = holds_.find(c.id);
    if (found == holds_.end())
        return {"unknown_reservation"};
    auto const& h = found->second;
    if (h.state == reservation_state::confirmed)
        return {"ok"};
    if (h.state == reservation_state::released)
        return {"already_released"};
    if (h.state == reservation_state::expired && c.if_expired == if_expired::refuse)
        return {"reservation_expired"};
    if (h.state == reservation_state::expired && h.is_superseded)
        return {"already_released"};
    if (c.lines && !are_held(h, *c.lines))
        return {"validation_failed"};
    auto const wanted = c.lines ? *c.lines : wanted_by(h);
    if (h.state == reservation_state::expired) {
        auto const limit = limit_word(h.customer, wanted, std::nullopt);
        bool const is_there = std::ranges::all_of(
            wanted, [&](auto const& line) { return available(line.at) >= line.quantity; });
        // Nobody has promised which of two reasons comes first.
        if (limit != "ok" && !is_there)
            return {limit, "reservation_expired"};
        if (limit != "ok")
            return {limit};
        if (!is_there)
            return {"reservation_expired"};
    }
    for (auto const& line : wanted)
        if (at(on_hand_, line.at) < line.quantity)
            return {"insufficient_stock"};
    return {"ok"};
}

words model::judge(return_command const& c) const
{
    auto const found = holds_.find(c.id);
    if (found == holds_.end())
        return {"unknown_reservation"};
    auto const& h = found->second;
    if (h.state == reservation_state::expired)
        return {"reservation_expired"};
    if (h.state == reservation_state::released)
        return {"already_released"};
    for (auto const& back : c.lines) {
        auto const line = std::ranges::find(h.lines, back.at, &reservation_line::at);
        if (line == h.lines.end() || line->confirmed - line->returned < back.quantity)
            return {"validation_failed"};
    }
    return {"ok"};
}

words model::judge(adjust_command const& c) const
{
    if (!knows(c.at.sku))
        return {"unknown_sku"};
    auto const now = level(c.at);
    if (c.expect_on_hand && *c.expect_on_hand != now.on_hand)
        return {"precondition_failed"};
    auto const wanted = c.set_to ? *c.set_to : now.on_hand + *c.delta;
    if (wanted < 0)
        return {"would_go_negative"};
    if (wanted > level_max)
        return {"quantity_overflow"};
    bool const may_be_short = c.allow_short || c.reason == "count";
    if (wanted < now.on_hand && wanted < now.reserved && !may_be_short)
        return {"would_be_short"};
    return {"ok"};
}

words model::judge_release(uuid const& id) const
{
    auto const found = holds_.find(id);
    if (found == holds_.end())
        return {"unknown_reservation"};
    return {found->second.state == reservation_state::confirmed ? "already_confirmed" : "ok"};
}

words model::judge_extend(uuid const& id) const
{
    auto const found = holds_.find(id);
    if (found == holds_.end())
        return {"unknown_reservation"};
    switch (found->second.state) {
    case reservation_state::held: return {"ok"};
    case reservation_state::confirmed: return {"already_confirmed"};
    case reservation_state::released: return {"already_released"};
    case reservation_state::expired: break;
    }
    return {"reservation_expired"};
}

void model::give_up(hold& h, reservation_state how)
{
    if (h.state != reservation_state::held)
        return;
    for (auto const& line : h.lines)
        reserved_[line.at] -= line.quantity;
    h.state = how;
}

void model::note(reserve_command const& c, uuid const& id)
{
    if (c.supersedes) {
        auto& old = holds_.at(*c.supersedes);
        old.is_superseded = true;
        give_up(old, reservation_state::released);
    }
    hold made{.lines = {}, .customer = c.customer};
    for (auto const& line : merged(c.lines)) {
        made.lines.push_back({.at = line.at, .quantity = line.quantity});
        reserved_[line.at] += line.quantity;
        levels_.insert(line.at);
    }
    holds_[id] = made;
    if (c.confirm_at_once)
        note(confirm_command{.id = id, .actor = {}, .lines = {}});
}

void model::note(confirm_command const& c)
{
    auto& h = holds_.at(c.id);
    if (h.state == reservation_state::confirmed)
        return;
    give_up(h, reservation_state::confirmed);
    h.state = reservation_state::confirmed;
    for (auto& line : h.lines) {
        line.confirmed = c.lines ? 0 : line.quantity;
        if (c.lines)
            for (auto const& wanted : *c.lines)
                line.confirmed += wanted.at == line.at ? wanted.quantity : 0;
        on_hand_[line.at] -= line.confirmed;
    }
}

void model::note(return_command const& c)
{
    auto& h = holds_.at(c.id);
    for (auto const& back : c.lines) {
        auto const line = std::ranges::find(h.lines, back.at, &reservation_line::at);
        line->returned += back.quantity;
        line->restocked += c.restock ? back.quantity : 0;
        on_hand_[back.at] += c.restock ? back.quantity : 0;
    }
}

void model::note(adjust_command const& c)
{
    levels_.insert(c.at);
    on_hand_[c.at] = c.set_to ? *c.set_to : at(on_hand_, c.at) + *c.delta;
}

void model::note_release(uuid const& id)
{
    give_up(holds_.at(id), reservation_state::released);
}

void model::note_lapse(uuid const& id)
{
    give_up(holds_.at(id), reservation_state::expired);
}

void model::note_item(level_key const& key, units on_hand)
{
    items_[key.sku] = {};
    levels_.insert(key);
    on_hand_[key] = on_hand;
}

} // namespace holdfast::test

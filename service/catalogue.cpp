// SPDX-License-Identifier: Apache-2.0
#include "service/catalogue.hpp"

#include "db/items.hpp"
#include "db/levels.hpp"
#include "db/movements.hpp"
#include "db/transact.hpp"
#include "service/json_writer.hpp"
#include "service/ledger.hpp"
#include "service/secrets.hpp"
#include "service/trail.hpp"

#include <algorithm>
#include <map>

namespace holdfast {

namespace {

item_settings to_settings(db::items::row r)
{
    return {.name = std::move(r.name),
            .on_sale = r.on_sale,
            .sale_starts_at = r.sale_starts_at,
            .sale_ends_at = r.sale_ends_at,
            .max_per_customer = r.max_per_customer,
            .low_stock_at = r.low_stock_at,
            .strategy = std::move(r.strategy),
            .admission = std::move(r.admission),
            .admission_pool = r.admission_pool,
            .admission_ttl_seconds = r.admission_ttl_seconds};
}

// Gives each item its levels, in one read for all.
std::vector<item> with_levels(db::transaction& tx, std::vector<db::items::row> rows)
{
    std::vector<std::string> skus;
    std::vector<item> all;
    std::map<std::string, std::size_t> place;
    for (auto& r : rows) {
        place[r.sku] = all.size();
        skus.push_back(r.sku);
        auto name = sku(r.sku);
        all.push_back({std::move(name), to_settings(std::move(r)), {}});
    }
    if (skus.empty())
        return all;
    for (auto& found : db::levels::of_items(tx, skus))
        all[place.at(found.at.sku.str())].levels.push_back(
            {std::move(found.at.location), found.level});
    return all;
}

refusal unknown(sku const& s)
{
    return {.code = errc::unknown_sku, .detail = "There is no item " + s.str() + "."};
}

refusal invalid(std::string pointer, std::string detail)
{
    return {.code = errc::validation_failed,
            .detail = "The item cannot be stored like this.",
            .errors = {{std::move(pointer), std::move(detail)}}};
}

// The settings with the members that the command names.
db::items::row changed(db::items::row r, put_item_command const& cmd)
{
    auto const set = [](auto& member, auto const& wanted) {
        if (wanted)
            member = *wanted;
    };
    set(r.name, cmd.name);
    set(r.on_sale, cmd.on_sale);
    set(r.sale_starts_at, cmd.sale_starts_at);
    set(r.sale_ends_at, cmd.sale_ends_at);
    set(r.max_per_customer, cmd.max_per_customer);
    set(r.low_stock_at, cmd.low_stock_at);
    set(r.strategy, cmd.strategy);
    set(r.admission, cmd.admission);
    set(r.admission_pool, cmd.admission_pool);
    set(r.admission_ttl_seconds, cmd.admission_ttl_seconds);
    return r;
}

result<void> check_window(db::items::row const& r)
{
    if (r.sale_starts_at && r.sale_ends_at && *r.sale_ends_at <= *r.sale_starts_at)
        return invalid("/sale_ends_at", "must be after sale_starts_at");
    return {};
}

void receive_first_units(db::transaction& tx, level_key const& at, put_item_command const& cmd)
{
    if (cmd.on_hand.value_or(0) == 0)
        return;
    ledger book(tx);
    book.lock(std::vector{at});
    book.move(at, {.kind = movement_kind::received,
                   .on_hand_delta = *cmd.on_hand,
                   .by = {.actor = cmd.actor, .reason = "received"}});
    book.write();
}

// Calls `visit` with the name of each setting and what it is in each of these, so that nobody who
// compares, tells or tags them forgets one.
template <class Visit, class... Settings>
void for_each_setting(Visit const& visit, Settings const&... of)
{
    visit("name", of.name...);
    visit("on_sale", of.on_sale...);
    visit("sale_starts_at", of.sale_starts_at...);
    visit("sale_ends_at", of.sale_ends_at...);
    visit("max_per_customer", of.max_per_customer...);
    visit("low_stock_at", of.low_stock_at...);
    visit("strategy", of.strategy...);
    visit("admission", of.admission...);
    visit("admission_pool", of.admission_pool...);
    visit("admission_ttl_seconds", of.admission_ttl_seconds...);
}

// The settings of `shown` that are not those of `other`.
void write_differences(json_writer& out, db::items::row const& shown, db::items::row const& other)
{
    auto const member = [&](std::string_view name, auto const& value, auto const& than) {
        if (value != than)
            out.member(name, value);
    };
    out.begin_object();
    for_each_setting(member, shown, other);
    out.end_object();
}

// Before and after, of the settings that changed; of a new item those that are not the usual ones.
void note_settings(db::transaction& tx, put_item_command const& cmd, db::items::row const* before,
                   db::items::row const& after)
{
    db::items::row const usual{.sku = after.sku};
    auto const& earlier = before != nullptr ? *before : usual;
    json_writer detail;
    detail.begin_object();
    if (before != nullptr) {
        detail.key("before");
        write_differences(detail, earlier, after);
    }
    detail.key("after");
    write_differences(detail, after, earlier);
    detail.end_object();
    trail::note(
        tx, {cmd.actor, cmd.request_id},
        {before != nullptr ? "item.changed" : "item.created", "item:" + after.sku, detail.take()});
}

item load(db::transaction& tx, sku const& s)
{
    return with_levels(tx, db::items::by_skus(tx, {s.str()})).at(0);
}

bool is_match(std::vector<std::string> const& tags, db::items::row const& row)
{
    auto const tag = settings_tag(to_settings(row));
    return std::ranges::any_of(tags, [&](auto const& each) { return each == "*" || each == tag; });
}

// When a commit's answer was lost, the work runs again and may find what it did itself.
struct attempts_of_put {
    std::optional<timestamp> made_at;
    std::optional<db::items::row> written;
};

result<put_item_answer> put_once(db::transaction& tx, put_item_command const& cmd,
                                 level_key const& at, attempts_of_put& earlier)
{
    auto const present = db::items::lock(tx, {cmd.sku.str()});
    bool const is_new = present.empty();
    if (!is_new && earlier.made_at && db::items::made_at(tx, cmd.sku) == earlier.made_at)
        return put_item_answer{load(tx, cmd.sku), true};
    if (!is_new && earlier.written == present[0])
        return put_item_answer{load(tx, cmd.sku), false};
    if (is_new && cmd.if_match)
        return refusal{.code = errc::precondition_failed,
                       .detail = "There is no item " + cmd.sku.str() + "."};
    if (!is_new && cmd.must_be_new)
        return put_item_answer{load(tx, cmd.sku), false, false};
    if (cmd.if_match && !is_match(*cmd.if_match, present[0]))
        return put_item_answer{load(tx, cmd.sku), false, false};
    if (!is_new && cmd.on_hand)
        return invalid("/on_hand", "can only be given when the item is created: "
                                   "use /v1/stock/{sku}/adjustments");
    auto const row = changed(is_new ? db::items::row{.sku = cmd.sku.str()} : present[0], cmd);
    HOLDFAST_TRY_VOID(check_window(row));
    if (is_new && db::items::insert(tx, std::vector{row}) == 0)
        throw db::error(db::fault::conflict, "", "items.insert"); // made by another just now
    if (is_new || cmd.location)
        db::levels::create(tx, std::vector{at});
    if (is_new || row != present[0])
        note_settings(tx, cmd, is_new ? nullptr : &present[0], row);
    if (is_new) {
        receive_first_units(tx, at, cmd);
        earlier.made_at = db::items::made_at(tx, cmd.sku);
    } else if (row != present[0]) {
        db::items::update(tx, std::vector{row});
        earlier.written = row;
    }
    return put_item_answer{load(tx, cmd.sku), is_new};
}

} // namespace

std::string settings_tag(item_settings const& s)
{
    std::string text;
    auto const add = [&](std::string_view, auto const& value) {
        auto const as_text = db::to_parameter(value);
        text += as_text ? std::to_string(as_text->size()) + ':' + *as_text : "-";
    };
    for_each_setting(add, s);
    return to_hex(fingerprint(text));
}

catalogue::catalogue(std::string default_strategy, std::vector<std::string> strategy_names)
    : default_strategy_(std::move(default_strategy)), strategy_names_(std::move(strategy_names))
{}

result<put_item_answer> catalogue::put(db::link& link, put_item_command const& cmd) const
{
    if (cmd.strategy && *cmd.strategy &&
        std::ranges::find(strategy_names_, **cmd.strategy) == strategy_names_.end())
        return invalid("/strategy", "is not the name of a strategy");
    level_key const at{cmd.sku, cmd.location.value_or(location())};
    attempts_of_put earlier;
    return db::transact(link, [&](db::transaction& tx) { return put_once(tx, cmd, at, earlier); });
}

result<item> catalogue::show(db::link& link, sku const& s) const
{
    return db::read(link, db::scope::snapshot, [&](db::transaction& tx) -> result<item> {
        auto found = with_levels(tx, db::items::by_skus(tx, {s.str()}));
        if (found.empty())
            return unknown(s);
        return std::move(found[0]);
    });
}

std::vector<item> catalogue::list(db::link& link, item_filter const& filter) const
{
    db::items::filter const f{.part = filter.q,
                              .only_low = filter.only_low,
                              .after = filter.after ? filter.after->str() : std::string(),
                              .limit = filter.limit};
    return db::read(link, db::scope::snapshot,
                    [&](db::transaction& tx) { return with_levels(tx, db::items::list(tx, f)); });
}

result<std::vector<ledger_entry>> catalogue::movements(db::link& link,
                                                       movement_filter const& filter) const
{
    using answer = result<std::vector<ledger_entry>>;
    return db::read(link, db::scope::snapshot, [&](db::transaction& tx) -> answer {
        if (db::items::by_skus(tx, {filter.sku.str()}).empty())
            return unknown(filter.sku);
        return db::movements::newest(tx, filter.sku, filter.before, filter.limit);
    });
}

} // namespace holdfast

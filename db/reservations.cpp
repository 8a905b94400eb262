// SPDX-License-Identifier: Apache-2.0
#include "db/reservations.hpp"

#include "db/levels.hpp"
#include "sql/reservations.hpp"

#include <algorithm>
#include <map>

namespace holdfast::db::reservations {

namespace {

using fingerprint = std::array<std::uint8_t, 16>;

// Sorting so many ids takes a few milliseconds.
constexpr std::int64_t open_sorted_max = 5000;

struct look_row {
    bool is_mine = false;
    std::optional<uuid> earlier_id;
    std::optional<fingerprint> earlier_fingerprint;
    bool is_key_of_another_kind = false;
    bool is_blocked = false;
    bool is_known = false;
    bool is_on_sale = false;
    std::optional<std::int64_t> max_per_customer;
    std::optional<std::string> strategy;
    bool needs_token = false;
    std::int64_t fast_epoch = 0;
    std::int64_t on_hand = 0;
    std::int64_t reserved = 0;
    std::int64_t version = 0;
    bool is_short_with_due = false;
    timestamp now;
};

struct reservation_row {
    uuid id;
    std::string state;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
    std::string metadata;
    timestamp created_at;
    timestamp expires_at;
    std::optional<timestamp> settled_at;
    std::optional<uuid> supersedes;
    std::optional<uuid> superseded_by;
    bool is_due = false;
};

struct locked_row {
    uuid id;
    std::string state;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
    std::string metadata;
    timestamp created_at;
    timestamp expires_at;
    std::optional<timestamp> settled_at;
    std::optional<uuid> supersedes;
    std::optional<uuid> superseded_by;
    bool is_due = false;
    timestamp now;
};

struct key_row {
    std::int64_t place = 0;
    uuid id;
    fingerprint print{};
};

struct line_row {
    uuid reservation_id;
    std::string sku;
    std::string location;
    std::int64_t quantity = 0;
    std::int64_t confirmed = 0;
    std::int64_t returned = 0;
    std::int64_t restocked = 0;
};

struct placed_hold_row {
    std::int64_t place = 0;
    uuid reservation_id;
    std::int64_t quantity = 0;
    timestamp expires_at;
    std::optional<std::string> customer;
    std::optional<std::string> reference;
};

// Lines as columns for unnest.
struct line_columns {
    line_columns() = default;

    template <class Lines, class Quantity>
    line_columns(Lines const& lines, Quantity quantity)
    {
        for (auto const& line : lines)
            add({}, line, quantity);
    }

    template <class Line, class Quantity>
    void add(uuid const& id, Line const& line, Quantity quantity)
    {
        ids.push_back(id);
        skus.push_back(line.at.sku.str());
        locations.push_back(line.at.location.str());
        quantities.push_back(line.*quantity);
    }

    std::vector<uuid> ids; // of their reservations
    std::vector<std::string> skus;
    std::vector<std::string> locations;
    std::vector<units> quantities;
};

found to_found(reservation_row r)
{
    auto const state = parse_reservation_state(r.state);
    if (!state)
        throw std::logic_error("unknown state of a reservation");
    return {{.id = r.id,
             .state = *state,
             .lines = {},
             .customer = std::move(r.customer),
             .reference = std::move(r.reference),
             .metadata = std::move(r.metadata),
             .created_at = r.created_at,
             .expires_at = r.expires_at,
             .settled_at = r.settled_at,
             .supersedes = r.supersedes,
             .superseded_by = r.superseded_by},
            r.is_due};
}

// Reads the lines of many reservations at once and hands each its own.
std::vector<found> with_lines(transaction& tx, std::vector<reservation_row> rows)
{
    std::vector<found> all;
    std::vector<uuid> ids;
    std::map<uuid, std::size_t> place;
    for (auto& r : rows) {
        place[r.id] = all.size();
        ids.push_back(r.id);
        all.push_back(to_found(std::move(r)));
    }
    if (ids.empty())
        return all;
    for (auto& l : tx.many<line_row>(sql::reservations::lines, ids))
        all[place.at(l.reservation_id)].reservation.lines.push_back(
            {.at = {sku(std::move(l.sku)), location(std::move(l.location))},
             .quantity = l.quantity,
             .confirmed = l.confirmed,
             .returned = l.returned,
             .restocked = l.restocked});
    return all;
}

std::optional<found> with_lines(transaction& tx, std::optional<reservation_row> row)
{
    if (!row)
        return std::nullopt;
    std::vector<reservation_row> rows;
    rows.push_back(std::move(*row));
    return with_lines(tx, std::move(rows)).front();
}

struct due_row {
    uuid id;
    timestamp expires_at;
};

// These held reservations with their lines, by id.
std::vector<reservation> holds_of(transaction& tx, std::vector<due_row> const& due)
{
    if (due.empty())
        return {};
    std::vector<uuid> ids;
    std::map<uuid, reservation> by_id;
    for (auto const& each : due) {
        ids.push_back(each.id);
        by_id[each.id].expires_at = each.expires_at;
    }
    for (auto& l : tx.many<line_row>(sql::reservations::lines, ids)) {
        auto& r = by_id[l.reservation_id];
        r.id = l.reservation_id;
        r.lines.push_back({.at = {sku(std::move(l.sku)), location(std::move(l.location))},
                           .quantity = l.quantity});
    }
    std::vector<reservation> all;
    for (auto& [id, r] : by_id)
        all.push_back(std::move(r));
    return all;
}

// What a list goes along: the narrowest of what is asked for, or all reservations.
struct way {
    std::optional<std::string> reference = {};
    std::optional<std::string> customer = {};
    std::optional<std::string> sku = {};
};

way way_of(filter const& f)
{
    if (f.reference)
        return {.reference = f.reference};
    if (f.customer)
        return {.customer = f.customer};
    return {.sku = f.sku};
}

std::vector<reservation_row> walk(transaction& tx, filter const& f, way const& by)
{
    auto const state = f.state ? std::optional(std::string(to_string(*f.state))) : std::nullopt;
    auto const sku = by.sku ? std::nullopt : f.sku;
    return tx.many<reservation_row>(sql::reservations::walk, by.reference, by.customer, by.sku,
                                    f.customer, sku, state, f.before.value_or(uuid::last()),
                                    f.limit + 1);
}

// Whether the open holds asked for are so few that all of them can be sorted for one page.
bool are_few_open(transaction& tx, filter const& f, way const& by)
{
    if (f.state != reservation_state::held || by.reference || by.customer)
        return false;
    return tx.one<std::int64_t>(sql::reservations::count_open, by.sku, open_sorted_max + 1) <=
           open_sorted_max;
}

} // namespace

std::vector<view> look(transaction& tx, std::span<question const> questions)
{
    std::vector<std::int64_t> lock_numbers, api_key_ids;
    std::vector<std::string> keys, skus, locations;
    std::vector<std::optional<std::string>> customers;
    std::vector<units> quantities;
    for (auto const& q : questions)
        for (auto const& line : q.lines) {
            lock_numbers.push_back(q.lock_number);
            api_key_ids.push_back(q.key.api_key_id);
            keys.push_back(q.key.text);
            customers.push_back(q.customer);
            skus.push_back(line.at.sku.str());
            locations.push_back(line.at.location.str());
            quantities.push_back(line.quantity);
        }
    auto rows = tx.many<look_row>(sql::reservations::look, lock_numbers, api_key_ids, keys,
                                  customers, skus, locations, quantities);
    std::vector<view> views;
    views.reserve(questions.size());
    auto row = rows.begin();
    for (auto const& q : questions) {
        view& v = views.emplace_back();
        for (auto const& line : q.lines) {
            auto& r = *row++;
            v.has_key_lock = r.is_mine;
            v.now = r.now;
            v.is_key_of_another_kind = r.is_key_of_another_kind;
            v.is_customer_blocked = r.is_blocked;
            if (r.earlier_id)
                v.earlier = {*r.earlier_id, r.earlier_fingerprint.value_or(fingerprint{})};
            v.prospects.push_back({line.at,
                                   r.is_known,
                                   r.is_on_sale,
                                   r.max_per_customer,
                                   std::move(r.strategy),
                                   r.needs_token,
                                   r.fast_epoch,
                                   {r.on_hand, r.reserved, r.version},
                                   r.is_short_with_due});
        }
    }
    return views;
}

std::vector<std::optional<earlier>> find_keys(transaction& tx, std::span<key const> keys)
{
    std::vector<std::int64_t> api_key_ids;
    std::vector<std::string> texts;
    for (auto const& k : keys) {
        api_key_ids.push_back(k.api_key_id);
        texts.push_back(k.text);
    }
    std::vector<std::optional<earlier>> all(keys.size());
    for (auto const& r : tx.many<key_row>(sql::reservations::find_keys, api_key_ids, texts))
        all.at(static_cast<std::size_t>(r.place)) = {r.id, r.print};
    return all;
}

void insert(transaction& tx, std::span<draft const> drafts)
{
    std::vector<uuid> ids;
    std::vector<std::int64_t> api_key_ids, ttls, line_ttls;
    std::vector<std::string> keys, metadatas;
    std::vector<fingerprint> fingerprints;
    std::vector<std::optional<std::string>> customers, references;
    std::vector<std::optional<uuid>> supersedes;
    std::vector<std::string> are_confirmed, lines_confirmed;
    line_columns lines;
    for (auto const& d : drafts) {
        auto const& r = d.reservation;
        auto const is_confirmed = to_text(r.state == reservation_state::confirmed);
        ids.push_back(r.id);
        api_key_ids.push_back(d.key.api_key_id);
        keys.push_back(d.key.text);
        fingerprints.push_back(d.key.fingerprint);
        customers.push_back(r.customer);
        references.push_back(r.reference);
        metadatas.push_back(r.metadata);
        ttls.push_back(d.ttl.count());
        supersedes.push_back(r.supersedes);
        are_confirmed.push_back(is_confirmed);
        for (auto const& line : r.lines) {
            lines.add(r.id, line, &reservation_line::quantity);
            line_ttls.push_back(d.ttl.count());
            lines_confirmed.push_back(is_confirmed);
        }
    }
    tx.later(sql::reservations::insert, ids, api_key_ids, keys, fingerprints, customers, references,
             metadatas, ttls, supersedes, are_confirmed, lines.ids, lines.skus, lines.locations,
             lines.quantities, line_ttls, lines_confirmed);
}

std::optional<found> by_id(transaction& tx, uuid const& id)
{
    return with_lines(tx, tx.maybe<reservation_row>(sql::reservations::by_id, id));
}

locked lock(transaction& tx, std::vector<uuid> const& ids)
{
    locked all;
    std::vector<reservation_row> rows;
    for (auto& r : tx.many<locked_row>(sql::reservations::lock, ids)) {
        all.now = r.now;
        rows.push_back({r.id, std::move(r.state), std::move(r.customer), std::move(r.reference),
                        std::move(r.metadata), r.created_at, r.expires_at, r.settled_at,
                        r.supersedes, r.superseded_by, r.is_due});
    }
    for (auto& f : with_lines(tx, std::move(rows)))
        all.by_id.emplace(f.reservation.id, std::move(f));
    return all;
}

std::vector<reservation> lock_due(transaction& tx, std::span<level_key const> keys,
                                  std::size_t holds_max)
{
    std::vector<std::string> skus;
    std::vector<std::string> locations;
    for (auto const& k : keys) {
        skus.push_back(k.sku.str());
        locations.push_back(k.location.str());
    }
    return holds_of(tx, tx.many<due_row>(sql::reservations::lock_due, skus, locations, holds_max));
}

std::vector<reservation> lock_any_due(transaction& tx, std::size_t lines_max)
{
    return holds_of(tx, tx.many<due_row>(sql::reservations::lock_any_due, lines_max));
}

std::vector<reservation> lock_due_of_customers(transaction& tx,
                                               std::vector<std::string> const& customers,
                                               std::size_t holds_max)
{
    return holds_of(
        tx, tx.many<due_row>(sql::reservations::lock_due_of_customers, customers, holds_max));
}

void settle(transaction& tx, std::span<reservation const* const> settled)
{
    std::vector<uuid> ids;
    std::vector<std::string> states;
    line_columns lines;
    for (auto const* r : settled) {
        ids.push_back(r->id);
        states.emplace_back(to_string(r->state));
        for (auto const& line : r->lines)
            lines.add(r->id, line, &reservation_line::confirmed);
    }
    tx.later(sql::reservations::settle, ids, states, lines.ids, lines.skus, lines.locations,
             lines.quantities);
}

timestamp close(transaction& tx, std::span<uuid const> ids, reservation_state state)
{
    return tx.one<timestamp>(sql::reservations::close, std::vector<uuid>(ids.begin(), ids.end()),
                             to_string(state));
}

void supersede(transaction& tx, uuid const& old, uuid const& by)
{
    tx.later(sql::reservations::supersede, old, by);
}

void extend(transaction& tx, std::span<extension const> extensions)
{
    std::vector<uuid> ids;
    std::vector<std::int64_t> ttls;
    for (auto const& e : extensions) {
        ids.push_back(e.id);
        ttls.push_back(e.ttl.count());
    }
    tx.later(sql::reservations::extend, ids, ttls);
}

void give_back(transaction& tx, uuid const& id, std::span<line_request const> lines, restocking how)
{
    line_columns const columns(lines, &line_request::quantity);
    tx.exec(sql::reservations::give_back, id, columns.skus, columns.locations, columns.quantities,
            how == restocking::to_the_shelf);
}

void lock_customers(transaction& tx, std::vector<std::int64_t> const& lock_numbers)
{
    tx.exec(sql::reservations::lock_customers, lock_numbers);
}

std::vector<counted> open_holds(transaction& tx, std::vector<std::string> const& customers)
{
    return tx.many<counted>(sql::reservations::open_holds, customers);
}

std::vector<counted> units_of_customers(transaction& tx, std::span<customer_item const> asked)
{
    std::vector<std::string> customers, skus;
    std::vector<std::optional<uuid>> apart_from;
    for (auto const& a : asked) {
        customers.push_back(a.customer);
        skus.push_back(a.sku);
        apart_from.push_back(a.apart_from);
    }
    return tx.many<counted>(sql::reservations::units_of_customers, customers, skus, apart_from);
}

std::vector<std::vector<hold_on_level>> holds_on(transaction& tx, std::span<level_key const> keys,
                                                 std::size_t per_level_max)
{
    levels::key_columns const columns(keys);
    std::vector<std::vector<hold_on_level>> all(keys.size());
    for (auto& r : tx.many<placed_hold_row>(sql::reservations::holds_on, columns.skus,
                                            columns.locations, holds_looked_max, per_level_max))
        all.at(static_cast<std::size_t>(r.place))
            .push_back({r.reservation_id, r.quantity, r.expires_at, std::move(r.customer),
                        std::move(r.reference)});
    return all;
}

std::vector<hold_on_level> next_to_end(transaction& tx, level_key const& at, std::size_t limit)
{
    return tx.many<hold_on_level>(sql::reservations::next_to_end, at.sku, at.location, limit);
}

open_on_level sum_open(transaction& tx, level_key const& at, std::size_t count_max)
{
    return tx.one<open_on_level>(sql::reservations::sum_open, at.sku, at.location, count_max);
}

page list(transaction& tx, filter const& f)
{
    auto const by = way_of(f);
    auto const before = f.before.value_or(uuid::last());
    bool const is_whole = are_few_open(tx, f, by);
    auto rows = is_whole ? tx.many<reservation_row>(sql::reservations::list_open, by.sku, before,
                                                    f.limit + 1)
                         : walk(tx, f, by);
    page p;
    if (rows.size() > f.limit) {
        rows.resize(f.limit);
        p.next = rows.back().id;
    } else if (!is_whole) {
        p.next = tx.maybe<uuid>(sql::reservations::end_of_walk, by.reference, by.customer, by.sku,
                                before);
    }
    p.shown = with_lines(tx, std::move(rows));
    return p;
}

} // namespace holdfast::db::reservations

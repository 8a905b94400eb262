// SPDX-License-Identifier: Apache-2.0
#include "db/reservations.hpp"

#include "sql/reservations.hpp"

#include <algorithm>
#include <map>

namespace holdfast::db::reservations {

namespace {

using fingerprint = std::array<std::uint8_t, 16>;

struct look_row {
    bool is_mine = false;
    std::optional<uuid> earlier_id;
    std::optional<fingerprint> earlier_fingerprint;
    bool is_key_of_another_kind = false;
    std::string sku;
    std::string location;
    bool is_known = false;
    bool is_on_sale = false;
    std::optional<std::int64_t> max_per_customer;
    std::optional<std::string> strategy;
    std::int64_t available = 0;
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

struct line_row {
    uuid reservation_id;
    std::string sku;
    std::string location;
    std::int64_t quantity = 0;
    std::int64_t confirmed = 0;
    std::int64_t returned = 0;
    std::int64_t restocked = 0;
};

// Lines as columns for unnest.
struct line_columns {
    template <class Lines, class Quantity>
    line_columns(Lines const& lines, Quantity quantity)
    {
        for (auto const& line : lines) {
            skus.push_back(line.at.sku.str());
            locations.push_back(line.at.location.str());
            quantities.push_back(line.*quantity);
        }
    }

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

// Ids and lines of these held reservations, by id.
std::vector<reservation> holds_of(transaction& tx, std::vector<uuid> const& ids)
{
    if (ids.empty())
        return {};
    std::map<uuid, reservation> by_id;
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

uuid after_all_ids()
{
    return *uuid::parse("ffffffff-ffff-ffff-ffff-ffffffffffff");
}

std::vector<reservation_row> list_rows(transaction& tx, filter const& f)
{
    namespace statements = sql::reservations;
    auto const before = f.before.value_or(after_all_ids());
    std::optional<std::string> state;
    if (f.state)
        state = std::string(to_string(*f.state));
    if (f.customer)
        return tx.many<reservation_row>(statements::list_of_customer, *f.customer, state,
                                        f.reference, f.sku, before, f.limit);
    if (f.reference)
        return tx.many<reservation_row>(statements::list_of_reference, *f.reference, state, f.sku,
                                        before, f.limit);
    if (f.sku)
        return tx.many<reservation_row>(statements::list_of_sku, *f.sku, state, before, f.limit);
    if (f.state == reservation_state::held)
        return tx.many<reservation_row>(statements::list_held, before, f.limit);
    return tx.many<reservation_row>(statements::list, state, before, f.limit);
}

} // namespace

view look(transaction& tx, key const& k, std::int64_t lock_number,
          std::span<line_request const> lines)
{
    line_columns const wanted(lines, &line_request::quantity);
    auto rows = tx.many<look_row>(sql::reservations::look, lock_number, k.api_key_id, k.text,
                                  wanted.skus, wanted.locations);
    view v;
    for (auto& r : rows) {
        v.has_key_lock = r.is_mine;
        v.is_key_of_another_kind = r.is_key_of_another_kind;
        if (r.earlier_id)
            v.earlier = {*r.earlier_id, r.earlier_fingerprint.value_or(fingerprint{})};
        v.prospects.push_back({{sku(std::move(r.sku)), location(std::move(r.location))},
                               r.is_known,
                               r.is_on_sale,
                               r.max_per_customer,
                               std::move(r.strategy),
                               r.available});
    }
    return v;
}

std::optional<earlier> find_key(transaction& tx, key const& k)
{
    return tx.maybe<earlier>(sql::reservations::find_key, k.api_key_id, k.text);
}

std::optional<times> insert(transaction& tx, reservation const& r, key const& k,
                            std::chrono::seconds ttl)
{
    line_columns const lines(r.lines, &reservation_line::quantity);
    return tx.maybe<times>(sql::reservations::insert, r.id, k.api_key_id, k.text, k.fingerprint,
                           r.customer, r.reference, r.metadata, ttl.count(), r.supersedes,
                           lines.skus, lines.locations, lines.quantities);
}

std::optional<found> by_id(transaction& tx, uuid const& id)
{
    return with_lines(tx, tx.maybe<reservation_row>(sql::reservations::by_id, id));
}

std::optional<found> lock(transaction& tx, uuid const& id)
{
    return with_lines(tx, tx.maybe<reservation_row>(sql::reservations::lock, id));
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
    return holds_of(tx, tx.many<uuid>(sql::reservations::lock_due, skus, locations, holds_max));
}

std::vector<reservation> lock_due_of_customer(transaction& tx, std::string const& customer,
                                              std::size_t holds_max)
{
    return holds_of(tx,
                    tx.many<uuid>(sql::reservations::lock_due_of_customer, customer, holds_max));
}

timestamp confirm(transaction& tx, reservation const& r)
{
    line_columns const lines(r.lines, &reservation_line::confirmed);
    return tx
        .maybe<timestamp>(sql::reservations::confirm, r.id, lines.skus, lines.locations,
                          lines.quantities)
        .value();
}

timestamp close(transaction& tx, std::span<uuid const> ids, reservation_state state,
                std::optional<uuid> superseded_by)
{
    return tx.one<timestamp>(sql::reservations::close, std::vector<uuid>(ids.begin(), ids.end()),
                             to_string(state), superseded_by);
}

timestamp extend(transaction& tx, uuid const& id, std::chrono::seconds ttl)
{
    return tx.maybe<timestamp>(sql::reservations::extend, id, ttl.count()).value();
}

void give_back(transaction& tx, uuid const& id, std::span<line_request const> lines, restocking how)
{
    line_columns const columns(lines, &line_request::quantity);
    tx.exec(sql::reservations::give_back, id, columns.skus, columns.locations, columns.quantities,
            how == restocking::to_the_shelf);
}

void lock_customer(transaction& tx, std::int64_t lock_number)
{
    tx.exec(sql::reservations::lock_customer, lock_number);
}

std::int64_t open_holds(transaction& tx, std::string const& customer)
{
    return tx.one<std::int64_t>(sql::reservations::open_holds, customer);
}

std::vector<sku_units> units_of_customer(transaction& tx, std::string const& customer,
                                         std::vector<std::string> const& skus,
                                         std::optional<uuid> const& apart_from)
{
    return tx.many<sku_units>(sql::reservations::units_of_customer, customer, skus, apart_from);
}

std::vector<hold_on_level> holds_on(transaction& tx, level_key const& at, std::size_t limit)
{
    return tx.many<hold_on_level>(sql::reservations::holds_on, at.sku, at.location, limit);
}

std::vector<found> list(transaction& tx, filter const& f)
{
    return with_lines(tx, list_rows(tx, f));
}

} // namespace holdfast::db::reservations

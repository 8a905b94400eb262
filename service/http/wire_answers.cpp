// SPDX-License-Identifier: Apache-2.0
// How values become JSON.
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/http/wire_page.hpp"
#include "service/json_writer.hpp"

#include <algorithm>
#include <limits>

namespace holdfast::http {

namespace {

// More locations than any shop has, each full to its bound, must not make a sum overflow.
units add_up(units a, units b)
{
    units sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<units>::max() : sum;
}

units sellable(stock_level const& level)
{
    return std::max<units>(0, level.available());
}

void write(json_writer& out, reservation_line const& line)
{
    out.begin_object();
    out.member("sku", line.at.sku);
    out.member("location", line.at.location);
    out.member("quantity", line.quantity);
    out.member("confirmed", line.confirmed);
    out.member("returned", line.returned);
    out.end_object();
}

void write(json_writer& out, reservation const& r)
{
    auto const when = [&](reservation_state state, std::optional<timestamp> at) {
        return r.state == state ? at : std::nullopt;
    };
    out.begin_object();
    out.member("id", r.id);
    out.member("state", to_string(r.state));
    out.key("lines");
    out.begin_array();
    for (auto const& line : r.lines)
        write(out, line);
    out.end_array();
    out.member("customer", r.customer);
    out.member("reference", r.reference);
    out.member("created_at", r.created_at);
    out.member("expires_at", r.expires_at);
    out.member("confirmed_at", when(reservation_state::confirmed, r.settled_at));
    out.member("released_at", when(reservation_state::released, r.settled_at));
    // A hold whose time has passed is expired from that moment, swept or not.
    out.member("expired_at", when(reservation_state::expired, r.expires_at));
    out.member("supersedes", r.supersedes);
    out.member("superseded_by", r.superseded_by);
    out.key("metadata");
    out.raw(r.metadata);
    out.end_object();
}

void write_members(json_writer& out, level_at const& l)
{
    out.member("location", l.location);
    out.member("on_hand", l.level.on_hand);
    out.member("reserved", l.level.reserved);
    out.member("available", sellable(l.level));
    out.member("version", l.level.version);
    if (l.level.short_by() > 0)
        out.member("short", l.level.short_by());
}

void write(json_writer& out, level_at const& l)
{
    out.begin_object();
    write_members(out, l);
    out.end_object();
}

void write_members(json_writer& out, item const& i)
{
    stock_level total;
    units available = 0;
    for (auto const& [where, level] : i.levels) {
        total.on_hand = add_up(total.on_hand, level.on_hand);
        total.reserved = add_up(total.reserved, level.reserved);
        available = add_up(available, sellable(level));
    }
    out.member("sku", i.sku);
    out.member("name", i.settings.name);
    out.member("on_sale", i.settings.on_sale);
    out.member("on_hand", total.on_hand);
    out.member("reserved", total.reserved);
    out.member("available", available);
    out.key("levels");
    out.begin_array();
    for (auto const& level : i.levels)
        write(out, level);
    out.end_array();
    out.member("sale_starts_at", i.settings.sale_starts_at);
    out.member("sale_ends_at", i.settings.sale_ends_at);
    out.member("max_per_customer", i.settings.max_per_customer);
    out.member("low_stock_at", i.settings.low_stock_at);
    out.member("strategy", i.settings.strategy);
    out.member("admission", i.settings.admission);
    out.member("admission_pool", i.settings.admission_pool);
    out.member("admission_ttl_seconds", i.settings.admission_ttl_seconds);
}

void write(json_writer& out, item const& i)
{
    out.begin_object();
    write_members(out, i);
    out.end_object();
}

void write(json_writer& out, ledger_entry const& entry)
{
    auto const& m = entry.movement;
    out.begin_object();
    out.member("id", std::to_string(entry.id));
    out.member("kind", to_string(m.kind));
    out.member("reason", m.by.reason);
    out.member("on_hand_delta", m.on_hand_delta);
    out.member("reserved_delta", m.reserved_delta);
    out.member("on_hand", m.after.on_hand);
    out.member("reserved", m.after.reserved);
    out.member("version", m.after.version);
    out.member("sku", m.at.sku);
    out.member("location", m.at.location);
    out.member("reservation_id", m.reservation_id);
    out.member("actor", m.by.actor);
    out.member("note", m.by.note);
    out.member("reference", m.by.reference);
    out.member("at", entry.at);
    out.end_object();
}

void write_members(json_writer& out, adjustment const& a)
{
    out.key("movement");
    write(out, a.entry);
    out.key("level");
    write(out, a.level);
}

void write(json_writer& out, adjustment const& a)
{
    out.begin_object();
    write_members(out, a);
    out.end_object();
}

void write(json_writer& out, db::movements::sum const& sum)
{
    out.begin_object();
    out.member("kind", to_string(sum.kind));
    out.member("reason", sum.reason);
    out.member("movements", sum.movements);
    out.member("on_hand_delta", sum.on_hand_delta);
    out.end_object();
}

void write(json_writer& out, import_difference const& difference)
{
    out.begin_object();
    out.member("row", difference.row);
    out.member("sku", difference.at.sku);
    out.member("location", difference.at.location);
    out.member("on_hand_before", difference.on_hand_before);
    out.member("on_hand_after", difference.on_hand_after);
    out.member("short", difference.short_after);
    out.member("created", difference.is_new);
    out.key("settings");
    out.begin_array();
    for (auto const name : difference.settings)
        out.value(name);
    out.end_array();
    out.end_object();
}

void write(json_writer& out, violation const& v)
{
    out.begin_object();
    out.member("check", v.check);
    out.member("sku", v.sku);
    out.member("location", v.location);
    out.member("detail", v.detail);
    out.end_object();
}

// For lists of any of the above.
constexpr auto write_one = [](json_writer& out, auto const& one) { write(out, one); };

void write(json_writer& out, level_explanation const& l)
{
    out.begin_object();
    write_members(out, l.level);
    out.key("brought_forward");
    if (l.brought_forward) {
        out.begin_object();
        out.member("version", l.brought_forward->version);
        out.member("on_hand", l.brought_forward->on_hand);
        out.end_object();
    } else {
        out.null();
    }
    write_array<db::movements::sum>(out, "sums", l.sums, write_one);
    write_array<concerned_hold>(out, "holds", l.holds, write_hold);
    out.key("more_holds");
    out.begin_object();
    out.member("count", l.more_holds);
    out.member("quantity", l.more_held);
    out.end_object();
    out.end_object();
}

} // namespace

void write_hold(json_writer& out, concerned_hold const& hold)
{
    out.begin_object();
    out.member("reservation_id", hold.reservation_id);
    out.member("quantity", hold.quantity);
    out.member("expires_at", hold.expires_at);
    out.member("customer", hold.customer);
    out.member("reference", hold.reference);
    out.end_object();
}

std::string to_json(reservation const& r)
{
    json_writer out;
    write(out, r);
    return out.take();
}

std::string to_json(item const& i)
{
    json_writer out;
    write(out, i);
    return out.take();
}

std::string to_json(item const& i, std::optional<fast_path::standing> const& before)
{
    json_writer out;
    out.begin_object();
    write_members(out, i);
    write_fast_path(out, before);
    out.end_object();
    return out.take();
}

std::string to_json(adjustment const& a)
{
    json_writer out;
    out.begin_object();
    write_members(out, a);
    if (a.level.level.short_by() > 0)
        write_array<concerned_hold>(out, "holds", a.holds, write_hold);
    out.end_object();
    return out.take();
}

std::string to_json(bulk_adjustment const& all)
{
    json_writer out;
    out.begin_object();
    write_array<adjustment>(out, "rows", all, write_one);
    out.end_object();
    return out.take();
}

std::string to_json(transfer const& t)
{
    json_writer out;
    out.begin_object();
    out.key("from");
    write(out, t.from);
    out.key("to");
    write(out, t.to);
    out.end_object();
    return out.take();
}

std::string to_json(explanation const& why)
{
    json_writer out;
    out.begin_object();
    out.member("sku", why.sku);
    write_array<level_explanation>(
        out, "levels", why.levels,
        [](json_writer& to, level_explanation const& level) { write(to, level); });
    out.end_object();
    return out.take();
}

std::string to_json(import_report const& report)
{
    json_writer out;
    out.begin_object();
    out.member("id", report.id);
    out.member("mode", to_string(report.mode));
    out.member("dry_run", report.run == import_run::preview);
    out.member("rows", report.rows);
    out.member("created", report.created);
    out.member("changed", report.changed);
    out.member("unchanged", report.unchanged);
    write_array<import_difference>(out, "differences", report.differences, write_one);
    out.member("undone_at", report.undone_at);
    out.end_object();
    return out.take();
}

std::string to_json(audit_report const& report)
{
    json_writer out;
    out.begin_object();
    out.member("ok", report.is_ok());
    out.member("checked", report.checked);
    write_array<violation>(out, "violations", report.violations, write_one);
    out.end_object();
    return out.take();
}

std::string to_page(reservation_page const& found)
{
    return page<reservation>(
        found.shown,
        found.next ? std::optional(to_cursor(reservations_list, found.next->str())) : std::nullopt,
        write_one);
}

std::string to_page(std::span<item const> found, std::size_t limit)
{
    return page(found, limit, write_one,
                [](item const& last) { return to_cursor(items_list, last.sku.str()); });
}

std::string to_page(std::span<ledger_entry const> found, std::size_t limit)
{
    return page(found, limit, write_one, [](ledger_entry const& last) {
        return to_cursor(movements_list, std::to_string(last.id));
    });
}

} // namespace holdfast::http

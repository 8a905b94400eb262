// SPDX-License-Identifier: Apache-2.0
// How requests become commands, or all that is wrong with them.
#include "service/http/body_reader.hpp"
#include "service/http/json.hpp"
#include "service/http/path_id.hpp"
#include "service/http/request_key.hpp"
#include "service/http/text.hpp"
#include "service/http/wire.hpp"
#include "service/secrets.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace holdfast::http {

namespace {

using nlohmann::json;

constexpr text_rule item_name_rule{.length_max = 200, .length_min = 0};
constexpr text_rule search_rule{.length_max = 200, .length_min = 0};
constexpr text_rule strategy_rule{.length_max = 50};
constexpr text_rule token_rule{.length_max = 200};

constexpr std::array<std::string_view, 4> state_words{"held", "confirmed", "released", "expired"};
constexpr std::array<std::string_view, 3> import_mode_words{"set", "add", "count"};
constexpr std::array<std::string_view, 1> if_expired_words{"reserve_again"};

result<uuid> reservation_in_path(request const& req)
{
    return id_in_path(req, {.code = errc::unknown_reservation,
                            .detail = "There is no reservation with this id."});
}

std::optional<sku> sku_in_path(request const& req, invalid_members& faults)
{
    auto const& text = req.captured.at(0);
    if (auto fault = sku::fault_of(text)) {
        faults.add("/path/sku", std::move(*fault));
        return std::nullopt;
    }
    return sku(text);
}

location read_location(object_reader& body)
{
    auto text = body.text("location", &location::fault_of);
    return text ? location(std::move(*text)) : location();
}

std::vector<line_request> read_lines(object_reader& body)
{
    std::vector<line_request> lines;
    for (auto& line : body.objects("lines", lines_max)) {
        line.require("sku");
        line.require("quantity");
        auto name = line.text("sku", &sku::fault_of);
        auto const quantity = line.integer("quantity", {1, quantity_max});
        auto where = read_location(line);
        line.finish();
        if (name && quantity)
            lines.push_back({{sku(std::move(*name)), std::move(where)}, *quantity});
    }
    return merged(std::move(lines));
}

std::optional<std::chrono::seconds> read_ttl(object_reader& body)
{
    auto const seconds = body.integer("ttl_seconds", {1, ttl_seconds_max});
    if (!seconds)
        return std::nullopt;
    return std::chrono::seconds(*seconds);
}

struct amount {
    std::optional<units> delta;
    std::optional<units> set_to;
    std::optional<units> expect_on_hand;
};

std::optional<std::string> fault_of_admission(std::string_view text)
{
    return text == "token" ? std::nullopt : std::optional<std::string>("must be token or null");
}

// Reads either a change or a new number, with what is expected of the old one.
amount read_amount(object_reader& body)
{
    amount read{
        .delta = body.integer("delta", {-level_max, level_max}),
        .set_to = body.integer("set_to", {0, level_max}),
        .expect_on_hand = body.integer_or_null("expect_on_hand", {0, level_max}),
    };
    if (read.delta == 0)
        body.fault("delta", "must not be 0");
    if (!body.has("delta") && !body.has("set_to"))
        body.fault("", "must have delta or set_to");
    if (body.has("delta") && body.has("set_to"))
        body.fault("set_to", "must not stand beside delta");
    if (body.has("set_to") && !body.has("expect_on_hand"))
        body.fault("expect_on_hand",
                   "is required with set_to: the number you saw, or null for whatever it is");
    if (body.has("expect_on_hand") && !body.has("set_to"))
        body.fault("expect_on_hand", "only goes with set_to");
    return read;
}

// The tags of an If-Match field (RFC 9110, section 13.1.1), without their quotes. A weak tag
// matches nothing.
std::optional<std::vector<std::string>> read_if_match(request const& req, invalid_members& faults)
{
    auto const field = req.header("if-match");
    if (!field)
        return std::nullopt;
    std::vector<std::string> tags;
    bool is_right = true;
    for (auto rest = *field; is_right;) {
        auto const end = std::min(rest.find(','), rest.size());
        auto tag = rest.substr(0, end);
        tag.remove_prefix(std::min(tag.find_first_not_of(" \t"), tag.size()));
        while (tag.ends_with(' ') || tag.ends_with('\t'))
            tag.remove_suffix(1);
        bool const is_weak = tag.starts_with("W/");
        tag.remove_prefix(is_weak ? 2 : 0);
        bool const is_quoted = tag.size() >= 2 && tag.front() == '"' && tag.back() == '"';
        is_right = is_quoted || tag == "*";
        if (is_right && !is_weak)
            tags.emplace_back(is_quoted ? tag.substr(1, tag.size() - 2) : tag);
        if (end == rest.size())
            break;
        rest.remove_prefix(end + 1);
    }
    if (!is_right)
        faults.add("/header/if-match", "must be * or tags in quotes, parted by commas");
    return tags;
}

// If-None-Match: * makes an item and changes none (RFC 9110, section 13.1.2).
bool read_must_be_new(request const& req, invalid_members& faults)
{
    auto const field = req.header("if-none-match");
    if (field && *field != "*")
        faults.add("/header/if-none-match", "must be *");
    if (field && req.header("if-match"))
        faults.add("/header/if-none-match", "must not stand beside If-Match");
    return field.has_value();
}

// What is to be done to a level, without which.
struct correction {
    struct amount amount;
    holdfast::location where;
    std::optional<std::string> reason;
    bool allow_short = false;
    std::optional<std::string> note;
    std::optional<std::string> reference;
};

correction read_correction(object_reader& body)
{
    auto const read = read_amount(body);
    auto where = read_location(body);
    body.require("reason");
    return {.amount = read,
            .where = std::move(where),
            .reason = body.one_of("reason", adjustment_reasons),
            .allow_short = body.boolean("allow_short").value_or(false),
            .note = body.text_or_null("note", note_rule),
            .reference = body.text_or_null("reference", short_text_rule)};
}

// Precondition: it has a reason.
adjust_command to_command(request const& req, sku of, correction c)
{
    return {.key = {},
            .actor = req.who.name,
            .at = {std::move(of), std::move(c.where)},
            .delta = c.amount.delta,
            .set_to = c.amount.set_to,
            .expect_on_hand = c.amount.expect_on_hand,
            .allow_short = c.allow_short,
            .reason = std::move(c.reason.value()),
            .note = std::move(c.note),
            .reference = std::move(c.reference)};
}

} // namespace

result<reserve_command> parse_reserve(request const& req, std::chrono::seconds ttl_default)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("lines");
    reserve_command command{
        .key = {},
        .actor = req.who.name,
        .lines = read_lines(body),
        .customer = body.text_or_null("customer", short_text_rule),
        .reference = body.text_or_null("reference", short_text_rule),
        .ttl = read_ttl(body).value_or(ttl_default),
        .confirm_at_once = body.boolean("confirm").value_or(false),
        .supersedes = body.id_or_null("supersedes"),
        .metadata = body.free_object("metadata", metadata_bytes_max).value_or("{}"),
        .token = body.text_or_null("token", token_rule),
    };
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY(command.key, key_of(req, {"POST /v1/reservations", document.dump()}, faults));
    return command;
}

result<confirm_command> parse_confirm(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    auto lines = read_lines(body);
    auto const if_expired_word = body.one_of("if_expired", if_expired_words);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, reservation_in_path(req));

    confirm_command command{.id = id, .actor = req.who.name, .lines = {}};
    if (body.has("lines"))
        command.lines = std::move(lines);
    if (if_expired_word)
        command.if_expired = if_expired::reserve_again;
    return command;
}

result<release_command> parse_release(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_optional_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    auto reason = body.text_or_null("reason", reason_rule);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, reservation_in_path(req));
    return release_command{.id = id, .actor = req.who.name, .reason = std::move(reason)};
}

result<extend_command> parse_extend(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("ttl_seconds");
    auto const ttl = read_ttl(body);
    auto reason = body.text_or_null("reason", reason_rule);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    HOLDFAST_TRY(auto const id, reservation_in_path(req));
    return extend_command{
        .id = id, .ttl = ttl.value(), .by = staff_of(req), .reason = std::move(reason)};
}

result<uuid> parse_reservation_id(request const& req)
{
    HOLDFAST_TRY_VOID(parse_nothing(req));
    return reservation_in_path(req);
}

result<return_command> parse_return(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("lines");
    return_command command{
        .key = {},
        .id = {},
        .actor = req.who.name,
        .lines = read_lines(body),
        .restock = body.boolean("restock").value_or(true),
    };
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY(command.key,
                 key_of(req, {"POST /v1/reservations/{id}/returns", document.dump()}, faults));
    HOLDFAST_TRY(command.id, reservation_in_path(req));
    return command;
}

result<reservation_filter> parse_reservation_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    auto const state = query.one_of("state", state_words);
    auto name = query.text("sku", &sku::fault_of);
    reservation_filter filter{
        .state = state ? parse_reservation_state(*state) : std::nullopt,
        .sku = name ? std::optional(sku(std::move(*name))) : std::nullopt,
        .customer = query.text("customer", short_text_rule),
        .reference = query.text("reference", short_text_rule),
        .before = query.id_cursor(reservations_list),
        .limit = query.limit(),
    };
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

result<put_item_command> parse_put_item(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    auto name = sku_in_path(req, faults);
    object_reader body(document, "", faults);
    auto where = body.text("location", &location::fault_of);

    auto const text = [&](std::string_view member, text_rule const& rule) {
        return if_named(body, member, body.text_or_null(member, rule));
    };
    auto const instant = [&](std::string_view member) {
        return if_named(body, member, body.instant_or_null(member));
    };
    auto const count = [&](std::string_view member, integer_rule rule) {
        return if_named(body, member, body.integer_or_null(member, rule));
    };
    auto named = text("name", item_name_rule);
    auto const on_sale = body.boolean("on_sale");
    auto const starts_at = instant("sale_starts_at");
    auto const ends_at = instant("sale_ends_at");
    auto const max_per_customer = count("max_per_customer", {1, quantity_max});
    auto const low_stock_at = count("low_stock_at", {0, level_max});
    auto strategy = text("strategy", strategy_rule);
    auto const on_hand = body.integer("on_hand", {0, level_max});
    auto admission =
        if_named(body, "admission", body.text_or_null("admission", &fault_of_admission));
    auto const pool = body.integer("admission_pool", {1, admission_pool_max});
    auto const ttl = body.integer("admission_ttl_seconds", {1, admission_ttl_seconds_max});
    body.finish();
    auto if_match = read_if_match(req, faults);
    bool const must_be_new = read_must_be_new(req, faults);
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));

    return put_item_command{
        .sku = std::move(name.value()),
        .actor = req.who.name,
        .name = std::move(named),
        .on_sale = on_sale,
        .sale_starts_at = starts_at,
        .sale_ends_at = ends_at,
        .max_per_customer = max_per_customer,
        .low_stock_at = low_stock_at,
        .strategy = std::move(strategy),
        .on_hand = on_hand,
        .location = where ? std::optional(location(std::move(*where))) : std::nullopt,
        .admission = std::move(admission),
        .admission_pool = pool,
        .admission_ttl_seconds = ttl,
        .request_id = req.id,
        .if_match = std::move(if_match),
        .must_be_new = must_be_new,
    };
}

result<sku> parse_sku(request const& req)
{
    invalid_members faults;
    auto name = sku_in_path(req, faults);
    refuse_query(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return std::move(name.value());
}

result<item_filter> parse_item_filter(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    item_filter filter{
        .q = query.text("q", search_rule),
        .only_low = query.boolean("low").value_or(false),
        .after = {},
        .limit = query.limit(),
    };
    // An empty search box finds everything.
    if (filter.q && filter.q->empty())
        filter.q.reset();
    if (auto last_shown = query.cursor(items_list)) {
        if (sku::fault_of(*last_shown))
            query.fault("cursor", "must be a next_cursor of this list");
        else
            filter.after = sku(std::move(*last_shown));
    }
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return filter;
}

result<explanation_query> parse_explanation_query(request const& req)
{
    invalid_members faults;
    auto name = sku_in_path(req, faults);
    query_reader query(req.query, faults);
    auto where = query.text("location", &location::fault_of);
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return explanation_query{std::move(name.value()),
                             where ? std::optional(location(std::move(*where))) : std::nullopt};
}

result<movement_filter> parse_movement_filter(request const& req)
{
    invalid_members faults;
    auto name = sku_in_path(req, faults);
    query_reader query(req.query, faults);
    auto const limit = query.limit();
    auto const before = query.number_cursor(movements_list);
    query.finish();
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    return movement_filter{.sku = std::move(name.value()), .before = before, .limit = limit};
}

result<adjust_command> parse_adjust(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    auto name = sku_in_path(req, faults);
    object_reader body(document, "", faults);
    auto read = read_correction(body);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY(auto key,
                 key_of(req, {"POST /v1/stock/{sku}/adjustments", document.dump()}, faults));
    auto command = to_command(req, std::move(name.value()), std::move(read));
    command.key = std::move(key);
    return command;
}

result<bulk_adjust_command> parse_bulk_adjust(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    body.require("rows");
    bulk_adjust_command command;
    std::map<level_key, std::size_t> seen;
    std::size_t place = 0;
    for (auto& row : body.objects("rows", adjustment_rows_max)) {
        row.require("sku");
        auto name = row.text("sku", &sku::fault_of);
        auto read = read_correction(row);
        row.finish();
        if (name && read.reason) {
            command.rows.push_back(to_command(req, sku(std::move(*name)), std::move(read)));
            auto const [first, is_new] = seen.emplace(command.rows.back().at, place);
            if (!is_new)
                row.fault("", fmt::format("is about the same level as /rows/{}", first->second));
        }
        ++place;
    }
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY(command.key, key_of(req, {"POST /v1/adjustments", document.dump()}, faults));
    return command;
}

result<transfer_command> parse_transfer(request const& req)
{
    HOLDFAST_TRY(auto const document, parse_json(req.body));
    invalid_members faults;
    object_reader body(document, "", faults);
    for (auto const* member : {"sku", "from", "to", "quantity"})
        body.require(member);
    auto name = body.text("sku", &sku::fault_of);
    auto from = body.text("from", &location::fault_of);
    auto to = body.text("to", &location::fault_of);
    if (from && from == to)
        body.fault("to", "must be another location than from");
    auto const quantity = body.integer("quantity", {1, quantity_max});
    auto const allow_short = body.boolean("allow_short").value_or(false);
    auto note = body.text_or_null("note", note_rule);
    auto reference = body.text_or_null("reference", short_text_rule);
    body.finish();
    refuse_query(req, faults);
    HOLDFAST_TRY(auto key, key_of(req, {"POST /v1/transfers", document.dump()}, faults));
    return transfer_command{
        .key = std::move(key),
        .actor = req.who.name,
        .sku = sku(std::move(name.value())),
        .from = location(std::move(from.value())),
        .to = location(std::move(to.value())),
        .quantity = quantity.value(),
        .allow_short = allow_short,
        .note = std::move(note),
        .reference = std::move(reference),
    };
}

result<import_command> parse_import(request const& req)
{
    invalid_members faults;
    query_reader query(req.query, faults);
    query.require("mode");
    auto const mode = query.one_of("mode", import_mode_words);
    auto const is_preview = query.boolean("dry_run").value_or(false);
    query.finish();

    auto asked = mode.value_or("") + (is_preview ? "\npreview\n" : "\napply\n") +
                 to_hex(fingerprint(req.body));
    HOLDFAST_TRY(auto key, key_of(req, {"POST /v1/imports", std::move(asked)}, faults));
    return import_command{
        .key = std::move(key),
        .actor = req.who.name,
        .mode = parse_import_mode(mode.value()).value(),
        .run = is_preview ? import_run::preview : import_run::apply,
        .csv = req.body,
        .request_id = req.id,
    };
}

result<void> parse_nothing(request const& req)
{
    invalid_members faults;
    refuse_query(req, faults);
    return refuse_if_any(faults);
}

} // namespace holdfast::http

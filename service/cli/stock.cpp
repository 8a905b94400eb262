// SPDX-License-Identifier: Apache-2.0
#include "service/cli/stock.hpp"

#include "service/cli/client.hpp"
#include "service/cli/command_error.hpp"
#include "service/cli/keys.hpp"
#include "service/cli/table.hpp"
#include "stock/percent.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <ostream>

namespace holdfast::cli {

using nlohmann::json;

namespace {

constexpr std::int64_t page_max = 200;

// What is sent, and the answer that is hoped for.
struct question {
    request wanted;
    int status = 200;
    std::string_view doing; // completes "this key may not …"
};

// Sends it and has `show(json, out)` print the answer, unless that is to be JSON.
template <class Show>
int ask(clerk_options const& with, question const& what, std::ostream& out, std::ostream& errors,
        Show const& show)
{
    try {
        client service{parse_url(with.url), with.key};
        auto const given = service.send_patiently(what.wanted);
        if (given.status == 401 || given.status == 403)
            require_status(given, what.status, what.doing);
        if (given.status != what.status) {
            errors << "holdfast: " << explain(given) << '\n';
            return exit_broken;
        }
        auto const document = json::parse(given.body);
        if (with.json)
            out << document.dump() << '\n';
        else
            show(document);
        return exit_ok;
    } catch (json::exception const&) {
        errors << "holdfast: the answer is not one of Holdfast's\n";
    } catch (command_error const& e) {
        errors << "holdfast: " << e.what() << '\n';
    }
    return exit_unusable;
}

table_row cells(json const& object, std::initializer_list<char const*> members)
{
    table_row row;
    for (auto const* member : members)
        row.push_back(cell_of(object, member));
    return row;
}

void print_levels(json const& levels, std::ostream& out)
{
    std::vector<table_row> rows{
        {"location", "on hand", "reserved", "available", "short", "version"}};
    for (auto const& level : levels)
        rows.push_back(
            cells(level, {"location", "on_hand", "reserved", "available", "short", "version"}));
    print_table(out, rows);
}

void print_why(json const& level, std::ostream& out)
{
    out << fmt::format("{}: {} on hand\n", cell_of(level, "location"), cell_of(level, "on_hand"));
    std::vector<table_row> rows{{"kind", "reason", "movements", "units"}};
    if (auto const& earlier = level.at("brought_forward"); !earlier.is_null())
        rows.push_back(
            {"brought forward", "-", cell_of(earlier, "version"), cell_of(earlier, "on_hand")});
    for (auto const& sum : level.at("sums"))
        rows.push_back(cells(sum, {"kind", "reason", "movements", "on_hand_delta"}));
    print_table(out, rows);
    out << fmt::format("{} reserved\n", cell_of(level, "reserved"));
    rows = {{"reservation", "units", "until", "customer", "reference"}};
    for (auto const& hold : level.at("holds"))
        rows.push_back(
            cells(hold, {"reservation_id", "quantity", "expires_at", "customer", "reference"}));
    if (rows.size() > 1)
        print_table(out, rows);
    if (auto const& more = level.at("more_holds"); more.at("count") != 0)
        out << fmt::format("and {} holds of {} units\n", cell_of(more, "count"),
                           cell_of(more, "quantity"));
}

void print_reservation(json const& r, std::ostream& out)
{
    std::vector<table_row> rows;
    for (auto const* member :
         {"id", "state", "customer", "reference", "created_at", "expires_at", "confirmed_at",
          "released_at", "expired_at", "supersedes", "superseded_by"})
        if (auto cell = cell_of(r, member); cell != "-")
            rows.push_back({member, std::move(cell)});
    print_table(out, rows);
    rows = {{"sku", "location", "quantity", "confirmed", "returned"}};
    for (auto const& line : r.at("lines"))
        rows.push_back(cells(line, {"sku", "location", "quantity", "confirmed", "returned"}));
    print_table(out, rows);
}

std::string body_of(adjust_options const& options)
{
    json body{{"location", options.location}, {"reason", options.reason}};
    if (options.delta)
        body["delta"] = *options.delta;
    if (options.set_to) {
        body["set_to"] = *options.set_to;
        body["expect_on_hand"] =
            options.expect_on_hand ? json(*options.expect_on_hand) : json(nullptr);
    }
    if (!options.note.empty())
        body["note"] = options.note;
    if (!options.reference.empty())
        body["reference"] = options.reference;
    if (options.allow_short)
        body["allow_short"] = true;
    return body.dump();
}

} // namespace

int show_stock(clerk_options const& with, std::string const& sku, std::ostream& out,
               std::ostream& errors)
{
    question const what{{.target = "/v1/stock/" + percent_encoded(sku)}, 200, "read stock"};
    return ask(with, what, out, errors, [&](json const& item) {
        out << fmt::format("{}  {}  {}, {} available\n", cell_of(item, "sku"),
                           cell_of(item, "name"), item.at("on_sale") == true ? "on sale" : "paused",
                           cell_of(item, "available"));
        print_levels(item.at("levels"), out);
    });
}

int explain_stock(clerk_options const& with, std::string const& sku, std::ostream& out,
                  std::ostream& errors)
{
    question const what{
        {.target = "/v1/stock/" + percent_encoded(sku) + "/why"}, 200, "read stock"};
    return ask(with, what, out, errors, [&](json const& why) {
        for (auto const& level : why.at("levels"))
            print_why(level, out);
    });
}

int list_stock(clerk_options const& with, stock_list_options const& options, std::ostream& out,
               std::ostream& errors)
{
    question const what{
        {.target = fmt::format("/v1/stock?limit={}&q={}{}", options.count,
                               percent_encoded(options.part), options.low ? "&low=true" : "")},
        200,
        "read stock"};
    return ask(with, what, out, errors, [&](json const& page) {
        std::vector<table_row> rows{{"sku", "on hand", "reserved", "available", "name"}};
        for (auto const& item : page.at("data"))
            rows.push_back(cells(item, {"sku", "on_hand", "reserved", "available", "name"}));
        print_table(out, rows);
        if (!page.at("next_cursor").is_null())
            out << "there are more\n";
    });
}

int adjust_stock(clerk_options const& with, adjust_options const& options, std::ostream& out,
                 std::ostream& errors)
{
    if (options.delta.has_value() == options.set_to.has_value()) {
        errors << "holdfast: say either --by or --to\n";
        return exit_unusable;
    }
    auto const body = body_of(options);
    question const what{{.method = "POST",
                         .target = "/v1/stock/" + percent_encoded(options.sku) + "/adjustments",
                         .body = body,
                         .content_type = "application/json",
                         .idempotency_key = random_key("adjust")},
                        201,
                        "adjust stock"};
    return ask(with, what, out, errors, [&](json const& done) {
        print_levels(json::array({done.at("level")}), out);
        if (done.contains("holds"))
            out << fmt::format("holds that may go unserved: {}\n", done.at("holds").size());
    });
}

int show_reservation(clerk_options const& with, std::string const& id, std::ostream& out,
                     std::ostream& errors)
{
    question const what{
        {.target = "/v1/reservations/" + percent_encoded(id)}, 200, "read reservations"};
    return ask(with, what, out, errors, [&](json const& r) { print_reservation(r, out); });
}

int release_reservation(clerk_options const& with, std::string const& id,
                        std::optional<std::string> const& reason, std::ostream& out,
                        std::ostream& errors)
{
    if (reason && reason->empty()) {
        errors << "holdfast: --reason must not be empty\n";
        return exit_unusable;
    }
    auto const body = reason ? json{{"reason", *reason}}.dump() : std::string("{}");
    question const what{{.method = "POST",
                         .target = "/v1/reservations/" + percent_encoded(id) + "/release",
                         .body = body,
                         .content_type = "application/json"},
                        200,
                        "release reservations"};
    return ask(with, what, out, errors, [&](json const& r) { print_reservation(r, out); });
}

} // namespace holdfast::cli

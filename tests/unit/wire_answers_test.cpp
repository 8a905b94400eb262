// SPDX-License-Identifier: Apache-2.0
// What an answer looks like: reservations, items, ledger lines and pages as the API describes them.

#include "service/http/wire.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <vector>

using holdfast::location;
using holdfast::reservation;
using holdfast::reservation_state;
using holdfast::sku;
using holdfast::timestamp;
using holdfast::uuid;
using nlohmann::json;

namespace http = holdfast::http;

namespace {

using texts = std::vector<std::string>;

constexpr auto an_id = "0190a6c2-7d1e-7c3a-9b54-1f2e3d4c5b6a";
constexpr auto another_id = "0190a6c4-02b7-7f10-8a6d-77c0aa91e3f5";

timestamp at(std::string_view text)
{
    return holdfast::parse_rfc3339(text).value();
}

uuid id_of(std::string_view text)
{
    return uuid::parse(text).value();
}

reservation a_hold()
{
    return {
        .id = id_of(an_id),
        .lines = {{.at = {sku("TEE-M"), location()}, .quantity = 2}},
        .customer = {},
        .reference = {},
        .created_at = at("2026-03-01T09:00:00Z"),
        .expires_at = at("2026-03-01T09:15:00Z"),
        .settled_at = {},
        .supersedes = {},
        .superseded_by = {},
    };
}

// A request for the page after this one.
http::request after(json const& page)
{
    http::request req;
    req.query = {{"cursor", page.at("next_cursor").get<std::string>()}};
    return req;
}

} // namespace

TEST_CASE("a hold is shown as the API describes it")
{
    CHECK(http::to_json(a_hold()) ==
          R"({"id":"0190a6c2-7d1e-7c3a-9b54-1f2e3d4c5b6a","state":"held","lines":[{"sku":"TEE-M",)"
          R"("location":"main","quantity":2,"confirmed":0,"returned":0}],"customer":null,)"
          R"("reference":null,"created_at":"2026-03-01T09:00:00.000000Z",)"
          R"("expires_at":"2026-03-01T09:15:00.000000Z","confirmed_at":null,"released_at":null,)"
          R"("expired_at":null,"supersedes":null,"superseded_by":null,"metadata":{}})");
}

TEST_CASE("a reservation says when and how it ended")
{
    auto r = a_hold();
    r.customer = "c \"42\"\n";
    r.metadata = R"({"a":[1]})";
    r.supersedes = id_of(another_id);
    r.settled_at = at("2026-03-01T09:05:00Z");
    auto const ended = [&](reservation_state state) {
        r.state = state;
        auto const shown = json::parse(http::to_json(r));
        texts when;
        for (auto const* name : {"confirmed_at", "released_at", "expired_at"})
            when.push_back(shown.at(name).is_null() ? "-" : shown.at(name).get<std::string>());
        return when;
    };
    std::string const then = "2026-03-01T09:05:00.000000Z";
    CHECK(ended(reservation_state::confirmed) == texts{then, "-", "-"});
    CHECK(ended(reservation_state::released) == texts{"-", then, "-"});
    // Swept or not, a hold has expired at the moment it was held until.
    CHECK(ended(reservation_state::expired) == texts{"-", "-", "2026-03-01T09:15:00.000000Z"});
    r.settled_at.reset();
    CHECK(ended(reservation_state::expired) == texts{"-", "-", "2026-03-01T09:15:00.000000Z"});

    auto const shown = json::parse(http::to_json(r));
    CHECK(shown.at("customer") == "c \"42\"\n");
    CHECK(shown.at("metadata") == json::parse(R"({"a":[1]})"));
    CHECK(shown.at("supersedes") == another_id);
}

TEST_CASE("K10: a location that is short takes nothing from what another has")
{
    holdfast::item const shown{
        .sku = sku("TEE-M"),
        .settings = {},
        .levels = {{location("back"), {.on_hand = 1, .reserved = 5, .version = 9}},
                   {location("main"), {.on_hand = 3, .reserved = 0, .version = 1}}},
    };
    CHECK(http::to_json(shown) ==
          R"({"sku":"TEE-M","name":null,"on_sale":true,"on_hand":4,"reserved":5,"available":3,)"
          R"("levels":[{"location":"back","on_hand":1,"reserved":5,"available":0,"version":9,)"
          R"("short":4},{"location":"main","on_hand":3,"reserved":0,"available":3,"version":1}],)"
          R"("sale_starts_at":null,"sale_ends_at":null,"max_per_customer":null,)"
          R"("low_stock_at":null,"strategy":null,"admission":null,"admission_pool":100,)"
          R"("admission_ttl_seconds":300})");
}

TEST_CASE("an adjustment shows its ledger line, the level, and the holds a short level concerns")
{
    holdfast::adjustment made{
        .entry = {.id = 48213,
                  .movement = {.at = {sku("TEE-M"), location()},
                               .kind = holdfast::movement_kind::counted,
                               .on_hand_delta = -3,
                               .after = {.on_hand = 97, .reserved = 7, .version = 13},
                               .by = {.actor = "warehouse", .reason = "count", .note = "Wet"}},
                  .at = at("2026-03-01T09:30:00Z")},
        .level = {location(), {.on_hand = 97, .reserved = 7, .version = 13}},
        .holds = {},
    };
    CHECK(http::to_json(made) ==
          R"({"movement":{"id":"48213","kind":"counted","reason":"count","on_hand_delta":-3,)"
          R"("reserved_delta":0,"on_hand":97,"reserved":7,"version":13,"sku":"TEE-M",)"
          R"("location":"main","reservation_id":null,"actor":"warehouse","note":"Wet",)"
          R"("reference":null,"at":"2026-03-01T09:30:00.000000Z"},"level":{"location":"main",)"
          R"("on_hand":97,"reserved":7,"available":90,"version":13}})");

    made.level.level.on_hand = 2;
    made.holds = {{.reservation_id = id_of(an_id),
                   .quantity = 7,
                   .expires_at = at("2026-03-01T10:00:00Z"),
                   .customer = "c-1",
                   .reference = {}}};
    auto const shown = json::parse(http::to_json(made));
    CHECK(shown.at("level").at("short") == 5);
    CHECK(shown.at("holds") ==
          json::parse(R"([{"reservation_id":"0190a6c2-7d1e-7c3a-9b54-1f2e3d4c5b6a","quantity":7,
                           "expires_at":"2026-03-01T10:00:00.000000Z","customer":"c-1",
                           "reference":null}])"));
}

TEST_CASE("an import and an audit report what they found")
{
    holdfast::import_report const report{
        .id = {},
        .mode = holdfast::import_mode::add,
        .run = holdfast::import_run::preview,
        .rows = 2,
        .created = 1,
        .changed = 1,
        .unchanged = 0,
        .differences = {{.row = 3,
                         .at = {sku("MUG"), location("shop-2")},
                         .on_hand_before = 0,
                         .on_hand_after = 40,
                         .short_after = 2,
                         .is_new = true,
                         .settings = {"name", "on_sale"}}},
    };
    CHECK(http::to_json(report) ==
          R"({"id":null,"mode":"add","dry_run":true,"rows":2,"created":1,"changed":1,)"
          R"("unchanged":0,"differences":[{"row":3,"sku":"MUG","location":"shop-2",)"
          R"("on_hand_before":0,"on_hand_after":40,"short":2,"created":true,)"
          R"("settings":["name","on_sale"]}],"undone_at":null})");

    CHECK(http::to_json(holdfast::audit_report{.checked = 12, .violations = {}}) ==
          R"({"ok":true,"checked":12,"violations":[]})");
    CHECK(http::to_json(holdfast::audit_report{
              .checked = 12, .violations = {{"ledger_sum", "A", "main", "on hand 3, ledger 4"}}}) ==
          R"({"ok":false,"checked":12,"violations":[{"check":"ledger_sum","sku":"A",)"
          R"("location":"main","detail":"on hand 3, ledger 4"}]})");
}

TEST_CASE("a page ends with a cursor when there is more, and null when there is not")
{
    auto const page = json::parse(
        http::to_page(holdfast::reservation_page{{a_hold(), a_hold()}, id_of(another_id)}));
    CHECK(page.at("data").size() == 2);
    CHECK(http::parse_reservation_filter(after(page))->before == id_of(another_id));

    CHECK(http::to_page(holdfast::reservation_page{}) == R"({"data":[],"next_cursor":null})");
    // Nothing found so far, and more to look at.
    auto const none = json::parse(http::to_page(holdfast::reservation_page{{}, id_of(another_id)}));
    CHECK(none.at("data").empty());
    CHECK(http::parse_reservation_filter(after(none))->before == id_of(another_id));

    std::vector<holdfast::item> const items{{sku("é 1"), {}, {}}, {sku("z"), {}, {}}};
    CHECK(json::parse(http::to_page(items, 2)).at("next_cursor").is_null());
    auto const first = json::parse(http::to_page(items, 1));
    CHECK(http::parse_item_filter(after(first))->after == sku("é 1"));
}

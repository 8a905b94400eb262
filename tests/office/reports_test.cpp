// SPDX-License-Identifier: Apache-2.0
// Reports: what is low, what has been held for long, and what the movements of a period come to.
#include "service/reports.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

namespace {

// Every page of a report, with the number of pages.
std::pair<std::vector<json>, int> pages(shop& front, std::string const& target)
{
    std::vector<json> rows;
    int count = 0;
    std::string cursor;
    do {
        auto const page = front.get("/v1/reports/" + target + cursor).json();
        for (auto const& row : page.at("data"))
            rows.push_back(row);
        auto const& next = page.at("next_cursor");
        cursor = next.is_null() ? "" : "&cursor=" + next.get<std::string>();
        ++count;
    } while (!cursor.empty());
    return {rows, count};
}

// From before the test to a day after it.
std::string period()
{
    auto const now =
        std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    return "?from=" + to_rfc3339(now - std::chrono::days(1)) +
           "&to=" + to_rfc3339(now + std::chrono::days(1));
}

} // namespace

TEST_CASE("items are low when no more is available than they call low, without holds that are due")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const low = front.item(10, {{"low_stock_at", 4}, {"name", "Tee"}});
    front.item(10, {{"low_stock_at", 4}});
    front.item(0); // says nothing
    auto const lapsed = front.item(10, {{"low_stock_at", 4}});
    front.hold({{low, 6}});
    front.wait_until_expired(front.hold({{lapsed, 9}}, {{"ttl_seconds", 1}}));

    auto const [rows, count] = pages(front, "low-stock?limit=1");
    REQUIRE(rows.size() == 1);
    CHECK(rows.at(0) == json{{"sku", low},
                             {"name", "Tee"},
                             {"low_stock_at", 4},
                             {"on_hand", 10},
                             {"reserved", 6},
                             {"available", 4}});
}

TEST_CASE("a page of low items looks at a thousand of them and goes on behind these")
{
    migrated_database const place;
    workbench bench(place);
    bench.sql.run("INSERT INTO item (sku, low_stock_at)"
                  " SELECT 'i-' || lpad(n::text, 4, '0'), 1 FROM generate_series(1, 2500) n");
    bench.sql.run("INSERT INTO stock_level (sku, location, on_hand) SELECT sku, 'main', 9 FROM item"
                  " WHERE sku <> 'i-2400'");
    std::vector<std::string> found;
    int count = 0;
    reports::low_stock_query query;
    for (;;) {
        auto const page = reports::low_stock(bench.link, query);
        for (auto const& item : page.shown)
            found.push_back(item.sku);
        ++count;
        if (!page.next)
            break;
        query.after = *page.next;
    }
    CHECK(found == std::vector<std::string>{"i-2400"});
    CHECK(count == 3);
}

TEST_CASE("an item of so many units that no number holds their sum is low all the same")
{
    migrated_database const place;
    workbench bench(place);
    bench.sql.run("INSERT INTO item (sku, low_stock_at) VALUES ('full', 1), ('promised', 1)");
    bench.sql.run("INSERT INTO stock_level (sku, location, on_hand, reserved)"
                  " SELECT sku, 'shelf-' || n, 9000000000000000,"
                  "        CASE WHEN sku = 'full' THEN 0 ELSE 9000000000000000 END"
                  "   FROM item, generate_series(1, 1025) n");
    auto const page = reports::low_stock(bench.link, {});
    REQUIRE(page.shown.size() == 1);
    CHECK(page.shown.at(0).sku == "promised");
    CHECK(page.shown.at(0).on_hand == std::numeric_limits<units>::max());
    CHECK(page.shown.at(0).reserved == std::numeric_limits<units>::max());
    CHECK(page.shown.at(0).available == 0);
}

TEST_CASE("the holds that have been open the longest come first, however long they still have")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(100);
    std::vector<std::string> ids;
    for (auto const ttl : {9000, 600, 60})
        ids.push_back(front.hold({{sku, 2}}, {{"ttl_seconds", ttl}, {"customer", "c-1"}}));
    front.confirm(front.hold({{sku, 1}}));
    front.release(front.hold({{sku, 1}}));

    auto const [rows, count] = pages(front, "held-longest?limit=2");
    CHECK(count == 2);
    REQUIRE(rows.size() == 3);
    for (std::size_t i = 0; i < 3; ++i)
        CHECK(rows.at(i).at("reservation_id") == ids.at(i));
    CHECK(rows.at(0).at("quantity") == 2);
    CHECK(rows.at(0).at("customer") == "c-1");
    CHECK(front.get("/v1/reports/held-longest").json().at("complete") == true);
}

TEST_CASE("the movements of a period are told by kind and reason, and by SKU, and add up")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    std::vector const skus{front.item(10), front.item(20), front.item(30)};
    front.adjust(skus[0], {{"delta", -3}, {"reason", "damaged"}});
    front.adjust(skus[1], {{"delta", -2}, {"reason", "damaged"}});
    front.adjust(skus[1], {{"delta", 5}, {"reason", "received"}});
    front.confirm(front.hold({{skus[2], 4}}));

    auto const all = front.get("/v1/reports/movements" + period()).json().at("data");
    std::map<std::string, std::int64_t> told;
    std::int64_t sum = 0;
    for (auto const& row : all) {
        CHECK(row.at("sku").is_null());
        auto const reason = row.at("reason");
        told[row.at("kind").get<std::string>() + ' ' +
             (reason.is_null() ? "" : reason.get<std::string>())] = row.at("on_hand_delta");
        sum += row.at("on_hand_delta").get<std::int64_t>();
    }
    CHECK(told.at("adjusted damaged") == -5);
    CHECK(told.at("confirmed ") == -4);
    CHECK(told.at("reserved ") == 0);
    CHECK(sum == 7 + 23 + 26);

    auto const [rows, count] = pages(front, "movements" + period() + "&by=sku&limit=1");
    CHECK(count == 3);
    std::map<std::string, std::int64_t> on_hand;
    for (auto const& row : rows)
        on_hand[row.at("sku")] += row.at("on_hand_delta").get<std::int64_t>();
    CHECK(on_hand ==
          std::map<std::string, std::int64_t>{{skus[0], 7}, {skus[1], 23}, {skus[2], 26}});
}

TEST_CASE("a period has an end, and not too many days")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const ask = [&](std::string const& query) {
        auto const answer = front.get("/v1/reports/movements" + query);
        return outcome(answer) + ' ' + pointers_in(answer);
    };
    CHECK(ask("") == "400 validation-failed /query/from /query/to");
    CHECK(ask("?from=2026-01-01T00:00:00Z&to=2026-01-01T00:00:00Z") ==
          "400 validation-failed /query/to");
    CHECK(ask("?from=2026-01-01T00:00:00Z&to=2026-12-01T00:00:00Z") ==
          "400 validation-failed /query/to");
    CHECK(ask("?from=yesterday&to=2026-12-01T00:00:00Z") == "400 validation-failed /query/from");
    CHECK(ask("?from=2026-01-01T00:00:00Z&to=2026-04-03T00:00:00Z&by=sku") == "200 ");
}

TEST_CASE("on hand is one thing: in the item, in its explanation, in a count and in the reports")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(20, {{"low_stock_at", 100}});
    auto const sold = front.hold({{sku, 6}}); // once it is confirmed, it is not on hand
    front.confirm(sold);
    front.give_back(sold, {{sku, 1}});                                      // on the shelf again
    front.give_back(sold, {{sku, 1}}, {{"restock", false}});                // thrown away
    front.hold({{sku, 3}});                                                 // held is still on hand
    front.wait_until_expired(front.hold({{sku, 2}}, {{"ttl_seconds", 1}})); // not held any more
    constexpr int on_hand = 15;
    constexpr int reserved = 3;

    auto const item = front.item_of(sku);
    CHECK(item.at("on_hand") == on_hand);
    CHECK(item.at("reserved") == reserved);
    auto const why = front.get("/v1/stock/" + sku + "/why").json().at("levels").at(0);
    CHECK(why.at("on_hand") == on_hand);
    CHECK(why.at("reserved") == reserved);
    auto const low = front.get("/v1/reports/low-stock").json().at("data").at(0);
    CHECK(low.at("on_hand") == on_hand);
    CHECK(low.at("reserved") == reserved);
    CHECK(low.at("available") == item.at("available"));
    std::int64_t moved = 0;
    auto const sums = front.get("/v1/reports/movements" + period()).json();
    for (auto const& sum : sums.at("data"))
        moved += sum.at("on_hand_delta").get<std::int64_t>();
    CHECK(moved == on_hand);

    auto const one = "/v1/counts/" + id_of(front.post("/v1/counts", {{"name", "a"}}));
    json const entries = json::array({{{"sku", sku}, {"quantity", on_hand}}});
    auto const entered = front.http().send({.method = "PUT",
                                            .target = one + "/entries",
                                            .body = json{{"entries", entries}}.dump(),
                                            .headers = {{"Idempotency-Key", unique("key")}}});
    auto const entry = entered.json().at("entries").at(0);
    CHECK(entry.at("on_hand") == on_hand);
    CHECK(entry.at("difference") == 0);
    CHECK(entry.at("reserved") == reserved);
}

TEST_CASE("two SKUs are two in a file, also where one looks like what was made of the other")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    for (std::string const sku : {"=F-1", "'=F-1", "＝F-1"})
        REQUIRE(front.put_item(sku, {{"on_hand", 1}, {"low_stock_at", 4}}).status == 201);
    CHECK(front.get("/v1/reports/low-stock?format=csv").body ==
          "sku,name,low_stock_at,on_hand,reserved,available\r\n"
          "''=F-1,,4,1,0,1\r\n"
          "'=F-1,,4,1,0,1\r\n"
          "'＝F-1,,4,1,0,1\r\n");
    auto const sums = front.get("/v1/reports/movements" + period() + "&format=csv");
    CHECK(sums.header("content-disposition") == "attachment; filename=\"movements.csv\"");
}

TEST_CASE("a report is a file with all its rows, and no text of it is a formula")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = '+' + unique("SKU");
    REQUIRE(front.put_item(sku, {{"on_hand", 2}, {"low_stock_at", 4}, {"name", "=1+1, \"x\""}})
                .status == 201);
    for (int i = 0; i < 60; ++i) // more than a page of a list
        front.put_item('a' + std::to_string(100 + i), {{"on_hand", 1}, {"low_stock_at", 1}});

    auto const low = front.get("/v1/reports/low-stock?format=csv");
    CHECK(low.header("content-type") == "text/csv; charset=utf-8");
    CHECK(low.header("content-disposition") == "attachment; filename=\"low-stock.csv\"");
    CHECK_FALSE(low.header("link"));
    std::string const head = "sku,name,low_stock_at,on_hand,reserved,available\r\n";
    auto const first = head + "'" + sku + ",\"'=1+1, \"\"x\"\"\",4,2,0,2\r\n";
    CHECK(low.body.starts_with(first));
    CHECK(std::ranges::count(low.body, '\n') == 62);

    auto const cut = front.get("/v1/reports/low-stock?format=csv&limit=1");
    CHECK(cut.body == first);
    auto const link = cut.header("link").value_or("");
    REQUIRE(link.ends_with(">; rel=\"next\""));
    auto const next = front.get(link.substr(1, link.find('>') - 1));
    CHECK(next.body == head + "a100,,1,1,0,1\r\n");

    front.hold({{sku, 1}}, {{"customer", "@c"}});
    CHECK(front.get("/v1/reports/held-longest?format=csv").body.find(",'@c,,1,1\r\n") !=
          std::string::npos);
    front.adjust(sku, {{"delta", -1}, {"reason", "damaged"}});
    auto const sums = front.get("/v1/reports/movements" + period() + "&format=csv").body;
    CHECK(sums.find("\r\n,adjusted,damaged,1,-1,0\r\n") != std::string::npos); // a number is one
    CHECK(outcome(front.get("/v1/reports/low-stock?format=pdf")) == "400 validation-failed");
}

TEST_CASE("a period with more sums than an answer may have is refused")
{
    migrated_database const place;
    workbench bench(place);
    bench.sql.run("INSERT INTO item (sku) VALUES ('a')");
    bench.sql.run("INSERT INTO movement (sku, location, version, kind, on_hand_delta,"
                  "                      reserved_delta, on_hand, reserved, actor, reason)"
                  " SELECT 'a', 'main', n, 'released', 0, 0, 0, 0, 'x', 'reason ' || n"
                  "   FROM generate_series(1, $1::bigint) AS n",
                  {std::to_string(reports::sums_max + 1)});
    auto const now =
        std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
    for (auto const by : {reports::grouping::by_reason, reports::grouping::by_sku}) {
        auto const asked = reports::movements(bench.link, {.since = now - std::chrono::days(1),
                                                           .until = now + std::chrono::days(1),
                                                           .by = by,
                                                           .after = {}});
        CHECK(word_of(asked) == "validation_failed");
    }
}

} // namespace holdfast::test

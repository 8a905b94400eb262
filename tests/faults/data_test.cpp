// SPDX-License-Identifier: Apache-2.0
// Faults K: files, names and numbers as people and programs really send them. Each test is named
// after its row in the list of faults that shops really suffered.
#include "stock/percent.hpp"
#include "tests/support/database.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

// What a table must not lose or gain: its rows, and the sums of its numbers.
std::string books_of(database const& db)
{
    return db.session().value("SELECT concat_ws(' ', (SELECT count(*) FROM item),"
                              " (SELECT concat_ws(' ', count(*), sum(on_hand), sum(reserved),"
                              "                   sum(version)) FROM stock_level),"
                              " (SELECT count(*) FROM movement),"
                              " (SELECT count(*) FROM reservation))");
}

// A file of 10 000 items with 7 units each, in which line `odd_line` reads `odd_text`.
std::string catalogue(std::string_view prefix, int odd_line, std::string_view odd_text)
{
    constexpr int items = 10'000;
    std::string csv = "sku,quantity,name\r\n";
    for (int i = 0; i < items; ++i) {
        auto const file_line = i + 2; // The names of the columns are line 1.
        if (file_line == odd_line)
            csv.append(odd_text);
        else
            csv.append(prefix).append(std::to_string(i)).append(",7,\"Item, one of many\"");
        csv += "\r\n";
    }
    return csv;
}

std::string catalogue(std::string_view prefix)
{
    return catalogue(prefix, 0, "");
}

// The faults of a file as the refusal names them, such as "/rows/17/quantity in row 17".
std::string import_errors_in(http_response const& refusal)
{
    auto const problem = refusal.json();
    std::string text;
    for (auto const& error : problem.at("errors"))
        text += (text.empty() ? "" : ", ") + error.at("pointer").get<std::string>() + " in row " +
                error.at("row").dump();
    return text;
}

// The characters of a text, each as UTF-8, so many times over.
std::string repeated(std::string_view text, int times)
{
    std::string all;
    for (int i = 0; i < times; ++i)
        all += text;
    return all;
}

// SKUs that are SKUs, each another one than every other.
std::vector<std::string> const good_skus{
    "abc",
    "ABC",
    "00123",
    "123",
    "0",
    "a/b?c",
    "a b",
    "a+b",
    "%",
    "%41",
    "a#b&c=d;e",
    "..",
    "\"quoted\"\\",
    "'; DROP TABLE item; --",
    "{1,2}",
    "null",
    "caf\u00E9", // é as one character, which is NFC
    "cafe",
    "\U0001F9E6",                                 // an emoji
    "\U0001F468\u200D\U0001F469\u200D\U0001F467", // a family of emoji, joined
    "\u0421\u0410\u0422",                         // Cyrillic letters that look like Latin CAT
    "CAT",
    repeated("x", 100),
    repeated("\U0001F9E6", 100), // 100 characters are 400 bytes
};

// Texts that are no SKU.
std::vector<std::string> const bad_skus{
    " abc",
    "abc ",
    " ",
    "\u00A0abc",  // a no-break space
    "abc\u3000",  // an ideographic space
    "cafe\u0301", // e and its accent as two characters, which is NFD
    "a\u0000b"s,
    "\u0000"s,
    "a\tb",
    "a\nb",
    "a\u007Fb",
    "a\u0085b",
    repeated("x", 101),
    repeated("x", 300),
    repeated("\u00E9", 101),
};

// What no quantity and no count may be, as JSON.
std::vector<std::string> const no_number{
    "1.5",
    "1.0",
    "1e3",
    "\"1\"",
    "\"\"",
    "null",
    "true",
    "[1]",
    "{}",
    "9007199254740993", // 2^53 + 1
    "1e9",
    "-1e-9",
    "-0.0",
    "9223372036854775808", // 2^63
    "-9223372036854775809",
    "18446744073709551616", // 2^64
    "123456789012345678901234567890",
};

// What a count may be, but nobody can buy or bring back.
std::vector<std::string> const no_quantity{"0",          "-1",         "-0",
                                           "1000000001", "2147483648", "4294967297"};

} // namespace

TEST_CASE("K5: one bad row in ten thousand is named, and nothing of the file is taken")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);

    // A first catalogue, in seconds, and the same file again: nothing changes.
    auto const began = std::chrono::steady_clock::now();
    REQUIRE(outcome(front.import_csv("set", catalogue("A-"))) == "200");
    CHECK(std::chrono::steady_clock::now() - began < 20s);
    CHECK(front.level_of("A-9999") == level{.on_hand = 7, .reserved = 0, .available = 7});
    CHECK(front.item_of("A-0").at("name") == "Item, one of many");
    auto const books = books_of(db);
    auto const again = front.import_csv("set", catalogue("A-"));
    CHECK(outcome(again) == "200");
    CHECK(again.json().at("unchanged") == 10'000);
    CHECK(books_of(db) == books);

    // One bad row, wherever it stands, in a file that would change every item.
    struct {
        std::string text;
        std::string pointer;
    } const bad_rows[]{
        {"A-15,-1,bad", "/rows/17/quantity"},
        {"A-15,1.5,bad", "/rows/17/quantity"},
        {"A-15,,bad", "/rows/17/quantity"},
        {"A-15,many,bad", "/rows/17/quantity"},
        {"A-15,99999999999999999999,bad", "/rows/17/quantity"},
        {" A-15,7,bad", "/rows/17/sku"},
        {",7,bad", "/rows/17/sku"},
    };
    for (auto const& [each_text, pointer] : bad_rows) {
        auto const& text = each_text;
        CAPTURE(text);
        auto const refused = front.import_csv("set", catalogue("B-", 17, text));
        CHECK(outcome(refused) == "400 validation-failed");
        CHECK(import_errors_in(refused) == pointer + " in row 17");
        CHECK(books_of(db) == books);
    }
    auto const last = front.import_csv("set", catalogue("B-", 10'001, "B-9999,0x7,bad"));
    CHECK(import_errors_in(last) == "/rows/10001/quantity in row 10001");

    // Deliveries and counts are of items there are: the unknown one is named, nothing is booked.
    for (std::string const mode : {"add", "count"}) {
        CAPTURE(mode);
        auto const refused = front.import_csv(mode, catalogue("A-", 17, "UNHEARD-OF,7,bad"));
        CHECK(outcome(refused) == "400 validation-failed");
        CHECK(import_errors_in(refused) == "/rows/17/sku in row 17");
    }
    CHECK(books_of(db) == books);
    CHECK(front.audit_ok());
}

TEST_CASE("K7: a SKU is exactly the text it is, and what is no SKU is refused everywhere")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);

    for (auto const& sku : good_skus) {
        CAPTURE(sku);
        auto const made = front.put_item(sku, {{"on_hand", 2}});
        CHECK(outcome(made) == "201");
        CHECK(made.json().at("sku") == sku);
    }
    for (auto const& sku : good_skus) {
        CAPTURE(sku);
        // Another PUT finds the item that is there; a basket takes from that one and no other.
        CHECK(outcome(front.put_item(sku, {{"name", "Named " + sku}})) == "200");
        auto const held = front.reserve(sku);
        CHECK(outcome(held) == "201");
        CHECK(held.json().at("lines")[0].at("sku") == sku);
        CHECK(front.level_of(sku) == level{.on_hand = 2, .reserved = 1, .available = 1});
        CHECK(outcome(front.adjust(sku, {{"delta", 1}, {"reason", "found"}})) == "201");
        CHECK(front.reservations("sku=" + percent_encoded(sku)).size() == 1);
    }
    for (auto const& sku : bad_skus) {
        CAPTURE(sku);
        CHECK(outcome(front.put_item(sku, {{"on_hand", 1}})) == "400 validation-failed");
        CHECK(outcome(front.get("/v1/stock/" + percent_encoded(sku))) == "400 validation-failed");
        auto const refused = front.reserve(sku);
        CHECK(outcome(refused) == "400 validation-failed");
        CHECK(pointers_in(refused) == "/lines/0/sku");
    }

    // A number is no SKU, even where "123" is one; nor is half a character or half an escape.
    for (std::string const not_text : {"123", "null", "true", "[\"abc\"]", "{}", "\"\""}) {
        CAPTURE(not_text);
        auto const refused = front.post_text("/v1/reservations", R"({"lines":[{"sku":)" + not_text +
                                                                     R"(,"quantity":1}]})");
        CHECK(outcome(refused) == "400 validation-failed");
        CHECK(pointers_in(refused) == "/lines/0/sku");
    }
    for (std::string const broken : {"\"a\xFF\"", "\"\xC3\"", "\"\\ud800\"", "\"\\u00\""}) {
        CAPTURE(broken);
        auto const refused = front.post_text("/v1/reservations", R"({"lines":[{"sku":)" + broken +
                                                                     R"(,"quantity":1}]})");
        CHECK(outcome(refused) == "400 malformed-json");
    }
    for (std::string const path :
         {"/v1/stock/a%FF", "/v1/stock/%C3", "/v1/stock/%C0%AF", "/v1/stock/%ED%A0%80",
          "/v1/stock/%", "/v1/stock/%4", "/v1/stock/%zz"}) {
        CAPTURE(path);
        CHECK(front.get(path).status == 400);
    }

    CHECK(db.session().value("SELECT count(*) FROM item") == std::to_string(good_skus.size()));
    CHECK(db.session().value("SELECT count(*) FROM stock_level") ==
          std::to_string(good_skus.size()));
    CHECK(front.audit_ok());
}

TEST_CASE("K8: a quantity is a whole number within bounds, and anything else changes nothing")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    auto const sku = front.item(1000);
    auto const full = front.item(9'000'000'000'000'000);
    auto const order = front.hold({{sku, 5}});
    REQUIRE(outcome(front.confirm(order)) == "200");
    auto const books = books_of(db);
    auto const is_refused = [&](http_response const& answer, std::string const& pointer) {
        INFO(answer.body);
        CHECK((outcome(answer) == "422 quantity-overflow" ||
               (outcome(answer) == "400 validation-failed" && pointers_in(answer) == pointer)));
        CHECK(books_of(db) == books);
    };
    auto const line_with = [](std::string const& of, std::string const& quantity) {
        return R"({"lines":[{"sku":")" + of + R"(","quantity":)" + quantity + "}]}";
    };
    std::string const adjustments = "/v1/stock/" + sku + "/adjustments";

    auto wanted = no_number;
    wanted.insert(wanted.end(), no_quantity.begin(), no_quantity.end());
    for (auto const& quantity : wanted) {
        CAPTURE(quantity);
        is_refused(front.post_text("/v1/reservations", line_with(sku, quantity)),
                   "/lines/0/quantity");
        is_refused(
            front.post_text("/v1/reservations/" + order + "/returns", line_with(sku, quantity)),
            "/lines/0/quantity");
    }
    for (auto const& quantity : no_number) {
        CAPTURE(quantity);
        is_refused(front.post_text(adjustments, R"({"reason":"found","delta":)" + quantity + "}"),
                   "/delta");
        if (quantity != "null")
            is_refused(front.post_text(adjustments,
                                       R"({"reason":"found","expect_on_hand":null,"set_to":)" +
                                           quantity + "}"),
                       "/set_to");
        is_refused(front.http().send({.method = "PUT",
                                      .target = "/v1/stock/" + unique("NEVER"),
                                      .body = R"({"on_hand":)" + quantity + "}"}),
                   "/on_hand");
    }
    is_refused(front.post_text(adjustments, R"({"reason":"found","delta":0})"), "/delta");
    is_refused(front.adjust(full, {{"delta", 1}, {"reason", "found"}}), "/delta");
    is_refused(front.adjust(full, {{"set_to", 9'000'000'000'000'001},
                                   {"expect_on_hand", nullptr},
                                   {"reason", "found"}}),
               "/set_to");
    CHECK(front.post_text("/v1/reservations", line_with(sku, "1e999")).status == 400);
    CHECK(front.post_text("/v1/reservations", line_with(sku, "01")).status == 400);
    CHECK(front.post_text("/v1/reservations", line_with(sku, "NaN")).status == 400);

    // The largest number there is gets an answer about stock, and so do two of them.
    CHECK(outcome(front.reserve(sku, 1'000'000'000)) == "409 insufficient-stock");
    CHECK(outcome(front.reserve({{sku, 1'000'000'000}, {sku, 1'000'000'000}})) ==
          "409 insufficient-stock");
    CHECK(books_of(db) == books);
    CHECK(outcome(front.reserve(full, 1'000'000'000)) == "201");
    CHECK(front.audit_ok());
}

TEST_CASE("K10: what one place is short of does not count against what another has")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        // Four promised in the shop, and a count finds none of them there.
        auto const sku = front.item(4, {{"location", "shop"}, {"strategy", strategy}});
        auto const promised = front.hold({{sku, 4, "shop"}});
        auto const counted = front.adjust(
            sku, {{"set_to", 0}, {"expect_on_hand", 4}, {"reason", "count"}, {"location", "shop"}});
        CHECK(outcome(counted) == "201");
        CHECK(counted.json().at("level").at("short") == 4);
        CHECK(outcome(front.adjust(
                  sku, {{"delta", 3}, {"reason", "received"}, {"location", "warehouse"}})) ==
              "201");

        CHECK(front.level_of(sku) == level{.on_hand = 3, .reserved = 4, .available = 3});
        CHECK(outcome(front.reserve({{sku, 1, "shop"}})) == "409 insufficient-stock");
        CHECK(outcome(front.reserve({{sku, 4, "warehouse"}})) == "409 insufficient-stock");
        CHECK(outcome(front.reserve({{sku, 3, "warehouse"}})) == "201");
        CHECK(front.level_of(sku) == level{.on_hand = 3, .reserved = 7, .available = 0});

        // The promise is kept once the four have turned up, and not before.
        CHECK(front.confirm(promised).status == 409);
        CHECK(outcome(front.adjust(
                  sku, {{"delta", 4}, {"reason", "found"}, {"location", "shop"}})) == "201");
        CHECK(outcome(front.confirm(promised)) == "200");
        CHECK(front.level_of(sku) == level{.on_hand = 3, .reserved = 3, .available = 0});
    }
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

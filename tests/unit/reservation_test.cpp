// SPDX-License-Identifier: Apache-2.0
// The values a reservation is made of, and the words of the API for refusals and states.
#include "stock/errc.hpp"
#include "stock/movement.hpp"
#include "stock/reservation.hpp"
#include "stock/result.hpp"
#include "stock/stock_level.hpp"

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

namespace {

line_request line(std::string name, units quantity, std::string where = "main")
{
    return {{sku(std::move(name)), location(std::move(where))}, quantity};
}

std::string shown(std::vector<line_request> const& lines)
{
    std::string text;
    for (auto const& each : lines)
        text += (text.empty() ? "" : " ") + each.at.sku.str() + '@' + each.at.location.str() + 'x' +
                std::to_string(each.quantity);
    return text;
}

constexpr int errc_count = static_cast<int>(errc::quantity_overflow) + 1;

result<int> half(int number)
{
    if (number % 2 != 0)
        return refusal{.code = errc::validation_failed, .detail = "odd"};
    return number / 2;
}

result<int> quarter(int number)
{
    HOLDFAST_TRY(auto const once, half(number));
    HOLDFAST_TRY_VOID(half(once));
    HOLDFAST_TRY(auto const twice, half(once));
    return twice;
}

} // namespace

TEST_CASE("the same item twice in a basket is summed, and lines are put in the order of locks")
{
    CHECK(shown(merged({})) == "");
    CHECK(shown(merged({line("B", 1), line("A", 2), line("B", 3)})) == "A@mainx2 B@mainx4");
    CHECK(shown(merged({line("A", 1, "shop"), line("A", 1), line("A", 1, "shop")})) ==
          "A@mainx1 A@shopx2");
    CHECK(shown(merged({line("b", 1), line("a", 1), line("B", 1)})) ==
          "B@mainx1 a@mainx1 b@mainx1");
}

TEST_CASE("a hundred of the largest lines of one item still add up")
{
    std::vector<line_request> const lines(100, line("A", quantity_max));
    CHECK(shown(merged(lines)) == "A@mainx100000000000");
}

TEST_CASE("the states of a reservation have one name each")
{
    for (auto const state : {reservation_state::held, reservation_state::confirmed,
                             reservation_state::released, reservation_state::expired})
        CHECK(parse_reservation_state(to_string(state)) == state);
    CHECK(to_string(reservation_state::held) == "held");
    CHECK(to_string(reservation_state::expired) == "expired");
    for (auto const* text : {"", "Held", "pending", "held "})
        CHECK_FALSE(parse_reservation_state(text));
}

TEST_CASE("a level knows what may still be promised and what was promised in vain")
{
    CHECK(stock_level{10, 3}.available() == 7);
    CHECK(stock_level{10, 3}.short_by() == 0);
    CHECK(stock_level{10, 10}.available() == 0);
    CHECK(stock_level{4, 7}.available() == -3);
    CHECK(stock_level{4, 7}.short_by() == 3);
    CHECK(stock_level{level_max, 0}.available() == level_max);
}

TEST_CASE("every refusal has a slug and a title of its own")
{
    std::set<std::string_view> slugs;
    std::set<std::string_view> titles;
    for (int i = 0; i < errc_count; ++i) {
        auto const code = static_cast<errc>(i);
        CAPTURE(i);
        slugs.insert(slug(code));
        titles.insert(title(code));
        CHECK(slug(code) != "internal");
        CHECK(slug(code).find_first_not_of("abcdefghijklmnopqrstuvwxyz-") ==
              std::string_view::npos);
        CHECK_FALSE(title(code).empty());
    }
    CHECK(slugs.size() == errc_count);
    CHECK(titles.size() == errc_count);
    CHECK(slug(errc::insufficient_stock) == "insufficient-stock");
    CHECK(slug(errc::idempotency_key_in_progress) == "idempotency-key-in-progress");
}

TEST_CASE("every kind of movement has the name the ledger keeps")
{
    CHECK(to_string(movement_kind::received) == "received");
    CHECK(to_string(movement_kind::returned) == "returned");
    CHECK(movement_kind_names.size() == static_cast<std::size_t>(movement_kind::returned) + 1);
}

TEST_CASE("a refusal goes up to whoever asked, and nothing after it is done")
{
    CHECK(quarter(8).value() == 2);
    CHECK(quarter(6).error().code == errc::validation_failed);
    CHECK(quarter(6).error().detail == "odd");
    CHECK(quarter(5).has_error());
}

TEST_CASE("a refusal nobody looks at and a broken invariant are bugs")
{
    CHECK_THROWS_AS((void)half(3).value(), std::logic_error);
    auto const check = [](units reserved) { HOLDFAST_INVARIANT(reserved >= 0); };
    CHECK_NOTHROW(check(0));
    CHECK_THROWS_AS(check(-1), invariant_broken);
}

} // namespace holdfast

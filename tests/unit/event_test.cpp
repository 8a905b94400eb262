// SPDX-License-Identifier: Apache-2.0
#include "service/event_feed.hpp"
#include "stock/event.hpp"

#include <doctest/doctest.h>

#include <string>

namespace holdfast {

namespace {

// A movement that leaves so many on hand and reserved.
movement moved(units on_hand_delta, units reserved_delta, stock_level after)
{
    return {.at = {sku("A"), location()},
            .on_hand_delta = on_hand_delta,
            .reserved_delta = reserved_delta,
            .after = after};
}

std::string edges(movement const& m, std::optional<units> low_stock_at = std::nullopt)
{
    std::string names;
    for (auto const edge : edges_of(m, low_stock_at))
        names += std::string(to_string(edge)) + ' ';
    return names;
}

} // namespace

TEST_CASE("a level crosses an edge only where it was on the other side before")
{
    CHECK(edges(moved(0, 1, {5, 5, 9})) == "stock.sold_out ");
    CHECK(edges(moved(0, 1, {5, 4, 9})).empty());
    CHECK(edges(moved(0, -1, {5, 4, 9})) == "stock.back_in_stock ");
    CHECK(edges(moved(0, -1, {5, 3, 9})).empty());
    CHECK(edges(moved(-3, -3, {2, 2, 9})).empty()); // confirmed: nothing becomes available
    CHECK(edges(moved(5, 0, {5, 0, 1})).empty());   // the first receipt
    CHECK(edges(moved(5, 0, {5, 0, 2})) == "stock.back_in_stock ");
    CHECK(edges(moved(-4, 0, {1, 3, 9})) == "stock.sold_out "); // short by a count
    CHECK(edges(moved(1, 0, {2, 3, 9})).empty());               // still short

    CHECK(edges(moved(0, 1, {5, 2, 9}), 3) == "stock.low ");
    CHECK(edges(moved(0, 1, {5, 3, 9}), 3).empty());
    CHECK(edges(moved(0, 4, {5, 5, 9}), 3) == "stock.low stock.sold_out ");
    CHECK(edges(moved(0, 1, {5, 5, 9}), 0) == "stock.low stock.sold_out ");
    CHECK(edges(moved(0, -1, {5, 1, 9}), 3).empty());
}

TEST_CASE("an adjustment tells what changed on hand, the others how many units they are about")
{
    auto m = moved(-2, 0, {});
    m.kind = movement_kind::counted;
    CHECK(quantity_of(m) == -2);
    m = moved(-2, -3, {}); // two of three were confirmed
    m.kind = movement_kind::confirmed;
    CHECK(quantity_of(m) == 2);
    m = moved(0, -3, {});
    m.kind = movement_kind::expired;
    CHECK(quantity_of(m) == 3);
}

TEST_CASE("every kind of movement is an event, and every name of a type is that type's")
{
    for (std::size_t i = 0; i < movement_kind_names.size(); ++i)
        CHECK(event_type_of(static_cast<movement_kind>(i)) < event_type::low);
    for (std::size_t i = 0; i < event_type_names.size(); ++i)
        CHECK(parse_event_type(event_type_names[i]) == static_cast<event_type>(i));
    CHECK_FALSE(parse_event_type("stock").has_value());
    CHECK_FALSE(parse_event_type("").has_value());
}

TEST_CASE("a place in the feed reads as it was written, and nothing else is one")
{
    event_place const at{12, 3417, 58, 2};
    CHECK(to_string(at) == "evt_12_3417_58_2");
    CHECK(parse_event_place(to_string(at)) == at);
    CHECK(parse_event_place("evt_0_0_0_0") == event_place());
    for (std::string const odd :
         {"", "evt", "evt_", "evt_1_2_3", "evt_1_2_3_", "evt_1_2_3_4_5", "evt_1_2_3_-4",
          "evt_1_2_3_4 ", "evt_+1_2_3_4", "Evt_1_2_3_4", "evt_1_2_3_99999999999999999999"})
        CHECK_FALSE(parse_event_place(odd).has_value());
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Stories of the stock room: deliveries, damages, counts that come out lower than what is promised.
#include "tests/scenarios/scenario.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

namespace holdfast::test {

TEST_CASE("units come and go, and the ledger says why")
{
    play(R"(
        receive  A   10
        receive  A   5
        adjust   A   -3, damaged               adjusted
        adjust   A   +1, found                 adjusted
        adjust   A   -13, lost                 adjusted
        adjust   A   -1, lost                  would_go_negative
        level    A                             on_hand 0  reserved 0  version 5
        ledger   A                             received received adjusted adjusted adjusted
        set      A   on_hand 5                 validation_failed
        set      A   strategy row_lock         ok
        level    A                             on_hand 0  version 5
    )");
}

TEST_CASE("two clerks who both think there are ten: the second is told")
{
    play(R"(
        receive  A   10
        adjust   A   set 15, expecting 10, correction    adjusted
        adjust   A   set 15, expecting 10, correction    precondition_failed
        adjust   A   set 12, correction                  adjusted
        level    A                                       on_hand 12  version 3
        adjust   A   set 0, expecting 12, lost           adjusted
        adjust   A   set 0, expecting 0, correction      adjusted
        level    A                                       on_hand 0
    )");
}

TEST_CASE("nobody takes from the shelf what is promised, unless that is said")
{
    play(R"(
        receive  A   10
        reserve  r1  A 4                                 held
        reserve  r2  A 3                                 held
        adjust   A   -3, damaged                         adjusted
        adjust   A   -1, damaged                         would_be_short
        adjust   A   -8, damaged                         would_go_negative
        adjust   A   -8, damaged, allow short            would_go_negative
        adjust   A   set 6, expecting 7, lost            would_be_short
        adjust   A   -2, damaged, allow short            adjusted concerns r1, concerns r2
        level    A                                       on_hand 5  reserved 7  short 2
        adjust   A   -1, damaged                         would_be_short
        adjust   A   +1, found                           adjusted concerns r1, concerns r2
        adjust   A   +1, found                           adjusted
        level    A                                       on_hand 7  reserved 7  short 0
        adjust   A   -1, damaged                         would_be_short
    )");
}

TEST_CASE("a count is believed, and who is concerned is listed")
{
    play(R"(
        receive  A   10
        reserve  r1  A 7                       held
        reserve  r2  A 2                       held
        count    A   5                         counted concerns r1, concerns r2
        level    A                             on_hand 5  reserved 9  short 4
        reserve  r3  A 1                       insufficient_stock A 0
        confirm  r1                            insufficient_stock A 5
        show     r1                            held
        confirm  r2                            confirmed
        level    A                             on_hand 3  reserved 7  short 4
        release  r1                            released
        level    A                             on_hand 3  reserved 0  short 0
        count    A   3                         counted
        reserve  r3  A 3                       held
        ledger   A         received reserved reserved counted confirmed released counted reserved
    )");
}

TEST_CASE("a short shelf is made up by the next delivery")
{
    play(R"(
        receive  A   5
        reserve  r1  A 5                       held
        count    A   2                         counted concerns r1
        confirm  r1  A 3                       insufficient_stock A 2
        receive  A   3                         received
        level    A                             on_hand 5  reserved 5  short 0
        reserve  r2  A 1                       insufficient_stock A 0
        confirm  r1                            confirmed
        level    A                             on_hand 0  reserved 0
    )");
}

TEST_CASE("a short shelf can still serve in part")
{
    play(R"(
        receive  A   5
        receive  B   5
        reserve  r1  A 5, B 5                  held
        count    A   2                         counted concerns r1
        confirm  r1                            insufficient_stock A 2
        level    B                             on_hand 5  reserved 5
        confirm  r1  A 2, B 5                  confirmed
        level    A                             on_hand 0  reserved 0  short 0
        level    B                             on_hand 0  reserved 0
    )");
}

TEST_CASE("a short shelf takes nothing from another one")
{
    play(R"(
        receive  A       4
        receive  A@shop  3
        reserve  r1      A 4                   held
        count    A       0                     counted concerns r1
        level    A                             on_hand 0  reserved 4  short 4
        level    A@shop                        on_hand 3  reserved 0  available 3
        reserve  r2      A@shop 3              held
        confirm  r2                            confirmed
    )");
}

TEST_CASE("lapsed holds do not stand in a clerk's way")
{
    play(R"(
        receive  A   5
        reserve  r1  A 3                       held
        reserve  r2  A 2                       held
        expire   r1
        adjust   A   -4, lost                  would_be_short
        adjust   A   -3, lost                  adjusted
        level    A                             on_hand 2  reserved 2  short 0
        expire   r2
        count    A   0                         counted
        level    A                             on_hand 0  reserved 0  short 0
        confirm  r2  reserve again             reservation_expired A 0
    )");
}

TEST_CASE("a warehouse can be full")
{
    play(R"(
        receive  A   9000000000000000
        receive  A   1                         quantity_overflow
        reserve  r1  A 1000000000              held
        confirm  r1                            confirmed
        receive  A   1000000000                received
        return   r1  A 1                       quantity_overflow
        return   r1  A 1, no restock           returned
        level    A                             on_hand 9000000000000000  reserved 0
        adjust   A   -9000000000000000, lost   adjusted
        return   r1  A 999999999               returned
        level    A                             on_hand 999999999
    )");
}

TEST_CASE("a correction that is sent twice is made once")
{
    play(R"(
        receive  A   5
        adjust   A   -2, damaged, key k        adjusted
        adjust   A   -2, damaged, key k        adjusted again
        adjust   A   -2, lost, key k           idempotency_key_reused
        adjust   B   -2, damaged, key k        idempotency_key_reused
        adjust   A   -9, damaged, key m        would_go_negative
        receive  A   6
        adjust   A   -9, damaged, key m        adjusted
        adjust   A   -9, damaged, key m        adjusted again
        level    A                             on_hand 0  version 4
    )");
}

TEST_CASE("an item begins with nothing and can be put anywhere later")
{
    play(R"(
        receive  A        0
        level    A                             on_hand 0  reserved 0  version 0
        reserve  r1       A 1                  insufficient_stock A 0
        adjust   A@attic  -1, lost             would_go_negative
        adjust   A@attic  +2, found            adjusted
        level    A@attic                       on_hand 2  version 1
        reserve  r1       A@attic 2            held
        count    A@attic  2                    counted
        level    A@attic                       on_hand 2  reserved 2  version 3
        ledger   A@attic                       adjusted reserved counted
    )");
}

TEST_CASE("a table that says something else is not played")
{
    for (auto const* table : {
             "",
             "\n   # only a remark\n",
             "receive  A",
             "sell  A  1  sold",
             "reserve  r1  A 1",
             "expire  r1  expired",
             "level  A",
             "Receive  A  1",
         }) {
        CAPTURE(table);
        CHECK_THROWS_AS((void)parse_scenario(table), std::invalid_argument);
    }
    auto const steps =
        parse_scenario("\n  receive   A   10   # ten\n  level  A  on_hand 10  short 0\n");
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].line == 2);
    CHECK(steps[0].verb == "receive");
    CHECK(steps[0].columns == std::vector<std::string>{"A", "10"});
    CHECK(steps[1].columns == std::vector<std::string>{"A", "on_hand 10", "short 0"});
}

} // namespace holdfast::test

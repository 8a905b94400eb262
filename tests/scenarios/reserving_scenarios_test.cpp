// SPDX-License-Identifier: Apache-2.0
// Stories of taking units: baskets, locations, sale windows, limits, replaced holds, keys sent
// twice.
#include "tests/scenarios/scenario.hpp"

#include <doctest/doctest.h>

namespace holdfast::test {

TEST_CASE("a released hold can be taken again")
{
    play(R"(
        receive  A   10
        reserve  r1  A 7    held
        reserve  r2  A 4    insufficient_stock A 3
        release  r1         released
        release  r1         released                   # again: the same answer
        confirm  r1         already_released
        reserve  r3  A 4    held
        level    A          on_hand 10  reserved 4  available 6  version 4
        ledger   A          received reserved released reserved
    )");
}

TEST_CASE("a basket is held whole or not at all")
{
    play(R"(
        receive  A   5
        receive  B   1
        receive  C   0
        reserve  r1  A 2, B 2         insufficient_stock B 1
        reserve  r1  A 6, B 1, C 1    insufficient_stock A 5, C 0
        level    A                    on_hand 5  reserved 0  version 1
        level    B                    on_hand 1  reserved 0  version 1
        level    C                    on_hand 0  reserved 0  version 0
        reserve  r1  B 1, A 5         held
        lines    r1                   A 5  B 1
        level    A                    on_hand 5  reserved 5  available 0
        level    B                    on_hand 1  reserved 1  available 0
    )");
}

TEST_CASE("an item that stands in a basket twice is summed before anybody looks")
{
    play(R"(
        receive  A   5
        reserve  r1  A 3, A 3         insufficient_stock A 5
        reserve  r1  A 2, A 3         held
        lines    r1                   A 5
        ledger   A                    received reserved
        level    A                    reserved 5  available 0
    )");
}

TEST_CASE("each location sells its own units")
{
    play(R"(
        receive  A       2
        receive  A@shop  3
        reserve  r1      A 3                  insufficient_stock A 2
        reserve  r1      A@attic 1            insufficient_stock A@attic 0
        reserve  r1      A@shop 3, A 1        held
        lines    r1                           A 1  A@shop 3
        confirm  r1      A@shop 2, A 1        confirmed
        level    A                            on_hand 1  reserved 0
        level    A@shop                       on_hand 1  reserved 0
        ledger   A@shop                       received reserved confirmed
    )");
}

TEST_CASE("what nobody has heard of is told apart from what is sold out")
{
    play(R"(
        receive  A       1
        reserve  r1      Z 1              unknown_sku
        reserve  r1      A 1, Z 1         unknown_sku
        reserve  r1      A 2, Z 1         unknown_sku
        adjust   Z       +1, found        unknown_sku
        confirm  nobody                   unknown_reservation
        release  nobody                   unknown_reservation
        extend   nobody  60               unknown_reservation
        return   nobody  A 1              unknown_reservation
        show     nobody                   unknown_reservation
        reserve  r1      A 1, replaces nobody    unknown_reservation
        level    A                        on_hand 1  reserved 0  version 1
    )");
}

TEST_CASE("a paused item is not sold, and who holds it already may keep it")
{
    play(R"(
        receive  A   5
        reserve  r1  A 1         held
        reserve  r2  A 1         held
        set      A   paused      ok
        reserve  r3  A 1         not_on_sale
        reserve  r3  A 9         not_on_sale
        confirm  r1              confirmed
        extend   r2  60          held
        release  r2              released
        set      A   on sale     ok
        reserve  r3  A 4         held
    )");
}

TEST_CASE("a sale has a first and a last moment")
{
    play(R"(
        receive  A   5
        set      A   sale_starts 3600                    ok
        reserve  r1  A 1                                 not_on_sale
        set      A   sale_starts -60                     ok
        reserve  r1  A 1                                 held
        set      A   sale_ends -1                        ok
        reserve  r2  A 1                                 not_on_sale
        set      A   sale_starts 60, sale_ends 30        validation_failed
        set      A   no sale_starts, no sale_ends        ok
        reserve  r2  A 1                                 held
        receive  B   5
        reserve  r3  A 1, B 1                            held
        set      B   sale_ends -1                        ok
        reserve  r4  A 1, B 1                            not_on_sale
        level    A                                       reserved 3  version 4
    )");
}

TEST_CASE("who pays at once need not hold first")
{
    play(R"(
        receive  A   5
        receive  B   1
        reserve  r1  A 2, B 1, confirm    confirmed
        lines    r1                       A 2 confirmed 2  B 1 confirmed 1
        level    A                        on_hand 3  reserved 0  version 3
        ledger   A                        received reserved confirmed
        release  r1                       already_confirmed
        reserve  r2  A 4, confirm         insufficient_stock A 3
        reserve  r2  A 3, confirm         confirmed
        level    A                        on_hand 0  reserved 0
    )");
}

TEST_CASE("a changed basket takes over its own units")
{
    play(R"(
        receive  A   1
        reserve  o1  A 1                  held
        reserve  o2  A 1                  insufficient_stock A 0
        reserve  o2  A 1, replaces o1     held
        show     o1                       released
        confirm  o1                       already_released
        release  o1                       released
        level    A                        on_hand 1  reserved 1
        ledger   A                        received reserved released reserved
        confirm  o2                       confirmed
    )");
}

TEST_CASE("a changed basket that does not fit leaves the old one as it was")
{
    play(R"(
        receive  A   3
        receive  B   1
        reserve  r1  A 2, B 1                held
        reserve  r2  A 4, replaces r1        insufficient_stock
        reserve  r2  A 3, B 2, replaces r1   insufficient_stock
        show     r1                          held
        level    A                           on_hand 3  reserved 2  version 2
        reserve  r2  A 3, replaces r1        held
        level    A                           on_hand 3  reserved 3
        level    B                           on_hand 1  reserved 0
        show     r1                          released
    )");
}

TEST_CASE("only what is not paid yet can be replaced")
{
    play(R"(
        receive  A   9
        reserve  r1  A 1, confirm            confirmed
        reserve  r2  A 1, replaces r1        already_confirmed
        level    A                           on_hand 8  reserved 0
        reserve  r3  A 2                     held
        release  r3                          released
        reserve  r4  A 2, replaces r3        held
        reserve  r5  A 5                     held
        expire   r5
        reserve  r6  A 6, replaces r5        held
        show     r5                          expired
        level    A                           on_hand 8  reserved 8
        reserve  r7  A 8, confirm, replaces r6    insufficient_stock
        reserve  r7  A 6, confirm, replaces r6    confirmed
        level    A                           on_hand 2  reserved 2
    )");
}

TEST_CASE("a request that is sent twice is done once")
{
    play(R"(
        receive  A   9
        reserve  r1  A 4, key k              held
        reserve  r1  A 4, key k              held again
        level    A                           reserved 4  version 2
        reserve  r2  A 5, key k              idempotency_key_reused
        reserve  r2  A 4, ttl 60, key k      idempotency_key_reused
        confirm  r1                          confirmed
        reserve  r1  A 4, key k              confirmed again
        reserve  r3  A 5, key other          held
        expire   r3
        reserve  r3  A 5, key other          expired again
        level    A                           on_hand 5  reserved 0
    )");
}

TEST_CASE("a refusal is not remembered: the same request may succeed later")
{
    play(R"(
        receive  A   2
        reserve  r1  A 3, key k              insufficient_stock A 2
        reserve  r1  A 3, key k              insufficient_stock A 2
        receive  A   1
        reserve  r1  A 3, key k              held
        reserve  r1  A 3, key k              held again
        reserve  r2  A 2, key k              idempotency_key_reused
    )");
}

TEST_CASE("one key is for one thing, whatever kind of thing it is")
{
    play(R"(
        receive  A   9
        adjust   A   +1, found, key k        adjusted
        reserve  r1  A 1, key k              idempotency_key_reused
        reserve  r1  A 1, key m              held
        adjust   A   +1, found, key m        idempotency_key_reused
        confirm  r1                          confirmed
        return   r1  A 1, key m              idempotency_key_reused
        return   r1  A 1, key k              idempotency_key_reused
        return   r1  A 1, key n              returned
        adjust   A   +1, found, key n        idempotency_key_reused
        level    A                           on_hand 10  reserved 0
    )");
}

TEST_CASE("a customer gets no more than the limit, held and bought together")
{
    play(R"(
        receive  A   100
        set      A   limit 2                 ok
        reserve  r0  A 1                     validation_failed
        reserve  r1  A 1, customer c         held
        reserve  r2  A 2, customer c         customer_limit
        reserve  r2  A 1, customer c         held
        reserve  r3  A 1, customer c         customer_limit
        reserve  d1  A 2, customer d         held
        reserve  d2  A 3, customer d         customer_limit
        confirm  r1                          confirmed
        reserve  r3  A 1, customer c         customer_limit
        release  r2                          released
        reserve  r3  A 1, customer c         held
        level    A                           on_hand 99  reserved 3  available 96
    )");
}

TEST_CASE("what lapses, comes back or was not bought gives the limit back")
{
    play(R"(
        receive  A   100
        set      A   limit 2                 ok
        reserve  r1  A 2, customer c         held
        expire   r1
        reserve  r2  A 2, customer c         held
        confirm  r2  A 1                     confirmed
        reserve  r3  A 1, customer c         held
        reserve  r4  A 1, customer c         customer_limit
        return   r2  A 1, no restock         returned
        reserve  r4  A 1, customer c         customer_limit
        confirm  r3                          confirmed
        return   r3  A 1                     returned
        reserve  r4  A 1, customer c         held
        reserve  r5  A 1, customer c         customer_limit
    )");
}

TEST_CASE("a limit counts over all locations, and a replaced hold does not count against itself")
{
    play(R"(
        receive  A       10
        receive  A@shop  10
        set      A       limit 3                             ok
        reserve  r1      A 2, A@shop 2, customer c           customer_limit
        reserve  r1      A 1, A@shop 2, customer c           held
        reserve  r2      A@shop 1, customer c                customer_limit
        reserve  r2      A 3, customer c, replaces r1        held
        reserve  r3      A 4, customer c, replaces r2        customer_limit
        show     r2                                          held
        set      A       no limit                            ok
        reserve  r4      A 7, customer c                     held
        reserve  r5      A@shop 7                            held
    )");
}

TEST_CASE("items with different ways to take units fit in one basket")
{
    play(R"(
        receive  A   5
        receive  B   5
        receive  C   5
        set      A   strategy row_lock              ok
        set      B   strategy optimistic            ok
        set      C   strategy conditional_update    ok
        reserve  r1  A 5, B 5, C 5                  held
        reserve  r2  A 1, B 1, C 1                  insufficient_stock A 0, B 0, C 0
        release  r1                                 released
        reserve  r2  A 1, B 6, C 1                  insufficient_stock B 5
        set      A   strategy hope                  validation_failed
        reserve  r2  A 1, B 1, C 1, confirm         confirmed
        level    A                                  on_hand 4  reserved 0
        level    B                                  on_hand 4  reserved 0
        level    C                                  on_hand 4  reserved 0
    )");
}

TEST_CASE("holds are found by customer, order, item and state")
{
    play(R"(
        receive  A   50
        receive  B   50
        reserve  r1  A 1, customer c, order o        held
        reserve  r2  A 1, B 1, customer c            held
        reserve  r3  B 1, customer d, order o        held
        reserve  r4  A 1                             held
        reserve  r5  A 1, customer c                 held
        confirm  r1                                  confirmed
        release  r2                                  released
        expire   r5
        find     customer c                          r1 r2 r5
        find     customer c, confirmed               r1
        find     customer c, held                    none
        find     customer c, expired                 r5
        find     customer c, sku B                   r2
        find     order o                             r1 r3
        find     order o, held                       r3
        find     order o, sku A                      r1
        find     sku A                               r1 r2 r4 r5
        find     sku A, held                         r4
        find     sku B, released                     r2
        find     customer nobody                     none
    )");
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// Stories of what becomes of a hold: confirmed whole or in part, released, run out, taken again,
// brought back.
#include "tests/scenarios/scenario.hpp"

#include <doctest/doctest.h>

namespace holdfast::test {

TEST_CASE("a confirmed hold stays confirmed, whoever asks what and how often")
{
    play(R"(
        receive  A   10
        reserve  r1  A 4          held
        confirm  r1               confirmed
        confirm  r1               confirmed
        confirm  r1  A 1          confirmed        # too late to take less
        release  r1               already_confirmed
        extend   r1  60           already_confirmed
        lines    r1               A 4 confirmed 4
        level    A                on_hand 6  reserved 0  available 6  version 3
        ledger   A                received reserved confirmed
    )");
}

TEST_CASE("a released hold stays released")
{
    play(R"(
        receive  A   10
        reserve  r1  A 4                        held
        release  r1                             released
        confirm  r1                             already_released
        confirm  r1  reserve again              already_released
        extend   r1  60                         already_released
        return   r1  A 1                        already_released
        release  r1                             released
        level    A                              on_hand 10  reserved 0  version 3
    )");
}

TEST_CASE("the last units are ours while we hold them")
{
    play(R"(
        receive  A   3
        reserve  r1  A 3          held
        level    A                on_hand 3  reserved 3  available 0
        reserve  r2  A 1          insufficient_stock A 0
        confirm  r1               confirmed
        level    A                on_hand 0  reserved 0  available 0
    )");
}

TEST_CASE("of a basket that is confirmed in part, the rest goes back")
{
    play(R"(
        receive  A   10
        receive  B   10
        reserve  r1  A 5, B 2             held
        confirm  r1  A 6                  validation_failed
        confirm  r1  A 3, A 3             validation_failed
        confirm  r1  A 1, C 1             validation_failed
        confirm  r1  A@shop 1             validation_failed
        show     r1                       held
        confirm  r1  A 2, A 1             confirmed
        lines    r1                       A 5 confirmed 3  B 2
        level    A                        on_hand 7  reserved 0
        level    B                        on_hand 10  reserved 0
        ledger   A                        received reserved confirmed
        ledger   B                        received reserved released
        confirm  r1                       confirmed
        return   r1  B 1                  validation_failed
    )");
}

TEST_CASE("no more comes back than was bought")
{
    play(R"(
        receive  A   9
        reserve  r1  A 5                  held
        return   r1  A 1                  validation_failed      # nothing is bought yet
        confirm  r1                       confirmed
        return   r1  A 2                  returned
        return   r1  A 4                  validation_failed
        return   r1  A 1, B 1             validation_failed
        level    A                        on_hand 6  reserved 0
        return   r1  A 2, no restock      returned
        lines    r1                       A 5 confirmed 5 returned 4
        level    A                        on_hand 6  reserved 0
        return   r1  A 1, A 1             validation_failed
        return   r1  A 1                  returned
        return   r1  A 1                  validation_failed
        level    A                        on_hand 7  reserved 0
        show     r1                       confirmed
        ledger   A                        received reserved confirmed returned returned returned
    )");
}

TEST_CASE("a return that is sent twice comes back once")
{
    play(R"(
        receive  A   9
        receive  B   9
        reserve  r1  A 5, B 5, confirm    confirmed
        reserve  r2  A 2, confirm         confirmed
        return   r1  A 2, key k           returned
        return   r1  A 2, key k           returned again
        return   r1  A 1, key k           idempotency_key_reused
        return   r1  A 2, no restock, key k    idempotency_key_reused
        return   r2  A 2, key k           idempotency_key_reused
        return   r1  A 9, key m           validation_failed
        return   r1  A 3, B 5, key m      returned
        return   r1  A 3, B 5, key m      returned again
        lines    r1                       A 5 confirmed 5 returned 5  B 5 confirmed 5 returned 5
        level    A                        on_hand 7  reserved 0
        level    B                        on_hand 9  reserved 0
    )");
}

TEST_CASE("a hold that has run out is nobody's, swept or not")
{
    play(R"(
        receive  A   10
        reserve  r1  A 7          held
        expire   r1
        show     r1               expired
        level    A                on_hand 10  reserved 0  available 10
        confirm  r1               reservation_expired A 10
        extend   r1  60           reservation_expired
        return   r1  A 1          reservation_expired
        find     sku A, held      none
        find     sku A, expired   r1
        reserve  r2  A 10         held
        level    A                on_hand 10  reserved 10  available 0
        ledger   A                received reserved expired reserved
        confirm  r1               reservation_expired A 0
        release  r1               expired
        release  r1               expired
        level    A                on_hand 10  reserved 10
        confirm  r2               confirmed
    )");
}

TEST_CASE("releasing a hold that has run out gives its units back once")
{
    play(R"(
        receive  A   5
        reserve  r1  A 5          held
        expire   r1
        release  r1               expired
        release  r1               expired
        level    A                on_hand 5  reserved 0  version 3
        ledger   A                received reserved expired
        reserve  r2  A 5          held
        release  r1               expired
        level    A                on_hand 5  reserved 5
    )");
}

TEST_CASE("a hold can be made longer, but not be brought back to life")
{
    play(R"(
        receive  A   1
        reserve  r1  A 1, ttl 60  held
        extend   r1  600          held
        extend   r1  1            held
        extend   r1  604800       held
        expire   r1
        reserve  r2  A 1          held
        extend   r1  600          reservation_expired
        level    A                on_hand 1  reserved 1
        show     r1               expired
        confirm  r2               confirmed
    )");
}

TEST_CASE("only as many lapsed holds are given up as a buyer needs room")
{
    play(R"(
        receive  A   6
        receive  B   2
        reserve  r1  A 2, B 2     held
        reserve  r2  A 2          held
        reserve  r3  A 2          held
        expire   r1
        expire   r2
        reserve  r4  A 5          insufficient_stock A 4
        reserve  r4  A 4, B 2     held
        level    A                on_hand 6  reserved 6
        level    B                on_hand 2  reserved 2
        show     r3               held
        confirm  r3               confirmed
        confirm  r4               confirmed
        level    A                on_hand 0  reserved 0
    )");
}

TEST_CASE("a payment that comes late gets the goods again, if they are still there")
{
    play(R"(
        receive  A   3
        receive  B   3
        reserve  r1  A 2, B 1                  held
        expire   r1
        confirm  r1                            reservation_expired A 3, B 3
        confirm  r1  reserve again             confirmed
        confirm  r1  reserve again             confirmed
        lines    r1                            A 2 confirmed 2  B 1 confirmed 1
        level    A                             on_hand 1  reserved 0
        level    B                             on_hand 2  reserved 0
        ledger   A                             received reserved expired reserved confirmed
        release  r1                            already_confirmed
    )");
}

TEST_CASE("a payment that comes too late hears what is left, and nothing is taken")
{
    play(R"(
        receive  A   3
        receive  B   3
        reserve  r1  A 2, B 1                  held
        expire   r1
        reserve  r2  A 2                       held
        confirm  r1  reserve again             reservation_expired A 1, B 3
        show     r1                            expired
        level    A                             on_hand 3  reserved 2
        level    B                             on_hand 3  reserved 0
        release  r2                            released
        confirm  r1  A 2, reserve again        confirmed
        lines    r1                            A 2 confirmed 2  B 1
        level    A                             on_hand 1  reserved 0
        level    B                             on_hand 3  reserved 0
    )");
}

TEST_CASE("a late payment may push other lapsed holds aside")
{
    play(R"(
        receive  A   2
        reserve  r1  A 2                       held
        expire   r1
        reserve  r2  A 2                       held
        expire   r2
        confirm  r1  reserve again             confirmed
        show     r2                            expired
        confirm  r2  reserve again             reservation_expired A 0
        level    A                             on_hand 0  reserved 0
    )");
}

TEST_CASE("a late payment keeps to the customer's limit")
{
    play(R"(
        receive  A   9
        set      A   limit 2                   ok
        reserve  r1  A 2, customer c           held
        expire   r1
        reserve  r2  A 1, customer c           held
        confirm  r1  reserve again             customer_limit
        show     r1                            expired
        release  r2                            released
        confirm  r1  reserve again             confirmed
        reserve  r3  A 1, customer c           customer_limit
    )");
}

TEST_CASE("asking for more time again is no trouble while the hold lives")
{
    play(R"(
        receive  A   2
        reserve  r1  A 2                       held
        confirm  r1  A 1, reserve again        confirmed
        lines    r1                            A 2 confirmed 1
        level    A                             on_hand 1  reserved 0
        ledger   A                             received reserved confirmed
    )");
}

} // namespace holdfast::test

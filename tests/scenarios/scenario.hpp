// SPDX-License-Identifier: Apache-2.0
// Scenarios: tables that tell a story of stock, one step a line, with the expected answer in the
// last column. Columns are parted by two or more spaces, # begins a comment.
//
//   receive  A        10                              units arrive; a new item is put on sale
//   set      A        limit 2, paused          ok     settings, see settings in scenario.cpp
//   reserve  r1       A 7, B@shop 1, customer c, ttl 60, confirm, replaces r0, key k, order o  held
//   confirm  r1       A 2, reserve again       confirmed
//   release  r1                                released
//   extend   r1       600                      held
//   return   r1       A 2, no restock, key k   returned
//   adjust   A        -3, damaged, allow short, key k       adjusted
//   adjust   A        set 12, expecting 10, correction      adjusted
//   count    A        4                        counted
//   expire   r1                                the time of the hold passes
//   show     r1                                expired
//   lines    r1       A 7 confirmed 2 returned 1
//   find     customer c, held                  r1 r2    in the order of their names
//   level    A        on_hand 10  reserved 4  available 6  short 1  version 3
//   ledger   A        received reserved released
//   audit
//
// "again" after an answer says that it is a replay. A refusal may name what is available, such as
// "insufficient_stock A 3, B 0"; without that, any number will do.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

struct step {
    std::size_t line = 0; // of the table, the first is 1
    std::string text;
    std::string verb;
    std::vector<std::string> columns; // behind the verb
};

// Throws std::invalid_argument when a line is none of the steps above.
[[nodiscard]] std::vector<step> parse_scenario(std::string_view table);

// Plays the table on every driver with names of its own, and ends with the audit.
void play(std::string_view table);

} // namespace holdfast::test

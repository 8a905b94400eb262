// SPDX-License-Identifier: Apache-2.0
// Names and passwords that mean the same, however they are typed.
#include "stock/text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace holdfast;

TEST_CASE("what is composed and what is not becomes one text")
{
    CHECK(to_nfc("cafe\u0301") == "caf\u00E9");
    CHECK(to_nfc("caf\u00E9") == "caf\u00E9");
    CHECK(to_nfc("") == "");
    CHECK_FALSE(to_nfc("\xFF"));
    CHECK_FALSE(to_nfc("\xED\xA0\x80"));
}

TEST_CASE("what has no shape of its own is found")
{
    for (auto const* text : {"An\u200Bna", "Anna\u200D", "\u202Eanna", "\u2066a", "An\u00ADna",
                             "\uFEFF", "a\nb", "\x7F"})
        CHECK(has_invisible(text));
    for (auto const* text :
         {"", "Anna", "Jos\u00E9 M\u00FCller", "\u674E\u660E", "O\u2019Brien", "\xFF"})
        CHECK_FALSE(has_invisible(text));
}

TEST_CASE("case does not count, in any script")
{
    CHECK(case_folded("ANNA") == case_folded("anna"));
    CHECK(case_folded("\u00C9va") == case_folded("E\u0301VA"));
    CHECK(case_folded("Stra\u00DFe") == case_folded("STRASSE"));
    CHECK(case_folded("\u03A3\u03AF\u03C3\u03C5\u03C6\u03BF\u03C2") ==
          case_folded("\u03A3\u038A\u03A3\u03A5\u03A6\u039F\u03A3"));
    CHECK(case_folded("anna") != case_folded("ann\u00E1"));
}

// SPDX-License-Identifier: Apache-2.0
// What may be the name of a thing on a shelf.
#include "stock/sku.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

namespace {

std::string repeated(std::string_view text, std::size_t times)
{
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

std::string fault(std::string_view text)
{
    return sku::fault_of(text).value_or("");
}

} // namespace

TEST_CASE("a SKU may be whatever a shop calls its goods")
{
    for (auto const* text : {"A", "TEE-M", "00123", "a/b?c#d", "100%", "'; DROP TABLE item; --",
                             "\"quoted\"", "a b", "Käse", "手袋-红", "👟-42", "👩‍👩‍👧",
                             "\xc2\xa9", "a\\b", "{}", "é", "ß", ".", "-"}) {
        CAPTURE(text);
        CHECK(fault(text) == "");
    }
}

TEST_CASE("a SKU is counted in characters, not in bytes")
{
    CHECK(fault(repeated("x", 100)) == "");
    CHECK(fault(repeated("é", 100)) == "");
    CHECK(fault(repeated("👟", 100)) == "");
    for (auto const* one : {"x", "é", "👟"})
        CHECK(fault(repeated(one, 101)) == "must have at most 100 characters");
}

TEST_CASE("a SKU is never empty and never has white space at its ends")
{
    CHECK(fault("") == "must not be empty");
    auto const* const ends = "must not begin or end with white space";
    for (auto const* text :
         {" ", " a", "a ", "\u00a0a", "a\u00a0", "\u2003a", "a\u3000", "\u2028", "a\u2029"}) {
        CAPTURE(text);
        CHECK(fault(text) == ends);
    }
    CHECK(fault("a\u00a0b") == "");
}

TEST_CASE("a SKU has no control characters, NUL among them")
{
    for (std::string_view const text :
         {std::string_view("a\0b", 3), std::string_view("\0", 1), std::string_view("a\nb"),
          std::string_view("\t"), std::string_view("a\r"), std::string_view("\x7f"),
          std::string_view("\u0085"), std::string_view("a\u009f")}) {
        CAPTURE(text);
        CHECK(fault(text) == "must not contain control characters");
    }
}

TEST_CASE("a SKU that is no UTF-8 is told so")
{
    for (auto const* text : {"\xff", "a\xc3", "\xc3\x28", "\xe2\x82", "\xed\xa0\x80", "\xc0\xaf",
                             "\xf4\x90\x80\x80", "\x80"}) {
        CAPTURE(text);
        CHECK(fault(text) == "must be valid UTF-8");
    }
}

TEST_CASE("what looks the same is written the same: only composed characters are taken")
{
    CHECK(fault("caf\u00e9") == "");
    for (auto const* text : {"cafe\u0301", "\u212b", "\u1100\u1161", "a\u0323\u0307\u0301"}) {
        CAPTURE(text);
        CHECK(fault(text) == "must be in Unicode normalisation form C (NFC)");
    }
}

TEST_CASE("SKUs that differ in anything are different, and sort by their bytes")
{
    std::vector<sku> const in_order{sku("00123"), sku("123"), sku("ABC"), sku("Abc"), sku("abc"),
                                    sku("abc "),  sku("é"),   sku("手"),  sku("👟")};
    for (std::size_t i = 1; i < in_order.size(); ++i)
        CHECK(in_order[i - 1] < in_order[i]);
    CHECK(sku("abc") == sku("abc"));
}

TEST_CASE("a location is a short lower-case word")
{
    CHECK(location().str() == "main");
    for (auto const* text : {"main", "0", "shop_2-back", "_", "-"})
        CHECK_FALSE(location::fault_of(text));
    CHECK_FALSE(location::fault_of(std::string(50, 'x')));
    for (auto const* text : {"", "Main", "a b", "é", "a.b", "a/b", " main", "main\n"}) {
        CAPTURE(text);
        CHECK(location::fault_of(text));
    }
    CHECK(location::fault_of(std::string(51, 'x')));
    CHECK(location::fault_of(std::string_view("a\0", 2)));
}

TEST_CASE("levels sort by SKU first, which is the order in which they are locked")
{
    level_key const a_main{sku("A"), location()};
    level_key const a_shop{sku("A"), location("shop")};
    level_key const b_attic{sku("B"), location("attic")};
    CHECK(a_main < a_shop);
    CHECK(a_shop < b_attic);
    CHECK(a_main == level_key{sku("A"), location("main")});
}

TEST_CASE("other text from outside is bounded in the same way")
{
    CHECK_FALSE(fault_of_text("", 0));
    CHECK_FALSE(fault_of_text(" a note ", 8));
    CHECK(fault_of_text("abc", 2) == "must have at most 2 characters");
    CHECK(fault_of_text("a\nb", 10) == "must not contain control characters");
    CHECK(fault_of_text("\xff", 10) == "must be valid UTF-8");
}

} // namespace holdfast

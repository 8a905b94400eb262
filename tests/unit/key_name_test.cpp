// SPDX-License-Identifier: Apache-2.0
// What a key may be called: the name stands in the ledger as whoever did it.
#include "service/api_keys.hpp"
#include "service/keeper.hpp"
#include "service/staff_accounts.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

using holdfast::api_keys::fault_of_name;

namespace {

std::string repeated(std::string_view text, int times)
{
    std::string all;
    for (int i = 0; i < times; ++i)
        all += text;
    return all;
}

} // namespace

TEST_CASE("a key's name has up to a hundred characters, whatever alphabet they are from")
{
    for (auto const& name :
         {std::string("till two"), std::string("Kasse Müller"), std::string(100, 'k'),
          repeated("é", 100), repeated("収", 100), repeated("😀", 100)})
        CHECK_MESSAGE(!fault_of_name(name), name);

    CHECK(fault_of_name("") == "must not be empty");
    for (auto const* const character : {"k", "é", "😀"})
        CHECK(fault_of_name(repeated(character, 101)) == "must have at most 100 characters");
}

TEST_CASE("a key's name is text that can be shown")
{
    for (auto const name :
         {std::string_view("a\nb"), std::string_view("\x1b[2J"), std::string_view("a\0b", 3),
          std::string_view("\x7F"), std::string_view("\xC2\x85")})
        CHECK(fault_of_name(name) == "must not contain control characters");
    for (auto const* const name : {"\xFF", "till \xC3", "\xC0\xAF", "\xED\xA0\x80"})
        CHECK(fault_of_name(name) == "must be valid UTF-8");
}

TEST_CASE("a key's name does not pass for another one, nor for the keeper")
{
    for (auto const* const name : {"ti\u200Bll", "\u202Ellit", "till\u2060"})
        CHECK(fault_of_name(name) == "must not contain invisible characters");
    for (auto const* const name : {"keeper", "Keeper", "staff:Anna"})
        CHECK(fault_of_name(name));
    CHECK_FALSE(fault_of_name("keeper of the till"));
}

TEST_CASE("a person's name does not pass for another one")
{
    for (auto const* const name : {"An\u200Bna", "Anna\u200D", "\u202EannA"})
        CHECK(holdfast::staff_accounts::fault_of_name(name) ==
              "must not contain invisible characters");
    for (auto const* const name : {"Anna", "Jos\u00E9 M\u00FCller", "keeper"})
        CHECK_FALSE(holdfast::staff_accounts::fault_of_name(name));
}

TEST_CASE("a key with a name nobody could read is not made, and the sentence says why")
{
    holdfast::config settings;
    settings.database_url = "postgresql://127.0.0.1:1/none"; // Never asked.
    std::ostringstream out;
    auto const make = [&](std::string const& name) {
        return holdfast::keeper::create_key(settings, holdfast::role::shop, name, out);
    };
    CHECK_THROWS_WITH_AS(make(""), "--name must not be empty", std::runtime_error);
    CHECK_THROWS_WITH_AS(make("a\tb"), "--name must not contain control characters",
                         std::runtime_error);
    CHECK(out.str().empty());
}

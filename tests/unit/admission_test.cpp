// SPDX-License-Identifier: Apache-2.0
// Who gets the units of levels that are locked.
#include "strategies/admission.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace holdfast {

namespace {

level_key const at_a{sku("A"), location()};
level_key const at_b{sku("B"), location()};
level_key const at_c{sku("C"), location()};

level_map shelf()
{
    return {{at_a, {5, 2, 7}}, {at_b, {1, 0, 1}}};
}

std::string which_fit(std::vector<taken> const& answers)
{
    std::string text;
    for (auto const& each : answers)
        text += each.fits ? 'y' : 'n';
    return text;
}

} // namespace

TEST_CASE("first come, first served, and each sees what the one before left")
{
    auto levels = shelf();
    std::vector<units_wanted> const wanted{{at_a, 1}, {at_a, 3}, {at_a, 2}, {at_b, 1}, {at_b, 1}};

    auto const answers = admit_in_order(levels, wanted);

    CHECK(which_fit(answers) == "ynyyn");
    CHECK(answers[0].after == stock_level{5, 3, 8});
    CHECK(answers[1] == taken{});
    CHECK(answers[2].after == stock_level{5, 5, 9});
    CHECK(answers[3].after == stock_level{1, 1, 2});
    CHECK(levels.at(at_a) == stock_level{5, 5, 9});
    CHECK(levels.at(at_b) == stock_level{1, 1, 2});
}

TEST_CASE("a level that is not there fits nobody and is not made")
{
    auto levels = shelf();
    CHECK(which_fit(admit_in_order(levels, std::vector<units_wanted>{{at_c, 1}, {at_b, 1}})) ==
          "ny");
    CHECK_FALSE(levels.contains(at_c));
}

TEST_CASE("nobody wants anything: nothing happens")
{
    auto levels = shelf();
    CHECK(admit_in_order(levels, {}).empty());
    CHECK(levels == shelf());
    CHECK(sums_of({}, {}).empty());
}

TEST_CASE("a short level gives nothing until it is made up")
{
    level_map levels{{at_a, {2, 5, 1}}};
    CHECK(which_fit(admit_in_order(levels, std::vector<units_wanted>{{at_a, 1}})) == "n");
    levels.at(at_a).on_hand = 6;
    CHECK(which_fit(admit_in_order(levels, std::vector<units_wanted>{{at_a, 2}, {at_a, 1}})) ==
          "ny");
}

TEST_CASE("what was admitted is summed by level, and refused entries count for nothing")
{
    auto levels = shelf();
    std::vector<units_wanted> const wanted{{at_b, 2}, {at_a, 1}, {at_a, 9}, {at_a, 2}, {at_c, 1}};

    auto const sums = sums_of(wanted, admit_in_order(levels, wanted));

    REQUIRE(sums.size() == 1);
    CHECK(sums[0].at == at_a);
    CHECK(sums[0].quantity == 3);
    CHECK(sums[0].entries == 2);
}

TEST_CASE("sums come in the order of locks")
{
    level_map levels{{at_a, {9, 0, 0}}, {at_b, {9, 0, 0}}, {at_c, {9, 0, 0}}};
    std::vector<units_wanted> const wanted{{at_c, 1}, {at_a, 1}, {at_b, 1}, {at_a, 1}};

    auto const sums = sums_of(wanted, admit_in_order(levels, wanted));

    REQUIRE(sums.size() == 3);
    CHECK(sums[0].at == at_a);
    CHECK(sums[0].entries == 2);
    CHECK(sums[1].at == at_b);
    CHECK(sums[2].at == at_c);
}

} // namespace holdfast

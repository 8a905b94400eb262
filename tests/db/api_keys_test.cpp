// SPDX-License-Identifier: Apache-2.0
// Who is let in, and what it costs to turn the others away.
#include "service/api_keys.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

// The door of a service, which counts how often it has to ask the database.
struct door {
    explicit door(migrated_database const& place) : link({.connection = place.connection_string()})
    {}

    std::optional<caller> let_in(std::string const& secret)
    {
        if (auto const known = keys.remembered(secret))
            return *known;
        ++looks;
        return keys.look_up(link, secret);
    }

    authenticator keys;
    db::link link;
    int looks = 0;
};

} // namespace

TEST_CASE("keys that somebody makes up do not get at the database, and keep nobody else out")
{
    migrated_database const place;
    workbench bench(place);
    door till(place);
    auto const mine = api_keys::create(bench.link, role::shop, "till");
    REQUIRE(till.let_in(mine));
    auto const began = steady_clock::now();

    for (int i = 0; i < 5000; ++i)
        CHECK_FALSE(till.let_in(unique("made-up-key")));

    auto const seconds = std::chrono::ceil<std::chrono::seconds>(steady_clock::now() - began);
    CHECK(till.looks <= 21 + 5 * seconds.count());
    CHECK(till.let_in(mine)->name == "till");

    // Among all those, one is new and right: it is let in with the next look.
    auto const fresh = api_keys::create(bench.link, role::viewer, "office");
    CHECK(eventually(5s, [&] {
        CHECK_FALSE(till.let_in(unique("made-up-key")));
        return till.let_in(fresh).has_value();
    }));
}

TEST_CASE("a key works as soon as it is made, and not for long once it is revoked")
{
    migrated_database const place;
    workbench bench(place);
    door till(place);
    for (auto const r : {role::viewer, role::shop, role::admin}) {
        auto const secret = api_keys::create(bench.link, r, std::string(to_string(r)));
        auto const who = till.let_in(secret);
        REQUIRE(who);
        CHECK(who->role == r);
        CHECK(who->name == to_string(r));
        // From memory from now on.
        auto const looks = till.looks;
        for (int i = 0; i < 100; ++i)
            CHECK(till.let_in(secret)->api_key_id == who->api_key_id);
        CHECK(till.looks == looks);

        CHECK(api_keys::revoke(bench.link, who->api_key_id));
        till.keys.refresh(till.link);
        CHECK_FALSE(till.let_in(secret));
    }
}

} // namespace holdfast::test

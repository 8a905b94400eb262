// SPDX-License-Identifier: Apache-2.0
// The large rehearsal: 50 000 requests of 200 clients on 10 000 units, by the command a shop would
// use, in every strategy.
#include "tests/cli/command.hpp"
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>

namespace holdfast::test {

TEST_CASE("of fifty thousand who want ten thousand units, ten thousand get one")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);

    for (std::string const strategy : strategies) {
        CAPTURE(strategy);
        auto const sku = front.item(10'000, {{"strategy", strategy}});
        auto const drill = run_holdfast(command_options{
            .arguments = {"drill", "--url", service.url(), "--key", service.admin_key(), "--sku",
                          sku, "--requests", "50000", "--clients", "200", "--json"},
            .deadline = std::chrono::seconds(540)});
        REQUIRE_MESSAGE(drill.status == 0, drill.err);
        auto const verdict = json::parse(drill.out);
        MESSAGE(strategy << ": " << verdict.at("rps").dump() << " requests a second, p99 "
                         << verdict.at("p99_ms").dump() << " ms");
        CHECK(verdict.at("requests") == 50'000);
        CHECK(verdict.at("succeeded") == 10'000);
        CHECK(verdict.at("refused") == 40'000);
        CHECK(verdict.at("failed") == 0);
        CHECK(verdict.at("oversold") == 0);
        CHECK(verdict.at("lost") == 0);
        CHECK(verdict.at("false_refusals") == 0);
        CHECK(verdict.at("audit").at("ok") == true);
        CHECK(front.level_of(sku) == level{.on_hand = 10'000, .reserved = 10'000, .available = 0});
    }
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// The search for items: what it finds, in which order, with its index and without.
#include "tests/support/database.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <string>

namespace holdfast::test {

namespace {

// The SKUs a search shows, page by page.
std::string found_by(shop& front, std::string const& query)
{
    std::string skus;
    std::string cursor;
    do {
        auto const page = front.get("/v1/stock?limit=2&q=" + query + "&cursor=" + cursor).json();
        for (auto const& item : page.at("data"))
            skus += item.at("sku").get<std::string>() + ' ';
        cursor = page.at("next_cursor").is_null() ? "" : page.at("next_cursor").get<std::string>();
    } while (!cursor.empty());
    return skus;
}

} // namespace

TEST_CASE("SKUs that begin with what is looked for come first, over all pages")
{
    database const db;
    service_process const service({.database_url = db.connection_string()});
    shop front(service);
    for (auto const* sku : {"A-MUGS", "B", "MUG-1", "MUG-2", "Mug-3", "Z-mug", "MU%G", "M_U"})
        front.put_item(sku, {{"on_hand", 1}, {"name", std::string(sku) == "B" ? "mug" : "x"}});
    CHECK(found_by(front, "mug") == "MUG-1 MUG-2 Mug-3 A-MUGS B Z-mug ");
    CHECK(found_by(front, "MUG-") == "MUG-1 MUG-2 Mug-3 ");
    CHECK(found_by(front, "mu%25") == "MU%G ");
    CHECK(found_by(front, "m_u") == "M_U ");
    CHECK(found_by(front, "mu") == "A-MUGS B MU%G MUG-1 MUG-2 Mug-3 Z-mug "); // too short for order
    CHECK(found_by(front, "nothing") == "");
    CHECK(front.get("/v1/stock?q=mug&low=true").json().at("data").empty());
}

TEST_CASE("the schema has the index of trigrams, and does without where it may not have it")
{
    migrated_database const place;
    auto session = place.session();
    CHECK(session.value("SELECT count(*) FROM pg_indexes WHERE indexname = 'item_search'") == "1");
    session.run("DROP INDEX item_search");
    workbench bench(place);
    auto const at = bench.item(1);
    auto const found =
        bench.catalogue.list(bench.link, {.q = at.sku.str(), .only_low = false, .after = {}});
    REQUIRE(found.size() == 1);
    CHECK(found[0].sku == at.sku);
}

} // namespace holdfast::test

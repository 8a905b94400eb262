// SPDX-License-Identifier: Apache-2.0
// A shop with a Redis in front of some of its items.
#pragma once

#include "tests/support/database.hpp"
#include "tests/support/redis_server.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace holdfast::test {

// What the reconciler may need to see a change, with a machine that is busy otherwise.
inline constexpr auto soon = std::chrono::seconds(10);

inline service_options options_with(database const& db, std::string const& redis_url)
{
    return {.database_url = db.connection_string(),
            .arguments = {},
            .environment = {{"HOLDFAST_REDIS_URL", redis_url}}};
}

// A shop whose database has a Redis beside it.
struct fast_stage {
    fast_stage() : service(options_with(db, server.url())), front(service) {}

    // An item with a fast path that is live.
    std::string item(std::int64_t on_hand, json settings = json::object(), int buckets = 1)
    {
        auto const sku = front.item(on_hand, std::move(settings));
        make_fast(front, sku, buckets);
        return sku;
    }

    static void make_fast(shop& till, std::string const& sku, int buckets)
    {
        auto const made = till.http().send({.method = "PUT",
                                            .target = "/v1/fast-path/" + sku,
                                            .body = json{{"buckets", buckets}}.dump()});
        REQUIRE(made.status == 200);
        REQUIRE(made.json().at("state") == "live");
    }

    json fast_path(std::string const& sku)
    {
        return json::parse(front.get("/v1/fast-path/" + sku).body);
    }

    // Whether Redis answers for the item, and has as many units to hand out.
    bool has(std::string const& sku, std::int64_t available)
    {
        auto const shown = fast_path(sku);
        return shown.at("state") == "live" && shown.at("available") == available &&
               shown.at("held") == 0;
    }

    // The item as GET /v1/stock/{sku} shows it.
    json item_shown(std::string const& sku) { return front.item_of(sku); }

    // How many requests Redis has refused.
    double refused()
    {
        auto const text = front.get("/metrics").body;
        std::string const name = "holdfast_fast_path_requests_total{verdict=\"refused\"} ";
        auto const at = text.find(name);
        return at == std::string::npos ? 0 : std::stod(text.substr(at + name.size()));
    }

    json reconcile(bool repair = false)
    {
        return json::parse(front.post("/v1/reconciliations", {{"repair", repair}}).body);
    }

    database db;
    redis_server server{{"--enable-debug-command", "local"}};
    service_process service;
    shop front;
};

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// What Redis has of an item, after it was mistreated.
#pragma once

#include "tests/support/shop.hpp"

#include <cstddef>
#include <map>
#include <string>

namespace holdfast::test {

// Whether Redis answers for the item.
inline bool is_live(shop& front, std::string const& sku)
{
    auto const shown = front.get("/v1/fast-path/" + sku);
    return shown.status == 200 && shown.json().at("state") == "live";
}

// Whether Redis answers for the item and has what PostgreSQL has, with nothing under way.
inline bool is_in_line(shop& front, std::string const& sku)
{
    auto const shown = front.get("/v1/fast-path/" + sku);
    return shown.status == 200 && shown.json().at("state") == "live" &&
           shown.json().at("held") == 0 &&
           shown.json().at("available") == front.level_of(sku).available;
}

// What the reconciliation says differs; "[]" when nothing does.
inline std::string differences(shop& front)
{
    return json::parse(front.post("/v1/reconciliations", json::object()).body)
        .at("differences")
        .dump();
}

// "3 x 503 overloaded, 1 x …"
inline std::string text_of(std::map<std::string, std::size_t> const& counts)
{
    std::string text;
    for (auto const& [what, times] : counts)
        text += (text.empty() ? "" : ", ") + std::to_string(times) + " x " + what;
    return text;
}

} // namespace holdfast::test

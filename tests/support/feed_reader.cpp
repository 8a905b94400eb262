// SPDX-License-Identifier: Apache-2.0
#include "tests/support/feed_reader.hpp"

#include "db/feed.hpp"
#include "db/transact.hpp"
#include "service/event_feed.hpp"
#include "tests/support/run_together.hpp"

#include <fmt/format.h>

#include <set>

namespace holdfast::test {

std::vector<json> read_feed(shop& front, std::string after, std::string const& query)
{
    std::vector<json> all;
    for (;;) {
        auto const answer = front.get("/v1/events?limit=200&after=" + after + query);
        if (answer.status != 200)
            throw std::runtime_error("the feed answered " + outcome(answer));
        auto const page = answer.json();
        for (auto const& each : page.at("data"))
            all.push_back(each);
        auto const next = page.at("next_after").get<std::string>();
        if (next == after)
            return all;
        after = next;
    }
}

std::string end_of_feed(shop& front)
{
    return front.get("/v1/events?after=now").json().at("next_after");
}

bool wait_until_told(shop& front, std::vector<std::string> const& skus)
{
    return eventually(std::chrono::seconds(30), [&] {
        for (auto const& sku : skus) {
            std::size_t told = 0;
            for (auto const& each : read_feed(front, "", "&sku=" + sku))
                told += each.at("type").get<std::string>().starts_with("reservation.") ||
                                each.at("type") == "stock.adjusted"
                            ? 1
                            : 0;
            if (told < front.movements(sku).size())
                return false;
        }
        return true;
    });
}

std::map<level_name, level> levels_told(std::vector<json> const& events)
{
    std::map<level_name, std::int64_t> versions;
    std::map<level_name, level> levels;
    for (auto const& e : events) {
        level_name const name(e.at("sku"), e.at("location"));
        auto const version = e.at("version").get<std::int64_t>();
        if (version < versions[name])
            continue;
        versions[name] = version;
        levels[name] = {e.at("on_hand"), e.at("reserved"),
                        e.at("on_hand").get<std::int64_t>() - e.at("reserved").get<std::int64_t>()};
    }
    return levels;
}

std::string types_of(std::vector<json> const& events)
{
    std::string types;
    for (auto const& e : events) {
        auto const type = e.at("type").get<std::string>();
        types += (types.empty() ? "" : " ") + type.substr(type.find('.') + 1);
    }
    return types;
}

std::string rebuild_differs(workbench& bench)
{
    constexpr std::size_t ids_max = 1000;
    auto const tell = [](db::transaction& tx) { return db::feed::tell_committed(tx, ids_max); };
    while (db::transact(bench.link, tell).value_or(0) > 0) {
    }
    event_feed const feed({});
    std::map<level_key, stock_level> rebuilt;
    std::set<std::string> ids;
    std::int64_t changes = 0;
    for (event_place place;;) {
        auto const page = feed.page(bench.link, place, {}, 200).value();
        for (auto const& e : page.events) {
            if (!ids.insert(e.id).second)
                return "told twice: " + e.id;
            auto& known = rebuilt[e.at];
            bool const is_edge = e.type >= event_type::low;
            if (e.after.version != known.version + (is_edge ? 0 : 1))
                return fmt::format("{} version {} came after {}", e.at.sku.str(), e.after.version,
                                   known.version);
            known = e.after;
            changes += is_edge ? 0 : 1;
        }
        place = page.next;
        if (page.is_at_end)
            break;
    }
    if (std::to_string(changes) != bench.sql.value("SELECT count(*) FROM movement"))
        return fmt::format("{} changes were told", changes);
    for (auto const& [at, level] : rebuilt)
        if (!(bench.row(at) == level))
            return at.sku.str() + " was rebuilt otherwise than it is";
    return {};
}

} // namespace holdfast::test

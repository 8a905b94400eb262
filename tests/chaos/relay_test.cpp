// SPDX-License-Identifier: Apache-2.0
// Processes that give events their places and deliver them, killed again and again: nothing that
// was committed stays untold.
#include "tests/support/database.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/hooks.hpp"
#include "tests/support/receiver.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/shop.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

constexpr int rounds = 100;

// Two services on one database, of which one is killed in the middle of a sale, and starts again.
class unlucky_pair {
public:
    explicit unlucky_pair(database const& db)
        : options_{.database_url = db.connection_string(),
                   .arguments = hook_arguments({"--webhook-retry-seconds", "0,0,1,1,1,1,1,1"})},
          services_{std::make_unique<service_process>(options_),
                    std::make_unique<service_process>(options_)}
    {}

    service_process& operator[](std::size_t i) { return *services_.at(i); }

    // Sells at the survivor, and at the victim as long as it lives.
    void lose(std::size_t victim, std::vector<std::string> const& skus, std::mt19937_64& luck)
    {
        auto const lives_ms = std::uniform_int_distribution<int>(1, 60)(luck);
        std::jthread const at_victim([&] { sell(*services_[victim], skus, 1000); });
        std::jthread const at_survivor([&] { sell(*services_[1 - victim], skus, 10); });
        std::this_thread::sleep_for(std::chrono::milliseconds(lives_ms)); // a moment, by chance
        services_[victim]->kill9();
    }

    void start_again(std::size_t victim)
    {
        services_[victim] = std::make_unique<service_process>(options_);
    }

private:
    static void sell(service_process const& service, std::vector<std::string> const& skus,
                     int count)
    {
        try {
            shop till(service);
            for (int n = 0; n < count; ++n) {
                auto const made = till.reserve(skus[static_cast<std::size_t>(n) % skus.size()]);
                if (made.status == 201 && n % 2 == 0)
                    till.confirm(id_of(made));
            }
        } catch (connection_lost const&) {
            return; // it was killed, as it should be
        }
    }

    service_options options_;
    std::array<std::unique_ptr<service_process>, 2> services_;
};

} // namespace

TEST_CASE("through a hundred kills of those who tell, everything committed is told, in order")
{
    database const db;
    receiver const office;
    unlucky_pair pair(db);
    std::vector<std::string> skus;
    {
        shop front(pair[0]);
        make_hook(front, {{"url", office.url()}});
        for (int i = 0; i < 8; ++i)
            skus.push_back(front.item(1'000'000));
    }
    std::mt19937_64 luck(seed());
    for (int round = 0; round < rounds; ++round) {
        auto const victim = static_cast<std::size_t>(luck() % 2);
        pair.lose(victim, skus, luck);
        pair.start_again(victim);
    }

    shop front(pair[0]);
    REQUIRE(wait_until_told(front, skus));
    auto const told = read_feed(front);
    std::set<std::string> ids;
    std::map<level_name, std::int64_t> versions;
    for (auto const& e : told) {
        CHECK(ids.insert(e.at("id")).second);
        auto& last = versions[{e.at("sku"), e.at("location")}];
        CHECK(e.at("version") == last + 1);
        last = e.at("version");
    }
    for (auto const& sku : skus)
        CHECK(levels_told(told).at({sku, "main"}) == front.level_of(sku));
    std::set<std::string> delivered;
    CHECK(eventually(60s, [&] {
        for (auto const& call : office.all())
            delivered.insert(call.header("webhook-id"));
        return delivered.size() >= ids.size();
    }));
    CHECK(delivered == ids);
    MESSAGE(ids.size(), " events in ", office.all().size(), " calls");
    CHECK(front.audit_ok());
}

} // namespace holdfast::test

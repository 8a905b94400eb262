// SPDX-License-Identifier: Apache-2.0
// A random day with several clerks at once: every promise holds and every unit is accounted for.
#include "db/error.hpp"
#include "tests/property/imagination.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

// Refusals that several clerks at once may meet. Whatever else comes is a fault.
bool is_fair(std::string_view word)
{
    static std::vector<std::string_view> const fair{"ok",
                                                    "insufficient_stock",
                                                    "customer_limit",
                                                    "already_confirmed",
                                                    "already_released",
                                                    "reservation_expired",
                                                    "unknown_sku",
                                                    "unknown_reservation",
                                                    "validation_failed",
                                                    "would_go_negative",
                                                    "would_be_short",
                                                    "precondition_failed"};
    return std::ranges::find(fair, word) != fair.end();
}

// Several clerks on the same few items. What each does is random; what they share is guarded.
class crowd {
public:
    crowd(migrated_database const& place, std::string mode, std::uint64_t start)
        : place_(place), mode_(std::move(mode)), start_(start)
    {
        workbench bench(place_);
        for (std::size_t i = 0; i < item_count; ++i) {
            auto const at = bench.item(30);
            levels_.push_back(at);
            levels_.push_back({at.sku, location("shop")});
        }
        auto limited = change_of(levels_[0].sku);
        limited.max_per_customer.emplace(6);
        (void)bench.catalogue.put(bench.link, limited).value();
        for (std::size_t i = 0; i < bench.strategies.names().size(); ++i) {
            auto other = change_of(levels_[2 * i + 2].sku);
            other.strategy.emplace(bench.strategies.names()[i]);
            (void)bench.catalogue.put(bench.link, other).value();
        }
    }

    // Returns the first unfair answer, or nothing.
    std::string work(std::size_t clerk, std::size_t steps)
    {
        workbench bench(place_, {.strategy = mode_});
        dice luck(start_ + 1000 * clerk + 1);
        imagination ideas{luck, levels_, {}, customers_};
        for (std::size_t i = 0; i < steps; ++i) {
            {
                std::scoped_lock const lock(mutex_);
                ideas.ids = ids_;
            }
            if (auto word = act(bench, luck, ideas); !is_fair(word))
                return word;
        }
        return {};
    }

    // Σ live holds = reserved, and what reads as free can be sold to the last unit.
    void check()
    {
        workbench bench(place_, {.strategy = mode_});
        REQUIRE(bench.audit_findings() == "");
        for (auto const& at : levels_) {
            units held = 0;
            for (auto const& r : bench.reservations
                                     .list(bench.link, {.state = reservation_state::held,
                                                       .sku = at.sku,
                                                       .customer = {},
                                                       .reference = {},
                                                       .before = {},
                                                       .limit = 100'000})
                                     .shown)
                for (auto const& line : r.lines)
                    held += line.at == at ? line.quantity : 0;
            stock_level seen;
            auto const item = bench.catalogue.show(bench.link, at.sku).value();
            for (auto const& each : item.levels)
                if (each.location == at.location)
                    seen = each.level;
            CHECK(seen.reserved == held);
            sell_out(bench, at, seen.available());
        }
        REQUIRE(bench.audit_findings() == "");
        REQUIRE(rebuild_differs(bench) == "");
    }

private:
    std::string act(workbench& bench, dice& luck, imagination& ideas)
    {
        switch (luck.pick(10)) {
        case 0:
        case 1:
        case 2:
        case 3: return reserve(bench, ideas.some_reserve());
        case 4: return word_of(bench.reservations.confirm(bench.link, ideas.some_confirm()));
        case 5: return word_of(bench.reservations.release(bench.link, {ideas.some_id(), "clerk"}));
        case 6:
            return word_of(
                bench.reservations.extend(bench.link, {ideas.some_id(), std::chrono::minutes(5)}));
        case 7:
            return word_of(bench.reservations.give_back(
                bench.link, {.key = new_key(),
                             .id = ideas.some_id(),
                             .actor = "clerk",
                             .lines = {{luck.of(levels_), luck.between(1, 3)}},
                             .restock = luck.chance(80)}));
        case 8: return word_of(bench.adjustments.adjust(bench.link, ideas.some_adjust()));
        default: bench.let_lapse(ideas.some_id()); return "ok";
        }
    }

    std::string reserve(workbench& bench, reserve_command const& c)
    {
        auto const answer = bench.reservations.reserve(bench.link, c);
        if (answer) {
            std::scoped_lock const lock(mutex_);
            ids_.push_back(answer->value.id);
        }
        return word_of(answer);
    }

    void sell_out(workbench& bench, level_key const& at, units free)
    {
        CAPTURE(at.sku.str());
        auto const customer = unique("customer");
        auto unlimited = change_of(at.sku);
        unlimited.max_per_customer.emplace(std::nullopt);
        (void)bench.catalogue.put(bench.link, unlimited).value();
        if (free > 0)
            CHECK(word_of(bench.reserve({{at, free}}, {.customer = customer})) == "ok");
        CHECK(word_of(bench.reserve({{at, 1}}, {.customer = customer})) == "insufficient_stock");
    }

    migrated_database const& place_;
    std::string mode_;
    std::uint64_t start_;
    std::vector<level_key> levels_;
    std::vector<std::string> customers_ = some_customers();
    std::mutex mutex_;
    std::vector<uuid> ids_;
};

} // namespace

TEST_CASE("whatever several clerks do at once, no promise is broken and no unit is lost")
{
    constexpr std::size_t clerks = 6;
    migrated_database const place;
    auto const modes = modes_under_test();
    auto const steps = std::max<std::size_t>(1, steps_wanted() / modes.size() / clerks / 2);
    for (std::size_t m = 0; m < modes.size(); ++m) {
        INFO("HOLDFAST_SEED=", seed(), ", ", modes[m]);
        crowd staff(place, modes[m], seed() + m);
        auto const unfair =
            run_together(clerks, [&](std::size_t i) { return staff.work(i, steps); });
        CHECK(unfair == std::vector<std::string>(clerks));
        staff.check();
    }
}

} // namespace holdfast::test

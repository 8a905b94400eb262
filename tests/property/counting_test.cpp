// SPDX-License-Identifier: Apache-2.0
// Shelves are counted while others sell, give back and correct: whatever comes between the moment
// of counting and applying stays, exactly.
#include "tests/property/imagination.hpp"
#include "tests/support/run_together.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

namespace {

// Entries of applied counts that did not do exactly what they are for: to begin from what the level
// was when it was counted, and to leave what was counted and everything that came after it. Nobody
// else has counted the level in between, and the ledger has one line for each difference.
constexpr std::string_view wrong_entries = R"(
    SELECT count(*)
      FROM stock_count_entry e
      JOIN stock_count c ON c.id = e.count_id
      LEFT JOIN movement seen ON (seen.sku, seen.location, seen.version)
                               = (e.sku, c.location, e.version)
      LEFT JOIN movement mine ON (mine.sku, mine.location, mine.version)
                               = (e.sku, c.location, e.applied_version)
     CROSS JOIN LATERAL (SELECT COALESCE(sum(m.on_hand_delta), 0) AS moved,
                                count(*) FILTER (WHERE m.kind = 'counted') AS counts
                           FROM movement m
                          WHERE m.sku = e.sku AND m.location = c.location
                            AND m.version > e.version AND m.version < e.applied_version) AS since
     WHERE e.on_hand <> COALESCE(seen.on_hand, 0)
        OR (c.state = 'applied' AND e.counted <> e.on_hand
            AND (mine.on_hand IS DISTINCT FROM e.counted + since.moved
                 OR mine.reference IS DISTINCT FROM 'count-' || c.id OR since.counts > 0))
        OR (SELECT count(*)
              FROM movement m
             WHERE m.sku = e.sku AND m.location = c.location AND m.reference = 'count-' || c.id)
           <> CASE WHEN c.state = 'applied' AND e.counted <> e.on_hand THEN 1 ELSE 0 END)";

// Some people on the same few shelves. What each does is random; what they share is guarded.
class shelves {
public:
    shelves(migrated_database const& place, std::uint64_t start) : place_(place), start_(start)
    {
        workbench bench(place_);
        for (int i = 0; i < 3; ++i)
            levels_.push_back(bench.item(40));
    }

    // Sells, gives back and corrects. Returns the first answer that was not to be expected.
    std::string trade(std::size_t who, std::size_t steps)
    {
        workbench bench(place_);
        dice luck(start_ + 1000 * who);
        std::vector<uuid> mine;
        for (std::size_t i = 0; i < steps; ++i) {
            auto const word = act(bench, luck, mine);
            if (word != "ok" && word != "insufficient_stock" && word != "already_confirmed" &&
                word != "already_released" && word != "validation_failed" &&
                word != "would_go_negative" && word != "would_be_short")
                return word;
        }
        return {};
    }

    // Opens counts, enters what it finds, and has them applied; anybody may apply anybody's.
    std::string count(std::size_t who, std::size_t rounds)
    {
        workbench bench(place_);
        dice luck(start_ + 1000 * who);
        for (std::size_t i = 0; i < rounds; ++i) {
            auto const id = open(bench);
            for (auto n = luck.between(1, 4); n > 0; --n)
                if (auto word = enter(bench, luck, id); word != "ok" && word != "count_closed")
                    return word;
            if (auto word = apply(bench, luck, luck.chance(70) ? id : some_count(luck));
                word != "ok" && word != "count_closed" && word != "precondition_failed" &&
                word != "would_go_negative")
                return word;
        }
        return {};
    }

    void check()
    {
        workbench bench(place_);
        CHECK(bench.sql.value(wrong_entries) == "0");
        // All of it has happened, or nothing was shown.
        CHECK(bench.sql.value("SELECT count(*) > 10 FROM stock_count_entry"
                              " WHERE applied_version > version + 1") == "t");
        CHECK(bench.audit_findings() == "");
    }

private:
    std::string act(workbench& bench, dice& luck, std::vector<uuid>& mine)
    {
        auto const& at = luck.of(levels_);
        auto const kind = mine.empty() ? 0 : luck.pick(8);
        if (kind <= 2) {
            auto const held = bench.reserve({{at, luck.between(1, 3)}});
            if (held)
                mine.push_back(held->value.id);
            return word_of(held);
        }
        auto const& id = luck.of(mine);
        if (kind <= 4)
            return word_of(
                bench.reservations.confirm(bench.link, {.id = id, .actor = "x", .lines = {}}));
        if (kind == 5)
            return word_of(bench.reservations.release(bench.link, {id, "x"}));
        if (kind == 6)
            return word_of(bench.reservations.give_back(
                bench.link, {.key = new_key(), .id = id, .actor = "x", .lines = {{at, 1}}}));
        auto change = correction_of(at);
        change.delta = luck.chance(70) ? luck.between(1, 9) : -luck.between(1, 4);
        change.reason = "correction";
        if (luck.chance(10)) { // whoever has counted the same level in vain hears of it
            change.delta.reset();
            change.set_to = luck.between(20, 60);
            change.reason = "count";
        }
        return word_of(bench.adjustments.adjust(bench.link, change));
    }

    uuid open(workbench& bench)
    {
        auto const id = bench.counts
                            .open(bench.link, {.key = new_key(),
                                               .by = {},
                                               .name = "shelf",
                                               .where = {},
                                               .sku_prefix = {},
                                               .skus = {},
                                               .note = {}})
                            ->value.count.id;
        std::scoped_lock const lock(mutex_);
        ids_.push_back(id);
        return id;
    }

    uuid some_count(dice& luck)
    {
        std::scoped_lock const lock(mutex_);
        return luck.of(ids_);
    }

    std::string enter(workbench& bench, dice& luck, uuid const& id)
    {
        auto const& at = luck.of(levels_);
        auto const found = std::max<units>(0, bench.row(at).on_hand + luck.between(-3, 3));
        return word_of(bench.counts.enter(bench.link, {new_key(), id, "x", {{at.sku, found, {}}}}));
    }

    // A shelf that moved on is counted once more, or not at all.
    std::string apply(workbench& bench, dice& luck, uuid const& id)
    {
        auto const first = word_of(bench.counts.apply(bench.link, id, {}));
        if (first == "ok" || first == "count_closed")
            return first;
        auto const shown = bench.counts.show(bench.link, id).value();
        for (auto const& entry : shown.entries) {
            std::optional<units> found;
            if (luck.chance(60))
                found = bench.row({entry.sku, location()}).on_hand + luck.between(0, 2);
            auto const word = word_of(
                bench.counts.enter(bench.link, {new_key(), id, "x", {{entry.sku, found, {}}}}));
            if (word != "ok")
                return word;
        }
        return word_of(bench.counts.apply(bench.link, id, {}));
    }

    migrated_database const& place_;
    std::uint64_t start_;
    std::vector<level_key> levels_;
    std::mutex mutex_;
    std::vector<uuid> ids_;
};

} // namespace

TEST_CASE("what is sold while a shelf is counted is neither lost nor counted twice")
{
    constexpr std::size_t counters = 3;
    constexpr std::size_t people = 7;
    INFO("HOLDFAST_SEED=", seed());
    migrated_database const place;
    shelves shop(place, seed());
    auto const rounds = std::max<std::size_t>(20, steps_wanted() / 80);
    auto const unfair = run_together(people, [&](std::size_t who) {
        return who < counters ? shop.count(who, rounds) : shop.trade(who, 6 * rounds);
    });
    CHECK(unfair == std::vector<std::string>(people));
    shop.check();
}

} // namespace holdfast::test

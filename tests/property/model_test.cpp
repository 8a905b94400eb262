// SPDX-License-Identifier: Apache-2.0
// A random day with one clerk: every answer and every number is what the model says. HOLDFAST_SEED
// repeats a run, HOLDFAST_MODEL_STEPS makes it longer.
#include "db/error.hpp"
#include "tests/property/imagination.hpp"
#include "tests/property/model.hpp"
#include "tests/support/feed_reader.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace holdfast::test {

namespace {

std::string shown(reservation_line const& l)
{
    return l.at.sku.str() + '@' + l.at.location.str() + ' ' + std::to_string(l.quantity) + ' ' +
           std::to_string(l.confirmed) + ' ' + std::to_string(l.returned) + ' ' +
           std::to_string(l.restocked);
}

std::string shown(reservation_state state, std::vector<reservation_line> const& lines)
{
    std::string text(to_string(state));
    for (auto const& l : lines)
        text += ", " + shown(l);
    return text;
}

std::string shown(stock_level const& l)
{
    return std::to_string(l.on_hand) + '/' + std::to_string(l.reserved);
}

// One clerk, one step after the other, with the model looking over the shoulder.
class trial {
public:
    trial(migrated_database const& place, std::string const& mode, std::uint64_t start)
        : bench_(place, {.strategy = mode, .open_holds_per_customer = holds_of_customer_max}),
          luck_(start), ideas_{luck_, {}, {}, some_customers()}
    {
        for (std::size_t i = 0; i < item_count; ++i)
            add_item();
    }

    void step()
    {
        using action = void (trial::*)();
        struct weighted {
            int weight;
            action act;
        };
        static std::vector<weighted> const actions{
            {30, &trial::reserve},      {4, &trial::repeat_reserve}, {16, &trial::confirm},
            {9, &trial::release},       {5, &trial::extend},         {8, &trial::lapse},
            {8, &trial::give_back},     {2, &trial::repeat_return},  {10, &trial::adjust},
            {2, &trial::repeat_adjust}, {4, &trial::change_rules},   {2, &trial::list},
            {1, &trial::reuse_keys},    {8, &trial::reserve_many},   {5, &trial::settle_many}};
        int sum = 0;
        for (auto const& each : actions)
            sum += each.weight;
        auto roll = luck_.between(1, sum);
        for (auto const& each : actions) {
            roll -= each.weight;
            if (roll <= 0)
                return (this->*each.act)();
        }
    }

    void check_all_levels()
    {
        for (auto const& at : model_.levels())
            check_level(at);
    }

    void check_audit() { REQUIRE(bench_.audit_findings() == ""); }

    // Whoever only knows the events knows every level.
    void check_feed() { REQUIRE(rebuild_differs(bench_) == ""); }

private:
    void add_item()
    {
        auto const on_hand = luck_.between(0, 20);
        auto const at = bench_.item(on_hand);
        model_.note_item(at, on_hand);
        ideas_.levels.push_back(at);
        ideas_.levels.push_back({at.sku, location("shop")});
    }

    // The answer has to be one of the words that are right.
    void expect(words const& right, std::string const& word)
    {
        INFO("answer: ", word, ", right: ", right.front());
        REQUIRE(std::ranges::find(right, word) != right.end());
    }

    void check_level(level_key const& at)
    {
        stock_level seen;
        if (auto const item = bench_.catalogue.show(bench_.link, at.sku))
            for (auto const& each : item->levels)
                if (each.location == at.location)
                    seen = each.level;
        INFO(at.sku.str(), '@', at.location.str());
        REQUIRE(shown(seen) == shown(model_.level(at)));
    }

    void check_hold(uuid const& id)
    {
        auto const found = model_.holds().find(id);
        auto const seen = bench_.reservations.show(bench_.link, id);
        REQUIRE(seen.has_value() == (found != model_.holds().end()));
        if (!seen)
            return;
        REQUIRE(shown(seen->state, seen->lines) == shown(found->second.state, found->second.lines));
        for (auto const& line : found->second.lines)
            check_level(line.at);
    }

    void check_answer(reservation const& answer)
    {
        auto const& expected = model_.holds().at(answer.id);
        REQUIRE(shown(answer.state, answer.lines) == shown(expected.state, expected.lines));
    }

    void reserve()
    {
        auto const c = ideas_.some_reserve();
        auto const right = model_.judge(c);
        auto const short_lines = right.front() == "insufficient_stock"
                                     ? model_.shortfalls(c)
                                     : std::vector<line_request>();
        auto const answer = bench_.reservations.reserve(bench_.link, c);
        expect(right, word_of(answer));
        if (!answer) {
            check_items(answer.error().items, short_lines);
            for (auto const& line : c.lines)
                check_level(line.at);
            return;
        }
        REQUIRE_FALSE(answer->is_replay);
        model_.note(c, answer->value.id);
        ideas_.ids.push_back(answer->value.id);
        reserves_.push_back({c, answer->value.id});
        check_answer(answer->value);
        check_hold(answer->value.id);
        if (c.supersedes)
            check_hold(*c.supersedes);
    }

    // Many in one transaction come to what they would come to one after the other.
    void reserve_many()
    {
        std::vector<reserve_command> all;
        for (auto n = luck_.between(2, 12); n > 0; --n)
            all.push_back(ideas_.some_reserve());
        if (luck_.chance(30))
            all.push_back(reserve_command(luck_.of(all))); // sent twice
        std::vector<reserve_command const*> asked;
        for (auto const& c : all)
            asked.push_back(&c);
        auto const answers = bench_.reservations.reserve(bench_.link, asked);
        REQUIRE(answers.size() == all.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            if (answers[i] && *answers[i])
                note_reserved(all[i], **answers[i]);
        for (std::size_t i = 0; i < all.size(); ++i)
            if (answers[i] && !*answers[i])
                check_refused(all[i], *answers[i]);
        for (std::size_t i = 0; i < all.size(); ++i)
            if (!answers[i])
                reserve_alone(all[i]);
        check_all_levels();
    }

    void note_reserved(reserve_command const& c, holdfast::outcome<reservation> const& made)
    {
        REQUIRE_FALSE(made.is_replay);
        expect(model_.judge(c), "ok");
        model_.note(c, made.value.id);
        ideas_.ids.push_back(made.value.id);
        reserves_.push_back({c, made.value.id});
        check_answer(made.value);
    }

    // Of two reasons to refuse the second may be told, when the first came up only later on.
    void check_refused(reserve_command const& c,
                       result<holdfast::outcome<reservation>> const& answer)
    {
        auto right = model_.judge(c);
        if (right.front() == "insufficient_stock" || right.front() == "customer_limit")
            right = {"insufficient_stock", "customer_limit"};
        expect(right, word_of(answer));
    }

    void reserve_alone(reserve_command const& c)
    {
        auto const first = std::ranges::find(reserves_, c.key.key,
                                             [](auto const& each) { return each.first.key.key; });
        auto const right = model_.judge(c);
        auto const answer = bench_.reservations.reserve(bench_.link, c);
        if (first != reserves_.end()) {
            expect({"ok"}, word_of(answer));
            REQUIRE(answer->is_replay);
            REQUIRE(answer->value.id == first->second);
            return;
        }
        expect(right, word_of(answer));
        if (answer)
            note_reserved(c, *answer);
    }

    // All of them about few reservations, so that they meet on some.
    void settle_many()
    {
        std::vector<settle_command> all;
        for (auto n = luck_.between(2, 10); n > 0; --n) {
            auto const roll = luck_.pick(10);
            if (roll < 5)
                all.emplace_back(ideas_.some_confirm());
            else if (roll < 8)
                all.emplace_back(release_command{ideas_.some_id(), "clerk"});
            else
                all.emplace_back(extend_command{ideas_.some_id(), std::chrono::hours(1)});
        }
        std::vector<settle_command const*> asked;
        for (auto const& c : all)
            asked.push_back(&c);
        auto const answers = bench_.reservations.settle(bench_.link, asked);
        REQUIRE(answers.size() == all.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            if (answers[i])
                std::visit([&](auto const& c) { check_settled(c, *answers[i]); }, all[i]);
        for (std::size_t i = 0; i < all.size(); ++i)
            if (!answers[i])
                std::visit(
                    [&](auto const& c) {
                        auto const right = judge(c);
                        auto const answer = bench_.reservations.settle(bench_.link, all[i]);
                        expect(right, word_of(answer));
                        if (answer)
                            note(c);
                    },
                    all[i]);
        check_all_levels();
    }

    [[nodiscard]] words judge(confirm_command const& c) const { return model_.judge(c); }
    [[nodiscard]] words judge(release_command const& c) const { return model_.judge_release(c.id); }
    [[nodiscard]] words judge(extend_command const& c) const { return model_.judge_extend(c.id); }

    void note(confirm_command const& c) { model_.note(c); }
    void note(release_command const& c) { model_.note_release(c.id); }
    void note(extend_command const&) {}

    template <class Command>
    void check_settled(Command const& c, result<reservation> const& answer)
    {
        expect(judge(c), word_of(answer));
        if (!answer)
            return;
        note(c);
        check_answer(*answer);
    }

    void check_items(std::vector<shortfall> const& items, std::vector<line_request> const& right)
    {
        REQUIRE(items.size() == right.size());
        for (std::size_t i = 0; i < items.size(); ++i) {
            REQUIRE(items[i].at == right[i].at);
            REQUIRE(items[i].available == right[i].quantity);
        }
    }

    void repeat_reserve()
    {
        if (reserves_.empty())
            return;
        auto const& [c, id] = luck_.of(reserves_);
        auto const answer = bench_.reservations.reserve(bench_.link, c);
        expect({"ok"}, word_of(answer));
        REQUIRE(answer->is_replay);
        REQUIRE(answer->value.id == id);
        check_answer(answer->value);
    }

    void confirm()
    {
        auto c = ideas_.some_confirm();
        auto const found = model_.holds().find(c.id);
        if (found != model_.holds().end() && luck_.chance(30))
            c.lines = part_of(found->second.lines, &reservation_line::quantity);
        auto const right = model_.judge(c);
        auto const answer = bench_.reservations.confirm(bench_.link, c);
        expect(right, word_of(answer));
        if (answer) {
            model_.note(c);
            check_answer(*answer);
        }
        check_hold(c.id);
    }

    // Some of some lines; now and then too much, or of another item.
    std::vector<line_request> part_of(std::vector<reservation_line> const& lines,
                                      units reservation_line::*most)
    {
        std::vector<line_request> part;
        for (auto const& line : lines)
            if (part.empty() || luck_.chance(50))
                part.push_back({line.at, luck_.between(1, std::max<units>(1, line.*most) +
                                                              (luck_.chance(10) ? 1 : 0))});
        if (luck_.chance(5))
            part.push_back({ideas_.some_level(), 1});
        return merged(std::move(part));
    }

    void release()
    {
        auto const id = ideas_.some_id();
        auto const right = model_.judge_release(id);
        auto const answer = bench_.reservations.release(bench_.link, {id, "clerk"});
        expect(right, word_of(answer));
        if (answer) {
            model_.note_release(id);
            check_answer(*answer);
        }
        check_hold(id);
    }

    void extend()
    {
        auto const id = ideas_.some_id();
        auto const answer = bench_.reservations.extend(bench_.link, {id, std::chrono::hours(1)});
        expect(model_.judge_extend(id), word_of(answer));
        check_hold(id);
    }

    void lapse()
    {
        auto const id = ideas_.some_id();
        if (!model_.holds().contains(id))
            return;
        bench_.let_lapse(id);
        model_.note_lapse(id);
        check_hold(id);
    }

    void give_back()
    {
        return_command c{.key = new_key(), .id = ideas_.some_id(), .actor = "clerk", .lines = {}};
        auto const found = model_.holds().find(c.id);
        c.lines = found == model_.holds().end()
                      ? ideas_.some_lines()
                      : part_of(found->second.lines, &reservation_line::confirmed);
        c.restock = luck_.chance(70);
        auto const right = model_.judge(c);
        auto const answer = bench_.reservations.give_back(bench_.link, c);
        expect(right, word_of(answer));
        if (answer) {
            REQUIRE_FALSE(answer->is_replay);
            model_.note(c);
            check_answer(answer->value);
            returns_.push_back(c);
        }
        check_hold(c.id);
    }

    void repeat_return()
    {
        if (returns_.empty())
            return;
        auto const& c = luck_.of(returns_);
        auto const answer = bench_.reservations.give_back(bench_.link, c);
        expect({"ok"}, word_of(answer));
        REQUIRE(answer->is_replay);
        check_answer(answer->value);
        check_hold(c.id);
    }

    void adjust()
    {
        auto const c = ideas_.some_adjust();
        auto const right = model_.judge(c);
        auto const before = model_.level(c.at).on_hand;
        auto const answer = bench_.adjustments.adjust(bench_.link, c);
        expect(right, word_of(answer));
        if (answer) {
            model_.note(c);
            adjusts_.push_back(c);
            REQUIRE(answer->value.entry.movement.on_hand_delta ==
                    model_.level(c.at).on_hand - before);
            check_adjustment(answer->value, c.at);
        }
        check_level(c.at);
    }

    void check_adjustment(adjustment const& a, level_key const& at)
    {
        auto const expected = model_.level(at);
        REQUIRE(shown(a.level.level) == shown(expected));
        std::vector<uuid> concerned;
        for (auto const& each : a.holds)
            concerned.push_back(each.reservation_id);
        auto const right = expected.short_by() > 0 ? model_.holds_on(at) : std::vector<uuid>();
        REQUIRE((concerned == right));
    }

    void repeat_adjust()
    {
        if (adjusts_.empty())
            return;
        auto const& c = luck_.of(adjusts_);
        auto const answer = bench_.adjustments.adjust(bench_.link, c);
        expect({"ok"}, word_of(answer));
        REQUIRE(answer->is_replay);
        check_adjustment(answer->value, c.at);
    }

    // A key that was used for one thing is good for nothing else, of its kind or of another.
    void reuse_keys()
    {
        if (reserves_.empty() || adjusts_.empty())
            return;
        auto r = luck_.of(reserves_).first;
        auto a = luck_.of(adjusts_);
        std::swap(r.key, a.key);
        expect({"idempotency_key_reused"}, word_of(bench_.reservations.reserve(bench_.link, r)));
        expect({"idempotency_key_reused"}, word_of(bench_.adjustments.adjust(bench_.link, a)));
        auto other = luck_.of(reserves_).first;
        other.key.fingerprint[0] ^= 1;
        expect({"idempotency_key_reused"},
               word_of(bench_.reservations.reserve(bench_.link, other)));
    }

    void change_rules()
    {
        auto const at = luck_.of(ideas_.levels);
        auto c = change_of(at.sku);
        auto& rules = model_.rules_of(at.sku);
        switch (luck_.pick(4)) {
        case 0: c.on_sale = rules.is_on_sale = luck_.chance(70); break;
        case 1:
            rules.max_per_customer =
                luck_.chance(50) ? std::optional<units>(luck_.between(2, 8)) : std::nullopt;
            c.max_per_customer.emplace(rules.max_per_customer);
            break;
        case 2: c.strategy.emplace(luck_.of(bench_.strategies.names())); break;
        default:
            c.on_hand = 5;
            expect({"validation_failed"}, word_of(bench_.catalogue.put(bench_.link, c)));
            return;
        }
        expect({"ok"}, word_of(bench_.catalogue.put(bench_.link, c)));
    }

    void list()
    {
        reservation_filter filter{
            .state = {}, .sku = {}, .customer = {}, .reference = {}, .before = {}, .limit = 10'000};
        if (luck_.chance(50))
            filter.customer = luck_.of(ideas_.customers);
        if (luck_.chance(50) || !filter.customer)
            filter.sku = luck_.of(ideas_.levels).sku;
        if (luck_.chance(70))
            filter.state = static_cast<reservation_state>(luck_.pick(4));
        std::vector<uuid> right;
        for (auto const& [id, h] : model_.holds()) {
            bool const has_sku = !filter.sku || std::ranges::any_of(h.lines, [&](auto const& l) {
                return l.at.sku == *filter.sku;
            });
            if (has_sku && (!filter.customer || h.customer == filter.customer) &&
                (!filter.state || h.state == filter.state))
                right.push_back(id);
        }
        std::ranges::reverse(right);
        std::vector<uuid> ids;
        for (auto const& r : bench_.reservations.list(bench_.link, filter).shown)
            ids.push_back(r.id);
        REQUIRE((ids == right));
    }

    workbench bench_;
    dice luck_;
    imagination ideas_;
    model model_{holds_of_customer_max};
    std::vector<std::pair<reserve_command, uuid>> reserves_;
    std::vector<return_command> returns_;
    std::vector<adjust_command> adjusts_;
};

} // namespace

TEST_CASE("whatever a clerk does, answers and numbers are those of the model")
{
    migrated_database const place;
    auto const modes = modes_under_test();
    auto const steps = std::max<std::size_t>(1, steps_wanted() / modes.size());
    for (std::size_t m = 0; m < modes.size(); ++m) {
        trial day(place, modes[m], seed() + m);
        for (std::size_t i = 0; i < steps; ++i) {
            INFO("HOLDFAST_SEED=", seed(), ", ", modes[m], ", step ", i);
            day.step();
            if (i % 200 == 199)
                day.check_all_levels();
        }
        INFO("HOLDFAST_SEED=", seed(), ", ", modes[m], ", after all steps");
        day.check_all_levels();
        day.check_audit();
        day.check_feed();
    }
}

} // namespace holdfast::test

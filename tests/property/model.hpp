// SPDX-License-Identifier: Apache-2.0
// What a shop expects of its stock, kept in memory in the plainest way: no locks, no ledger, no
// time but for holds that have lapsed. Random tests compare the use cases with it.
#pragma once

#include "service/adjustments.hpp"
#include "service/reservations.hpp"
#include "stock/reservation.hpp"
#include "stock/stock_level.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace holdfast::test {

// Answers that are right: "ok" or refusals with underscores. Mostly one.
using words = std::vector<std::string>;

class model {
public:
    struct rules {
        bool is_on_sale = true;
        std::optional<units> max_per_customer = {};
    };

    struct hold {
        reservation_state state = reservation_state::held;
        std::vector<reservation_line> lines;
        std::optional<std::string> customer;
        bool is_superseded = false;
    };

    // Open holds a customer may have at once; 0 = any number.
    explicit model(units open_holds_max) : open_holds_max_(open_holds_max) {}

    // What the use cases have to answer to a request that is no replay.
    [[nodiscard]] words judge(reserve_command const&) const;
    [[nodiscard]] words judge(confirm_command const&) const;
    [[nodiscard]] words judge(return_command const&) const;
    [[nodiscard]] words judge(adjust_command const&) const;
    [[nodiscard]] words judge_release(uuid const&) const;
    [[nodiscard]] words judge_extend(uuid const&) const;

    // The lines that a refusal for want of units has to name: what is asked and what is there.
    [[nodiscard]] std::vector<line_request> shortfalls(reserve_command const&) const;

    // What changes when they have answered "ok".
    void note(reserve_command const&, uuid const& id);
    void note(confirm_command const&);
    void note(return_command const&);
    void note(adjust_command const&);
    void note_release(uuid const&);
    void note_lapse(uuid const&);
    void note_item(level_key const&, units on_hand);

    [[nodiscard]] bool knows(sku const& s) const { return items_.contains(s); }
    [[nodiscard]] rules& rules_of(sku const& s) { return items_.at(s); }
    [[nodiscard]] std::map<uuid, hold> const& holds() const noexcept { return holds_; }
    [[nodiscard]] std::set<level_key> const& levels() const noexcept { return levels_; }

    // Version is left out: when lapsed holds are given up is nobody's business.
    [[nodiscard]] stock_level level(level_key const&) const;

    // Live holds on a level, oldest first.
    [[nodiscard]] std::vector<uuid> holds_on(level_key const&) const;

private:
    [[nodiscard]] units available(level_key const& at) const { return level(at).available(); }
    [[nodiscard]] units freed_by(std::optional<uuid> const&, level_key const&) const;
    [[nodiscard]] units had_by(std::string const& customer, sku const&,
                               std::optional<uuid> const& except) const;
    [[nodiscard]] units open_holds_of(std::string const& customer,
                                      std::optional<uuid> const& except) const;
    [[nodiscard]] std::string limit_word(std::optional<std::string> const& customer,
                                         std::vector<line_request> const&,
                                         std::optional<uuid> const& except) const;
    [[nodiscard]] bool are_held(hold const&, std::vector<line_request> const&) const;
    void give_up(hold&, reservation_state);

    units open_holds_max_;
    std::map<sku, rules> items_;
    std::set<level_key> levels_;
    std::map<level_key, units> on_hand_;
    std::map<level_key, units> reserved_;
    std::map<uuid, hold> holds_;
};

} // namespace holdfast::test

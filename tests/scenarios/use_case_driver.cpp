// SPDX-License-Identifier: Apache-2.0
// Plays scenarios on the use cases in this process.
#include "tests/scenarios/driver.hpp"
#include "tests/support/workbench.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast::test {

namespace {

template <class T>
reply refused(result<T> const& answer)
{
    return {.word = word_of(answer), .items = answer.error().items};
}

reply shown(result<reservation> const& answer)
{
    if (!answer)
        return refused(answer);
    return {.word = std::string(to_string(answer->state)), .id = answer->id};
}

std::string with_replay(std::string const& word, bool is_replay)
{
    return is_replay ? word + " again" : word;
}

// What tells two requests apart, as the service does it for the texts it is sent.
std::string text_of(std::vector<line_request> const& lines)
{
    std::string text;
    for (auto const& each : lines)
        text += each.at.sku.str() + '\n' + each.at.location.str() + '\n' +
                std::to_string(each.quantity) + '\n';
    return text;
}

class use_case_driver final : public driver {
public:
    use_case_driver(std::shared_ptr<migrated_database const> database, std::string mode)
        : database_(std::move(database)), mode_(std::move(mode)),
          bench_(*database_, {.strategy = mode_})
    {}

    std::string name() const override { return "the use cases with " + mode_; }

    reply put(put_item_command const& command) override
    {
        auto const answer = bench_.catalogue.put(bench_.link, command);
        if (!answer)
            return refused(answer);
        return {.word = "ok"};
    }

    reply adjust(adjust_command const& command) override
    {
        auto keyed = command;
        auto const number = [](auto const& n) { return n ? std::to_string(*n) : "-"; };
        keyed.key = key_for(command.key.key,
                            "adjust\n" + command.at.sku.str() + '\n' + command.at.location.str() +
                                '\n' + number(command.delta) + '\n' + number(command.set_to) +
                                '\n' + number(command.expect_on_hand) + '\n' + command.reason +
                                (command.allow_short ? "\nshort" : ""));
        auto const answer = bench_.adjustments.adjust(bench_.link, keyed);
        if (!answer)
            return refused(answer);
        reply given{.word = with_replay("adjusted", answer->is_replay)};
        for (auto const& each : answer->value.holds)
            given.concerned.push_back(each.reservation_id);
        return given;
    }

    reply reserve(reserve_command const& command) override
    {
        auto sorted = command;
        sorted.lines = merged(command.lines);
        sorted.key =
            key_for(command.key.key, "reserve\n" + command.customer.value_or("") + '\n' +
                                         command.reference.value_or("") + '\n' +
                                         std::to_string(command.ttl.count()) +
                                         (command.confirm_at_once ? "\nconfirm\n" : "\n") +
                                         (command.supersedes ? command.supersedes->str() : "") +
                                         '\n' + text_of(command.lines));
        auto const answer = bench_.reservations.reserve(bench_.link, sorted);
        if (!answer)
            return refused(answer);
        return {.word = with_replay(std::string(to_string(answer->value.state)), answer->is_replay),
                .id = answer->value.id};
    }

    reply confirm(confirm_command const& command) override
    {
        auto sorted = command;
        if (command.lines)
            sorted.lines = merged(*command.lines);
        return shown(bench_.reservations.confirm(bench_.link, sorted));
    }

    reply release(uuid const& id) override
    {
        return shown(bench_.reservations.release(bench_.link, {id, "clerk"}));
    }

    reply extend(uuid const& id, std::chrono::seconds ttl) override
    {
        return shown(bench_.reservations.extend(bench_.link, {id, ttl}));
    }

    reply give_back(return_command const& command) override
    {
        auto sorted = command;
        sorted.lines = merged(command.lines);
        sorted.key = key_for(command.key.key, "return\n" + command.id.str() +
                                                  (command.restock ? "\n" : "\nno restock\n") +
                                                  text_of(command.lines));
        auto const answer = bench_.reservations.give_back(bench_.link, sorted);
        if (!answer)
            return refused(answer);
        return {.word = with_replay("returned", answer->is_replay), .id = answer->value.id};
    }

    reply show_state(uuid const& id) override
    {
        return shown(bench_.reservations.show(bench_.link, id));
    }

    std::vector<reservation_line> lines_of(uuid const& id) override
    {
        return bench_.reservations.show(bench_.link, id).value().lines;
    }

    std::vector<uuid> list(reservation_filter const& filter) override
    {
        std::vector<uuid> ids;
        for (auto const& each : bench_.reservations.list(bench_.link, filter).shown)
            ids.push_back(each.id);
        return ids;
    }

    stock_level level(level_key const& at) override
    {
        auto const found = bench_.catalogue.show(bench_.link, at.sku).value();
        auto const here = std::ranges::find(found.levels, at.location, &level_at::location);
        if (here == found.levels.end())
            throw std::runtime_error("no level of " + at.sku.str() + " at " + at.location.str());
        return here->level;
    }

    std::vector<movement> ledger(level_key const& at) override
    {
        std::vector<movement> here;
        auto const all =
            bench_.catalogue.movements(bench_.link, {.sku = at.sku, .before = {}, .limit = 500});
        for (auto const& each : all.value())
            if (each.movement.at == at)
                here.push_back(each.movement);
        std::ranges::reverse(here);
        return here;
    }

    std::string audit_findings() override { return bench_.audit_findings(); }

    void let_lapse(uuid const& id) override { bench_.let_lapse(id); }

private:
    std::shared_ptr<migrated_database const> database_;
    std::string mode_;
    workbench bench_;
};

} // namespace

std::vector<std::unique_ptr<driver>> make_use_case_drivers()
{
    auto const database = std::make_shared<migrated_database const>();
    std::vector<std::unique_ptr<driver>> all;
    for (auto const& mode : modes_under_test())
        all.push_back(std::make_unique<use_case_driver>(database, mode));
    return all;
}

} // namespace holdfast::test

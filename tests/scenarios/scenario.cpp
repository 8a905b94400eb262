// SPDX-License-Identifier: Apache-2.0
#include "tests/scenarios/scenario.hpp"

#include "tests/scenarios/driver.hpp"
#include "tests/support/shop.hpp"
#include "tests/support/workbench.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace holdfast::test {

namespace {

using words = std::vector<std::string>;

std::string trimmed(std::string_view text)
{
    auto const first = text.find_first_not_of(' ');
    if (first == std::string_view::npos)
        return {};
    return std::string(text.substr(first, text.find_last_not_of(' ') - first + 1));
}

words split(std::string_view text, std::string_view separator)
{
    words parts;
    while (!text.empty()) {
        auto const end = std::min(text.find(separator), text.size());
        if (auto part = trimmed(text.substr(0, end)); !part.empty())
            parts.push_back(std::move(part));
        text.remove_prefix(std::min(end + separator.size(), text.size()));
    }
    return parts;
}

std::string joined(words const& parts, std::string_view separator)
{
    std::string text;
    for (auto const& part : parts)
        text += (text.empty() ? "" : std::string(separator)) + part;
    return text;
}

// How many columns a verb has, with the answer.
struct verb_form {
    std::string_view verb;
    std::size_t columns_min;
    std::size_t columns_max;
};

constexpr std::array<verb_form, 16> forms{{
    {"receive", 2, 3},
    {"set", 3, 3},
    {"reserve", 3, 3},
    {"confirm", 2, 3},
    {"release", 2, 2},
    {"extend", 3, 3},
    {"return", 3, 3},
    {"adjust", 3, 3},
    {"count", 3, 3},
    {"expire", 1, 1},
    {"show", 2, 2},
    {"lines", 2, 9},
    {"find", 2, 2},
    {"level", 2, 6},
    {"ledger", 2, 2},
    {"audit", 0, 0},
}};

// Part of a column, such as "A 7" or "no restock": its words.
using clause = words;

std::vector<clause> clauses_of(std::string const& column)
{
    std::vector<clause> all;
    for (auto const& part : split(column, ","))
        all.push_back(split(part, " "));
    return all;
}

bool is(clause const& c, std::string_view text)
{
    return joined(c, " ") == text;
}

// The word behind `name`, when the clause is about that.
std::optional<std::string> after(std::string_view name, clause const& c)
{
    if (c.size() == 2 && c[0] == name)
        return c[1];
    return std::nullopt;
}

[[noreturn]] void unknown_clause(clause const& c)
{
    throw std::invalid_argument("what is \"" + joined(c, " ") + "\"?");
}

timestamp from_now(std::string const& seconds)
{
    return std::chrono::time_point_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now()) +
           std::chrono::seconds(std::stoll(seconds));
}

// Plays one table on one driver. Names of the table become names nobody else has.
class story {
public:
    explicit story(driver& d) : driver_(d) {}

    // What came of a step, in the words the table expects it in.
    struct outcome {
        std::string got;
        std::string expected;
    };

    outcome play(step const& s)
    {
        auto const& c = s.columns;
        if (s.verb == "expire" || s.verb == "audit")
            return play_silent(s);
        if (s.verb == "level")
            return {level(c), joined({c.begin() + 1, c.end()}, "  ")};
        if (s.verb == "lines")
            return {lines(hold(c[0])), joined({c.begin() + 1, c.end()}, ", ")};
        if (s.verb == "ledger")
            return {ledger(level_of(c[0]), c[1]), c[1]};
        if (s.verb == "find")
            return {find(c[0]), c[1]};
        if (s.verb == "receive")
            return compare(receive(c), c.size() > 2 ? c[2] : "received");
        return compare(ask(s), c.back());
    }

private:
    outcome play_silent(step const& s)
    {
        if (s.verb == "audit")
            return {driver_.audit_findings(), ""};
        driver_.let_lapse(hold(s.columns[0]));
        return {};
    }

    reply ask(step const& s)
    {
        auto const& c = s.columns;
        if (s.verb == "set")
            return driver_.put(settings(sku_of(c[0]), clauses_of(c[1])));
        if (s.verb == "reserve")
            return reserve(c[0], clauses_of(c[1]));
        if (s.verb == "confirm")
            return confirm(hold(c[0]), c.size() > 2 ? clauses_of(c[1]) : std::vector<clause>());
        if (s.verb == "release")
            return driver_.release(hold(c[0]));
        if (s.verb == "extend")
            return driver_.extend(hold(c[0]), std::chrono::seconds(std::stoll(c[1])));
        if (s.verb == "return")
            return give_back(hold(c[0]), clauses_of(c[1]));
        if (s.verb == "adjust")
            return driver_.adjust(adjustment(level_of(c[0]), clauses_of(c[1])));
        if (s.verb == "count")
            return counted(c);
        return driver_.show_state(hold(c[0]));
    }

    reply receive(words const& c)
    {
        auto const at = level_of(c[0]);
        bool const is_new = !on_sale_.contains(at.sku);
        if (!is_new) {
            auto command = correction_of(at);
            command.delta = std::stoll(c[1]);
            command.reason = "received";
            auto answer = driver_.adjust(command);
            if (answer.word == "adjusted")
                answer.word = "received";
            return answer;
        }
        auto command = change_of(at.sku);
        command.on_hand = std::stoll(c[1]);
        command.location = at.location;
        auto answer = driver_.put(command);
        if (answer.word == "ok") {
            on_sale_[at.sku] = true;
            answer.word = "received";
        }
        return answer;
    }

    reply counted(words const& c)
    {
        auto command = correction_of(level_of(c[0]));
        command.set_to = std::stoll(c[1]);
        command.reason = "count";
        auto answer = driver_.adjust(command);
        if (answer.word == "adjusted")
            answer.word = "counted";
        return answer;
    }

    put_item_command settings(sku const& of, std::vector<clause> const& clauses)
    {
        auto command = change_of(of);
        for (auto const& c : clauses) {
            if (auto const limit = after("limit", c))
                command.max_per_customer.emplace(std::stoll(*limit));
            else if (is(c, "no limit"))
                command.max_per_customer.emplace(std::nullopt);
            else if (is(c, "paused"))
                command.on_sale = false;
            else if (is(c, "on sale"))
                command.on_sale = true;
            else if (auto const start = after("sale_starts", c))
                command.sale_starts_at.emplace(from_now(*start));
            else if (auto const end = after("sale_ends", c))
                command.sale_ends_at.emplace(from_now(*end));
            else if (is(c, "no sale_starts"))
                command.sale_starts_at.emplace(std::nullopt);
            else if (is(c, "no sale_ends"))
                command.sale_ends_at.emplace(std::nullopt);
            else if (auto const mode = after("strategy", c))
                command.strategy.emplace(*mode);
            else if (auto const on_hand = after("on_hand", c))
                command.on_hand = std::stoll(*on_hand);
            else
                unknown_clause(c);
        }
        return command;
    }

    reply reserve(std::string const& name, std::vector<clause> const& clauses)
    {
        reserve_command command;
        command.key = new_key();
        command.actor = "clerk";
        for (auto const& c : clauses) {
            if (auto const customer = after("customer", c))
                command.customer = unique_of(*customer);
            else if (auto const order = after("order", c))
                command.reference = unique_of(*order);
            else if (auto const key = after("key", c))
                command.key.key = unique_of(*key);
            else if (auto const ttl = after("ttl", c))
                command.ttl = std::chrono::seconds(std::stoll(*ttl));
            else if (auto const old = after("replaces", c))
                command.supersedes = hold(*old);
            else if (is(c, "confirm"))
                command.confirm_at_once = true;
            else
                command.lines.push_back(line(c));
        }
        auto answer = driver_.reserve(command);
        if (answer.id)
            name_hold(name, *answer.id);
        return answer;
    }

    reply confirm(uuid const& id, std::vector<clause> const& clauses)
    {
        confirm_command command{.id = id, .actor = "clerk", .lines = {}};
        for (auto const& c : clauses) {
            if (is(c, "reserve again")) {
                command.if_expired = if_expired::reserve_again;
                continue;
            }
            if (!command.lines)
                command.lines.emplace();
            command.lines->push_back(line(c));
        }
        return driver_.confirm(command);
    }

    reply give_back(uuid const& id, std::vector<clause> const& clauses)
    {
        return_command command{.key = new_key(), .id = id, .actor = "clerk", .lines = {}};
        for (auto const& c : clauses) {
            if (auto const key = after("key", c))
                command.key.key = unique_of(*key);
            else if (is(c, "no restock"))
                command.restock = false;
            else
                command.lines.push_back(line(c));
        }
        return driver_.give_back(command);
    }

    adjust_command adjustment(level_key const& at, std::vector<clause> const& clauses)
    {
        auto command = correction_of(at);
        for (auto const& c : clauses) {
            if (auto const wanted = after("set", c))
                command.set_to = std::stoll(*wanted);
            else if (auto const present = after("expecting", c))
                command.expect_on_hand = std::stoll(*present);
            else if (auto const key = after("key", c))
                command.key.key = unique_of(*key);
            else if (is(c, "allow short"))
                command.allow_short = true;
            else if (c.size() == 1 && (c[0][0] == '-' || c[0][0] == '+'))
                command.delta = std::stoll(c[0]);
            else if (std::ranges::find(adjustment_reasons, c[0]) != adjustment_reasons.end())
                command.reason = c[0];
            else
                unknown_clause(c);
        }
        return command;
    }

    std::string find(std::string const& column)
    {
        reservation_filter filter;
        for (auto const& c : clauses_of(column)) {
            if (auto const customer = after("customer", c))
                filter.customer = unique_of(*customer);
            else if (auto const order = after("order", c))
                filter.reference = unique_of(*order);
            else if (auto const item = after("sku", c))
                filter.sku = sku_of(*item);
            else if (auto const state = parse_reservation_state(c[0]))
                filter.state = *state;
            else
                unknown_clause(c);
        }
        words names;
        for (auto const& id : driver_.list(filter))
            names.push_back(name_of(id));
        // Newest first, but two of one millisecond come in either order.
        std::ranges::sort(names);
        return names.empty() ? "none" : joined(names, " ");
    }

    std::string level(words const& c)
    {
        auto const found = driver_.level(level_of(c[0]));
        std::map<std::string, std::int64_t> const numbers{{"on_hand", found.on_hand},
                                                          {"reserved", found.reserved},
                                                          {"available", found.available()},
                                                          {"short", found.short_by()},
                                                          {"version", found.version}};
        words shown;
        for (std::size_t i = 1; i < c.size(); ++i) {
            auto const what = split(c[i], " ").at(0);
            shown.push_back(what + ' ' + std::to_string(numbers.at(what)));
        }
        return joined(shown, "  ");
    }

    std::string lines(uuid const& id)
    {
        words shown;
        for (auto const& each : driver_.lines_of(id)) {
            auto text = name_of(each.at) + ' ' + std::to_string(each.quantity);
            if (each.confirmed > 0)
                text += " confirmed " + std::to_string(each.confirmed);
            if (each.returned > 0)
                text += " returned " + std::to_string(each.returned);
            shown.push_back(std::move(text));
        }
        std::ranges::sort(shown);
        return joined(shown, ", ");
    }

    // The kinds of movements, or "balanced"; what is wrong with the chain, if anything is.
    std::string ledger(level_key const& at, std::string const& expected)
    {
        stock_level sum;
        words kinds;
        for (auto const& m : driver_.ledger(at)) {
            sum.on_hand += m.on_hand_delta;
            sum.reserved += m.reserved_delta;
            ++sum.version;
            if (m.after != sum)
                return "broken at version " + std::to_string(m.after.version);
            kinds.emplace_back(to_string(m.kind));
        }
        auto const now = driver_.level(at);
        if (now.on_hand != sum.on_hand || now.version != sum.version)
            return "another sum than the level";
        return expected == "balanced" ? expected : joined(kinds, " ");
    }

    outcome compare(reply const& answer, std::string const& expected)
    {
        words items;
        for (auto const& item : answer.items)
            items.push_back(name_of(item.at) + ' ' + std::to_string(item.available));
        for (auto const& id : answer.concerned)
            items.push_back("concerns " + name_of(id));
        auto const full = joined({answer.word, joined(items, ", ")}, items.empty() ? "" : " ");
        return {expected == answer.word ? expected : full, expected};
    }

    line_request line(clause const& c)
    {
        if (c.size() != 2 || std::isupper(static_cast<unsigned char>(c[0][0])) == 0)
            unknown_clause(c);
        return {level_of(c[0]), std::stoll(c[1])};
    }

    sku sku_of(std::string const& name)
    {
        return skus_.try_emplace(name, sku(unique(name))).first->second;
    }

    // "A" stands for A@main.
    level_key level_of(std::string const& name)
    {
        auto const at = name.find('@');
        if (at == std::string::npos)
            return {sku_of(name), location()};
        return {sku_of(name.substr(0, at)), location(name.substr(at + 1))};
    }

    std::string name_of(level_key const& at) const
    {
        for (auto const& [name, found] : skus_)
            if (found == at.sku)
                return at.location == location() ? name : name + '@' + at.location.str();
        return "a strange " + at.sku.str();
    }

    // A name nobody has given is the name of no reservation.
    uuid hold(std::string const& name)
    {
        return holds_.try_emplace(name, uuid::make_v7()).first->second;
    }

    void name_hold(std::string const& name, uuid const& id) { holds_[name] = id; }

    // Of several names, which replays lead to, the first.
    std::string name_of(uuid const& id) const
    {
        for (auto const& [name, found] : holds_)
            if (found == id)
                return name;
        return "a strange one";
    }

    std::string unique_of(std::string const& name)
    {
        return uniques_.try_emplace(name, unique(name)).first->second;
    }

    driver& driver_;
    std::map<std::string, sku> skus_;
    std::map<sku, bool> on_sale_;
    std::map<std::string, uuid> holds_;
    std::map<std::string, std::string> uniques_;
};

// Started when the first scenario is played, stopped when the last one is over, while a service
// that does not stop cleanly can still fail the run.
class stage final : public doctest::IReporter {
public:
    explicit stage(doctest::ContextOptions const&) {}

    static std::vector<std::unique_ptr<driver>> const& drivers()
    {
        auto& all = the_drivers();
        if (all.empty()) {
            all = make_use_case_drivers();
            all.push_back(make_http_driver());
        }
        return all;
    }

    void test_run_end(doctest::TestRunStats const&) override { the_drivers().clear(); }

    void report_query(doctest::QueryData const&) override {}
    void test_run_start() override {}
    void test_case_start(doctest::TestCaseData const&) override {}
    void test_case_reenter(doctest::TestCaseData const&) override {}
    void test_case_end(doctest::CurrentTestCaseStats const&) override {}
    void test_case_exception(doctest::TestCaseException const&) override {}
    void subcase_start(doctest::SubcaseSignature const&) override {}
    void subcase_end() override {}
    void log_assert(doctest::AssertData const&) override {}
    void log_message(doctest::MessageData const&) override {}
    void test_case_skipped(doctest::TestCaseData const&) override {}

private:
    static std::vector<std::unique_ptr<driver>>& the_drivers()
    {
        static std::vector<std::unique_ptr<driver>> all;
        return all;
    }
};

REGISTER_LISTENER("stage", 1, stage);

} // namespace

std::vector<step> parse_scenario(std::string_view table)
{
    std::vector<step> steps;
    std::istringstream in{std::string(table)};
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        auto const text = trimmed(std::string_view(line).substr(0, line.find('#')));
        if (text.empty())
            continue;
        auto columns = split(text, "  ");
        auto const form = std::ranges::find(forms, columns[0], &verb_form::verb);
        auto const count = columns.size() - 1;
        if (form == forms.end() || count < form->columns_min || count > form->columns_max)
            throw std::invalid_argument("line " + std::to_string(number) + ": " + text);
        auto verb = std::move(columns.front());
        columns.erase(columns.begin());
        steps.push_back({number, text, std::move(verb), std::move(columns)});
    }
    if (steps.empty())
        throw std::invalid_argument("a scenario without steps");
    return steps;
}

void play(std::string_view table)
{
    auto const steps = parse_scenario(table);
    for (auto const& way : stage::drivers()) {
        INFO("played on ", way->name());
        story told(*way);
        for (auto const& each : steps) {
            INFO("line ", each.line, ": ", each.text);
            auto const came = told.play(each);
            CHECK(came.got == came.expected);
        }
        CHECK(way->audit_findings() == "");
    }
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
// Plays scenarios over HTTP on the real binary.
#include "stock/percent.hpp"
#include "tests/scenarios/driver.hpp"
#include "tests/support/http_client.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/workbench.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace holdfast::test {

namespace {

using nlohmann::json;

json to_json(std::vector<line_request> const& lines)
{
    auto list = json::array();
    for (auto const& each : lines)
        list.push_back({{"sku", each.at.sku.str()},
                        {"quantity", each.quantity},
                        {"location", each.at.location.str()}});
    return list;
}

// A member that a change names: null when it takes the setting away.
template <class T, class Text>
void set(json& body, char const* name, std::optional<std::optional<T>> const& member, Text text)
{
    if (member)
        body[name] = *member ? json(text(**member)) : json(nullptr);
}

json to_json(put_item_command const& command)
{
    auto const as_it_is = [](auto const& value) { return value; };
    auto body = json::object();
    set(body, "name", command.name, as_it_is);
    set(body, "sale_starts_at", command.sale_starts_at, to_rfc3339);
    set(body, "sale_ends_at", command.sale_ends_at, to_rfc3339);
    set(body, "max_per_customer", command.max_per_customer, as_it_is);
    set(body, "low_stock_at", command.low_stock_at, as_it_is);
    set(body, "strategy", command.strategy, as_it_is);
    if (command.on_sale)
        body["on_sale"] = *command.on_sale;
    if (command.on_hand)
        body["on_hand"] = *command.on_hand;
    if (command.location)
        body["location"] = command.location->str();
    return body;
}

json to_json(adjust_command const& command)
{
    json body{{"location", command.at.location.str()}, {"reason", command.reason}};
    if (command.delta)
        body["delta"] = *command.delta;
    if (command.set_to) {
        body["set_to"] = *command.set_to;
        body["expect_on_hand"] =
            command.expect_on_hand ? json(*command.expect_on_hand) : json(nullptr);
    }
    if (command.allow_short)
        body["allow_short"] = true;
    return body;
}

json to_json(reserve_command const& command)
{
    json body{{"lines", to_json(command.lines)}, {"ttl_seconds", command.ttl.count()}};
    if (command.customer)
        body["customer"] = *command.customer;
    if (command.reference)
        body["reference"] = *command.reference;
    if (command.confirm_at_once)
        body["confirm"] = true;
    if (command.supersedes)
        body["supersedes"] = command.supersedes->str();
    return body;
}

[[noreturn]] void strange(http_response const& answer)
{
    throw std::runtime_error("strange answer: " + std::to_string(answer.status) + ' ' +
                             answer.body.substr(0, 500));
}

// A refusal is a problem with a code and a status that fit what was asked, and nothing else.
reply refused(http_response const& answer)
{
    if (answer.status < 400 || answer.status >= 500 ||
        answer.header("content-type").value_or("").find("application/problem+json") != 0)
        strange(answer);
    auto const problem = answer.json();
    if (problem.at("status") != answer.status || problem.at("request_id").empty())
        strange(answer);
    std::string word = problem.at("code");
    std::ranges::replace(word, '-', '_');
    reply given{.word = word};
    for (auto const& item : problem.value("items", json::array()))
        given.items.push_back({{sku(item.at("sku").get<std::string>()),
                                location(item.at("location").get<std::string>())},
                               item.at("requested"),
                               item.at("available")});
    return given;
}

uuid id_in(json const& body, char const* member = "id")
{
    return uuid::parse(body.at(member).get<std::string>()).value();
}

bool is_replay(http_response const& answer)
{
    return answer.header("idempotent-replayed") == "true";
}

class http_driver final : public driver {
public:
    http_driver()
        : service_(
              {.database_url = database_.connection_string(), .environment = strategy_setting()}),
          http_(service_.port(), service_.admin_key()), bench_(database_)
    {}

    std::string name() const override { return "HTTP"; }

    reply put(put_item_command const& command) override
    {
        auto const answer = http_.send(
            {.method = "PUT", .target = path_of(command.sku), .body = to_json(command).dump()});
        if (answer.status != 200 && answer.status != 201)
            return refused(answer);
        return {.word = "ok"};
    }

    reply adjust(adjust_command const& command) override
    {
        auto const answer =
            post(path_of(command.at.sku) + "/adjustments", to_json(command), command.key.key);
        if (answer.status != 201)
            return refused(answer);
        auto const body = answer.json();
        reply given{.word = is_replay(answer) ? "adjusted again" : "adjusted"};
        for (auto const& each : body.value("holds", json::array()))
            given.concerned.push_back(id_in(each, "reservation_id"));
        (void)checked(body.at("level"));
        return given;
    }

    reply reserve(reserve_command const& command) override
    {
        auto const answer = post("/v1/reservations", to_json(command), command.key.key);
        if (answer.status != 201)
            return refused(answer);
        auto given = shown(answer, 201);
        if (answer.header("location") != "/v1/reservations/" + given.id->str())
            strange(answer);
        return given;
    }

    reply confirm(confirm_command const& command) override
    {
        auto body = json::object();
        if (command.lines)
            body["lines"] = to_json(*command.lines);
        if (command.if_expired == if_expired::reserve_again)
            body["if_expired"] = "reserve_again";
        return shown(post(path_of(command.id) + "/confirm", body), 200);
    }

    reply release(uuid const& id) override
    {
        return shown(http_.send({.method = "POST", .target = path_of(id) + "/release"}), 200);
    }

    reply extend(uuid const& id, std::chrono::seconds ttl) override
    {
        return shown(post(path_of(id) + "/extend", {{"ttl_seconds", ttl.count()}}), 200);
    }

    reply give_back(return_command const& command) override
    {
        json body{{"lines", to_json(command.lines)}};
        if (!command.restock)
            body["restock"] = false;
        auto given = shown(post(path_of(command.id) + "/returns", body, command.key.key), 201);
        if (given.word.starts_with("confirmed"))
            given.word.replace(0, 9, "returned");
        return given;
    }

    reply show_state(uuid const& id) override
    {
        return shown(http_.send({.target = path_of(id)}), 200);
    }

    std::vector<reservation_line> lines_of(uuid const& id) override
    {
        std::vector<reservation_line> lines;
        auto const shown_now = get(path_of(id));
        for (auto const& each : shown_now.at("lines"))
            lines.push_back({.at = {sku(each.at("sku").get<std::string>()),
                                    location(each.at("location").get<std::string>())},
                             .quantity = each.at("quantity"),
                             .confirmed = each.at("confirmed"),
                             .returned = each.at("returned")});
        return lines;
    }

    std::vector<uuid> list(reservation_filter const& filter) override
    {
        std::string query = "limit=200";
        if (filter.state)
            query += "&state=" + std::string(to_string(*filter.state));
        if (filter.sku)
            query += "&sku=" + percent_encoded(filter.sku->str());
        if (filter.customer)
            query += "&customer=" + percent_encoded(*filter.customer);
        if (filter.reference)
            query += "&reference=" + percent_encoded(*filter.reference);
        std::vector<uuid> ids;
        auto const page = get("/v1/reservations?" + query);
        for (auto const& each : page.at("data"))
            ids.push_back(id_in(each));
        return ids;
    }

    stock_level level(level_key const& at) override
    {
        auto const item = get(path_of(at.sku));
        for (auto const& each : item.at("levels"))
            if (each.at("location") == at.location.str())
                return checked(each);
        throw std::runtime_error("no level of " + at.sku.str() + " at " + at.location.str());
    }

    std::vector<movement> ledger(level_key const& at) override
    {
        std::vector<movement> here;
        auto const page = get(path_of(at.sku) + "/movements?limit=200");
        for (auto const& each : page.at("data"))
            if (each.at("location") == at.location.str())
                here.push_back(
                    {.at = at,
                     .kind = kind_of(each.at("kind")),
                     .on_hand_delta = each.at("on_hand_delta"),
                     .reserved_delta = each.at("reserved_delta"),
                     .after = {each.at("on_hand"), each.at("reserved"), each.at("version")}});
        std::ranges::reverse(here);
        return here;
    }

    std::string audit_findings() override
    {
        auto const report = get("/v1/audit");
        return report.at("ok") == true ? "" : report.dump();
    }

    void let_lapse(uuid const& id) override { bench_.let_lapse(id); }

private:
    // The service takes units in the mode under test, where there is one.
    static std::vector<std::pair<std::string, std::string>> strategy_setting()
    {
        auto const modes = modes_under_test();
        return {{"HOLDFAST_STRATEGY", modes.size() == 1 ? modes[0] : "conditional_update"}};
    }

    static std::string path_of(sku const& item)
    {
        return "/v1/stock/" + percent_encoded(item.str());
    }
    static std::string path_of(uuid const& id) { return "/v1/reservations/" + id.str(); }

    static movement_kind kind_of(std::string const& name)
    {
        auto const found = std::ranges::find(movement_kind_names, name);
        if (found == movement_kind_names.end())
            throw std::runtime_error("no kind of movement: " + name);
        return static_cast<movement_kind>(found - movement_kind_names.begin());
    }

    http_response post(std::string const& target, json const& body, std::string const& key = {})
    {
        http_request request{.method = "POST", .target = target, .body = body.dump()};
        if (!key.empty())
            request.headers.emplace_back("Idempotency-Key", key);
        return http_.send(request);
    }

    json get(std::string const& target)
    {
        auto const answer = http_.send({.target = target});
        if (answer.status != 200)
            strange(answer);
        return answer.json();
    }

    static reply shown(http_response const& answer, int status)
    {
        if (answer.status != status)
            return refused(answer);
        auto const body = answer.json();
        auto word = body.at("state").get<std::string>();
        return {.word = is_replay(answer) ? word + " again" : word, .id = id_in(body)};
    }

    // A level whose numbers say the same thing in each of their ways.
    static stock_level checked(json const& shown)
    {
        stock_level const found{shown.at("on_hand"), shown.at("reserved"), shown.at("version")};
        if (shown.at("available") != std::max<units>(0, found.available()) ||
            shown.value("short", units{0}) != found.short_by())
            throw std::runtime_error("a level that contradicts itself: " + shown.dump());
        return found;
    }

    migrated_database database_;
    service_process service_;
    http_client http_;
    workbench bench_;
};

} // namespace

std::unique_ptr<driver> make_http_driver()
{
    return std::make_unique<http_driver>();
}

} // namespace holdfast::test

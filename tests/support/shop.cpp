// SPDX-License-Identifier: Apache-2.0
#include "tests/support/shop.hpp"

#include "stock/percent.hpp"
#include "tests/support/run_together.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <ostream>
#include <random>
#include <stdexcept>

namespace holdfast::test {

namespace {

using namespace std::chrono_literals;

json to_json(std::vector<line> const& lines)
{
    auto list = json::array();
    for (auto const& each : lines)
        list.push_back(
            {{"sku", each.sku}, {"quantity", each.quantity}, {"location", each.location}});
    return list;
}

void expect(http_response const& answer, int status)
{
    if (answer.status != status)
        throw std::runtime_error("expected " + std::to_string(status) + ", got " + outcome(answer) +
                                 ": " + answer.body.substr(0, 500));
}

std::string path_of(std::string_view sku)
{
    return "/v1/stock/" + percent_encoded(sku);
}

} // namespace

std::ostream& operator<<(std::ostream& out, level const& shown)
{
    return out << "on hand " << shown.on_hand << ", reserved " << shown.reserved << ", available "
               << shown.available;
}

shop::shop(service_process const& service) : http_(service.port(), service.admin_key()) {}

std::string shop::item(std::int64_t on_hand, json settings)
{
    auto sku = unique("SKU");
    settings["on_hand"] = on_hand;
    expect(put_item(sku, settings), 201);
    return sku;
}

http_response shop::put_item(std::string_view sku, json const& settings)
{
    return http_.send({.method = "PUT", .target = path_of(sku), .body = settings.dump()});
}

http_response shop::reserve(std::vector<line> const& lines, json more)
{
    more["lines"] = to_json(lines);
    return post("/v1/reservations", more);
}

http_response shop::reserve(std::string const& sku, std::int64_t quantity)
{
    return reserve({{sku, quantity}});
}

std::string shop::hold(std::vector<line> const& lines, json more)
{
    auto const answer = reserve(lines, std::move(more));
    expect(answer, 201);
    return id_of(answer);
}

http_response shop::confirm(std::string const& id, json const& body)
{
    return post_text("/v1/reservations/" + id + "/confirm", body.is_null() ? "" : body.dump());
}

http_response shop::release(std::string const& id)
{
    return post_text("/v1/reservations/" + id + "/release", "");
}

http_response shop::extend(std::string const& id, std::int64_t ttl_seconds)
{
    return post("/v1/reservations/" + id + "/extend", {{"ttl_seconds", ttl_seconds}});
}

http_response shop::give_back(std::string const& id, std::vector<line> const& lines, json more)
{
    more["lines"] = to_json(lines);
    return post("/v1/reservations/" + id + "/returns", more);
}

http_response shop::adjust(std::string_view sku, json const& body)
{
    return post(path_of(sku) + "/adjustments", body);
}

http_response shop::import_csv(std::string_view mode, std::string csv)
{
    return http_.send(
        {.method = "POST",
         .target = "/v1/imports?mode=" + std::string(mode),
         .body = std::move(csv),
         .headers = {{"Content-Type", "text/csv"}, {"Idempotency-Key", unique("key")}}});
}

http_response shop::get(std::string const& target)
{
    return http_.send({.target = target});
}

http_response shop::post(std::string const& target, json const& body)
{
    return post_text(target, body.dump());
}

http_response shop::post_text(std::string const& target, std::string body)
{
    return http_.send({.method = "POST",
                       .target = target,
                       .body = std::move(body),
                       .headers = {{"Idempotency-Key", unique("key")}}});
}

level shop::level_of(std::string_view sku)
{
    auto const shown = item_of(sku);
    return {.on_hand = shown.at("on_hand"),
            .reserved = shown.at("reserved"),
            .available = shown.at("available")};
}

json shop::item_of(std::string_view sku)
{
    auto const answer = get(path_of(sku));
    expect(answer, 200);
    return answer.json();
}

json shop::reservation(std::string const& id)
{
    auto const answer = get("/v1/reservations/" + id);
    expect(answer, 200);
    return answer.json();
}

std::vector<json> shop::reservations(std::string const& query)
{
    return pages("/v1/reservations?" + query);
}

std::vector<json> shop::movements(std::string_view sku)
{
    auto lines = pages(path_of(sku) + "/movements?");
    std::reverse(lines.begin(), lines.end());
    return lines;
}

level shop::ledger_of(std::string_view sku)
{
    level sum;
    for (auto const& movement : movements(sku)) {
        sum.on_hand += movement.at("on_hand_delta").get<std::int64_t>();
        sum.reserved += movement.at("reserved_delta").get<std::int64_t>();
    }
    sum.available = sum.on_hand - sum.reserved;
    return sum;
}

std::vector<json> shop::pages(std::string const& target)
{
    std::vector<json> entries;
    std::string cursor;
    do {
        auto const answer = get(target + "&limit=200" + cursor);
        expect(answer, 200);
        auto const page = answer.json();
        for (auto const& entry : page.at("data"))
            entries.push_back(entry);
        auto const& next = page.at("next_cursor");
        cursor = next.is_null() ? "" : "&cursor=" + percent_encoded(next.get<std::string>());
    } while (!cursor.empty());
    return entries;
}

void shop::wait_until_expired(std::string const& id)
{
    if (!eventually(10s, [&] { return reservation(id).at("state") == "expired"; }))
        throw std::runtime_error("the hold never expired: " + reservation(id).dump());
}

bool shop::audit_ok()
{
    auto const answer = get("/v1/audit");
    expect(answer, 200);
    auto const report = answer.json();
    if (report.at("ok") != true || !report.at("violations").empty())
        throw std::runtime_error("the audit found: " + report.dump().substr(0, 2000));
    return true;
}

std::vector<shop> shops(service_process const& service, std::size_t n)
{
    std::vector<shop> tills;
    tills.reserve(n);
    for (std::size_t i = 0; i < n; ++i)
        tills.emplace_back(service).http().connect();
    return tills;
}

std::string outcome(http_response const& answer)
{
    auto text = std::to_string(answer.status);
    if (answer.status >= 400) {
        auto const problem = json::parse(answer.body, nullptr, false);
        text += ' ' + (problem.is_object() ? problem.value("code", "without a code")
                                           : std::string("without a problem"));
    }
    return text;
}

std::string tally(std::vector<http_response> const& answers)
{
    std::map<std::string, int> counts;
    for (auto const& answer : answers)
        ++counts[outcome(answer)];
    std::string text;
    for (auto const& [kind, times] : counts)
        text += (text.empty() ? "" : ", ") + std::to_string(times) + " x " + kind;
    return text;
}

std::size_t count(std::vector<http_response> const& answers, std::string_view wanted_outcome)
{
    return static_cast<std::size_t>(
        std::count_if(answers.begin(), answers.end(),
                      [&](auto const& answer) { return outcome(answer) == wanted_outcome; }));
}

std::string id_of(http_response const& answer)
{
    return answer.json().at("id");
}

std::int64_t available_in(http_response const& refusal, std::string_view sku)
{
    auto const problem = refusal.json();
    for (auto const& entry : problem.value("items", json::array()))
        if (entry.at("sku") == sku)
            return entry.at("available");
    throw std::runtime_error("the refusal does not mention " + std::string(sku) + ": " +
                             refusal.body.substr(0, 500));
}

std::string pointers_in(http_response const& refusal)
{
    auto const problem = json::parse(refusal.body, nullptr, false);
    std::string text;
    if (problem.is_object())
        for (auto const& error : problem.value("errors", json::array()))
            text += (text.empty() ? "" : " ") + error.value("pointer", "no-pointer");
    return text;
}

instant to_instant(std::string const& text)
{
    int year = 0;
    unsigned month = 0;
    unsigned day = 0;
    int hour = 0;
    int minute = 0;
    int second = 0;
    int micro = 0;
    int end = 0;
    // Microseconds to six digits and a Z, and nothing behind it.
    auto const fields = std::sscanf(text.c_str(), "%4d-%2u-%2uT%2d:%2d:%2d.%6dZ%n", &year, &month,
                                    &day, &hour, &minute, &second, &micro, &end);
    if (fields != 7 || end != 27 || text.size() != 27)
        throw std::runtime_error("not a time of the API's shape: " + text);
    std::chrono::sys_days const midnight{std::chrono::year(year) / std::chrono::month(month) /
                                         std::chrono::day(day)};
    return midnight + std::chrono::hours(hour) + std::chrono::minutes(minute) +
           std::chrono::seconds(second) + std::chrono::microseconds(micro);
}

std::string unique(std::string_view prefix)
{
    // No name becomes the next one by a little damage.
    static std::atomic<std::uint64_t> count{0};
    auto const n = ++count;
    return std::string(prefix) + '-' + std::to_string(n) + '-' +
           std::to_string(std::mt19937_64(seed() + n)() % 100'000'000);
}

std::uint64_t seed()
{
    static std::uint64_t const value = [] {
        auto const* wish = std::getenv("HOLDFAST_SEED");
        return wish != nullptr ? std::strtoull(wish, nullptr, 10) : std::random_device{}();
    }();
    return value;
}

} // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "service/customer_limits.hpp"

#include "service/idempotency.hpp"

#include <fmt/format.h>

#include <map>

namespace holdfast {

namespace {

std::map<std::string, units> limited_skus(limit_check const& check)
{
    std::map<std::string, units> limited;
    for (auto const& l : check.limits)
        if (l.max_per_customer)
            limited.emplace(l.sku, *l.max_per_customer);
    return limited;
}

void refuse(limit_verdict& v, std::string why, db::reservations::counted const& had)
{
    v = {refusal{.code = errc::customer_limit, .detail = std::move(why)}, had.due > 0};
}

// How many holds each customer has open, for the checks that have a cap on them.
std::vector<limit_verdict> keep_hold_caps(db::transaction& tx, std::span<limit_check const> checks)
{
    std::vector<limit_verdict> verdicts(checks.size());
    std::vector<std::string> customers;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < checks.size(); ++i)
        if (checks[i].customer && checks[i].open_holds_max > 0) {
            customers.push_back(*checks[i].customer);
            places.push_back(i);
        }
    if (customers.empty())
        return verdicts;
    auto const open = db::reservations::open_holds(tx, customers);
    for (std::size_t n = 0; n < places.size(); ++n) {
        auto const most = checks[places[n]].open_holds_max;
        if (open.at(n).all >= most)
            refuse(verdicts[places[n]],
                   fmt::format("This customer has {} open reservations already.", most), open[n]);
    }
    return verdicts;
}

units wanted_of(limit_check const& check, std::string const& sku)
{
    units sum = 0;
    for (auto const& line : check.lines)
        if (line.at.sku.str() == sku)
            sum += line.quantity;
    return sum;
}

void keep_sku_limits(db::transaction& tx, std::span<limit_check const> checks,
                     std::span<limit_verdict> verdicts)
{
    struct question {
        std::size_t place;
        units limit;
    };
    std::vector<db::reservations::customer_item> asked;
    std::vector<question> questions;
    for (std::size_t i = 0; i < checks.size(); ++i)
        if (checks[i].customer && verdicts[i].kept)
            for (auto const& [sku, limit] : limited_skus(checks[i])) {
                asked.push_back({*checks[i].customer, sku, checks[i].apart_from});
                questions.push_back({i, limit});
            }
    if (asked.empty())
        return;
    auto const had = db::reservations::units_of_customers(tx, asked);
    for (std::size_t n = 0; n < asked.size(); ++n) {
        auto const& [place, limit] = questions[n];
        auto const wanted = wanted_of(checks[place], asked[n].sku);
        if (verdicts[place].kept && had.at(n).all + wanted > limit)
            refuse(verdicts[place],
                   fmt::format("A customer may have {} of {}; this one has {} and asks for {}.",
                               limit, asked[n].sku, had[n].all, wanted),
                   had[n]);
    }
}

} // namespace

bool is_limited(limit_check const& check)
{
    return check.customer && (check.open_holds_max > 0 || !limited_skus(check).empty());
}

void lock_customers(db::transaction& tx, std::span<limit_check const> checks)
{
    std::vector<std::int64_t> numbers;
    for (auto const& check : checks)
        if (is_limited(check))
            numbers.push_back(idempotency::lock_number("customer", *check.customer));
    if (!numbers.empty())
        db::reservations::lock_customers(tx, numbers);
}

result<void> require_customer(limit_check const& check)
{
    auto const limited = limited_skus(check);
    if (!limited.empty() && !check.customer)
        return refusal{.code = errc::validation_failed,
                       .detail = "An item with a limit per customer needs to know the customer.",
                       .errors = {{"/customer", "is required for " + limited.begin()->first}}};
    return {};
}

std::vector<limit_verdict> keep_limits(db::transaction& tx, std::span<limit_check const> checks)
{
    lock_customers(tx, checks);
    auto verdicts = keep_hold_caps(tx, checks);
    keep_sku_limits(tx, checks, verdicts);
    return verdicts;
}

} // namespace holdfast

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

result<void> keep_sku_limits(db::transaction& tx, limit_check const& check,
                             std::map<std::string, units> const& limited)
{
    std::map<std::string, units> wanted;
    std::vector<std::string> skus;
    for (auto const& line : check.lines)
        wanted[line.at.sku.str()] += line.quantity;
    for (auto const& [sku, limit] : limited)
        skus.push_back(sku);
    std::map<std::string, units> had;
    for (auto const& used :
         db::reservations::units_of_customer(tx, *check.customer, skus, check.apart_from))
        had[used.sku] = used.count;
    for (auto const& [sku, limit] : limited)
        if (had[sku] + wanted[sku] > limit)
            return refusal{.code = errc::customer_limit,
                           .detail = fmt::format(
                               "A customer may have {} of {}; this one has {} and asks for {}.",
                               limit, sku, had[sku], wanted[sku])};
    return {};
}

} // namespace

void lock_customer(db::transaction& tx, limit_check const& check)
{
    bool const is_limited = check.open_holds_max > 0 || !limited_skus(check).empty();
    if (check.customer && is_limited)
        db::reservations::lock_customer(tx, idempotency::lock_number("customer", *check.customer));
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

result<void> keep_limits(db::transaction& tx, limit_check const& check)
{
    auto const limited = limited_skus(check);
    if (!check.customer || (limited.empty() && check.open_holds_max == 0))
        return {};

    lock_customer(tx, check);
    if (check.open_holds_max > 0 &&
        db::reservations::open_holds(tx, *check.customer) >= check.open_holds_max)
        return refusal{.code = errc::customer_limit,
                       .detail = fmt::format("This customer has {} open reservations already.",
                                             check.open_holds_max)};
    if (limited.empty())
        return {};
    return keep_sku_limits(tx, check, limited);
}

} // namespace holdfast

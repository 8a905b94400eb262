// SPDX-License-Identifier: Apache-2.0
// What reservations share, and reading them. Reserving is in reserving.cpp, the rest in
// settling.cpp.
#include "service/reservations.hpp"

#include "db/reservations.hpp"
#include "db/transact.hpp"
#include "service/settlement.hpp"

namespace holdfast {

reservations::reservations(strategy_registry const& strategies, reservation_settings settings,
                           metrics& m)
    : strategies_(strategies), settings_(std::move(settings)), metrics_(m)
{}

result<reservation> reservations::show(db::link& link, uuid const& id) const
{
    auto found = db::read(link, db::scope::snapshot,
                          [&](db::transaction& tx) { return db::reservations::by_id(tx, id); });
    if (!found)
        return unknown_reservation(id);
    return as_it_stands(std::move(*found));
}

reservation_page reservations::list(db::link& link, reservation_filter const& filter) const
{
    db::reservations::filter const f{.state = filter.state,
                                     .sku = filter.sku ? std::optional(filter.sku->str())
                                                       : std::nullopt,
                                     .customer = filter.customer,
                                     .reference = filter.reference,
                                     .before = filter.before,
                                     .limit = filter.limit};
    auto found = db::read(link, db::scope::snapshot,
                          [&](db::transaction& tx) { return db::reservations::list(tx, f); });
    reservation_page page{.shown = {}, .next = found.next};
    for (auto& each : found.shown)
        page.shown.push_back(as_it_stands(std::move(each)));
    return page;
}

} // namespace holdfast

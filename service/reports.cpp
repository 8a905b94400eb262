// SPDX-License-Identifier: Apache-2.0
#include "service/reports.hpp"

#include "db/transact.hpp"
#include "sql/reports.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::reports {

namespace {

constexpr std::size_t items_looked_max = 1000;

// The sums of the first `limit` SKUs, and the last of these when there are more.
movement_page cut(std::vector<movement_sum> found, std::size_t limit)
{
    std::size_t skus = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        bool const is_next = i == 0 || found[i].sku != found[i - 1].sku;
        if (is_next && ++skus > limit) {
            auto next = found[i - 1].sku;
            found.resize(i);
            return {std::move(found), std::move(next)};
        }
    }
    return {std::move(found), std::nullopt};
}

} // namespace

low_stock_page low_stock(db::link& link, low_stock_query const& query)
{
    return db::read(link, db::scope::snapshot, [&](db::transaction& tx) {
        low_stock_page page{.shown = tx.many<low_item>(sql::reports::low_stock, query.after,
                                                       items_looked_max, query.limit + 1),
                            .next = {}};
        if (page.shown.size() > query.limit) {
            page.shown.pop_back();
            page.next = page.shown.back().sku;
        } else {
            page.next =
                tx.maybe<std::string>(sql::reports::low_stock_edge, query.after, items_looked_max);
        }
        return page;
    });
}

held_longest_page held_longest(db::link& link, held_longest_query const& query)
{
    return db::read(link, db::scope::snapshot, [&](db::transaction& tx) {
        held_longest_page page{.shown = tx.many<old_hold>(sql::reports::held_longest,
                                                          query.after.value_or(uuid()),
                                                          open_lines_max, query.limit + 1),
                               .next = {}};
        auto const open = tx.one<std::int64_t>(sql::reports::open_lines, open_lines_max + 1);
        page.is_complete = open <= static_cast<std::int64_t>(open_lines_max);
        if (page.shown.size() > query.limit) {
            page.shown.pop_back();
            page.next = page.shown.back().id;
        }
        return page;
    });
}

result<movement_page> movements(db::link& link, movement_query const& query)
{
    return db::read(link, db::scope::snapshot, [&](db::transaction& tx) -> result<movement_page> {
        if (tx.one<std::int64_t>(sql::reports::movements, query.since, query.until,
                                 movements_max + 1) > static_cast<std::int64_t>(movements_max))
            return refusal{.code = errc::validation_failed,
                           .detail = "The period has too many movements.",
                           .errors = {{"/query/from", fmt::format("must begin a period of at most "
                                                                  "{} movements: choose a shorter "
                                                                  "one",
                                                                  movements_max)}}};
        if (query.by == grouping::by_reason)
            return movement_page{
                tx.many<movement_sum>(sql::reports::sums_by_reason, query.since, query.until), {}};
        return cut(tx.many<movement_sum>(sql::reports::sums_by_sku, query.since, query.until,
                                         query.after, query.limit + 1),
                   query.limit);
    });
}

} // namespace holdfast::reports

// SPDX-License-Identifier: Apache-2.0
#include "service/reports.hpp"

#include "db/transact.hpp"
#include "sql/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

namespace holdfast::reports {

namespace {

constexpr std::size_t items_looked_max = 1000;
constexpr int pages_of_file_max = 100;

refusal too_much(std::string_view of, std::size_t max)
{
    return {.code = errc::validation_failed,
            .detail = fmt::format("The period has too many {}.", of),
            .errors = {{"/query/from",
                        fmt::format("must begin a period of at most {} {}: choose a shorter one",
                                    max, of)}}};
}

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

low_stock_page low_stock_file(db::link& link, low_stock_query const& query)
{
    low_stock_page file{.shown = {}, .next = query.after};
    auto rest = query;
    for (int i = 0; i < pages_of_file_max && file.next && rest.limit > 0; ++i) {
        auto page = low_stock(link, rest);
        std::ranges::move(page.shown, std::back_inserter(file.shown));
        file.next = std::move(page.next);
        rest.after = file.next.value_or("");
        rest.limit = query.limit - file.shown.size();
    }
    return file;
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
            return too_much("movements", movements_max);
        auto sums = query.by == grouping::by_reason
                        ? tx.many<movement_sum>(sql::reports::sums_by_reason, query.since,
                                                query.until, sums_max + 1)
                        : tx.many<movement_sum>(sql::reports::sums_by_sku, query.since, query.until,
                                                query.after, query.limit + 1, sums_max + 1);
        if (sums.size() > sums_max)
            return too_much("sums", sums_max);
        if (query.by == grouping::by_reason)
            return movement_page{std::move(sums), {}};
        return cut(std::move(sums), query.limit);
    });
}

} // namespace holdfast::reports

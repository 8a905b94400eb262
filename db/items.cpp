// SPDX-License-Identifier: Apache-2.0
#include "db/items.hpp"

#include "sql/items.hpp"

#include <algorithm>

namespace holdfast::db::items {

namespace {

struct columns {
    explicit columns(std::span<row const> rows)
    {
        for (auto const& r : rows) {
            skus.push_back(r.sku);
            names.push_back(r.name);
            on_sales.push_back(to_text(r.on_sale));
            sale_starts.push_back(r.sale_starts_at);
            sale_ends.push_back(r.sale_ends_at);
            maxima.push_back(r.max_per_customer);
            lows.push_back(r.low_stock_at);
            strategies.push_back(r.strategy);
            admissions.push_back(r.admission);
            pools.push_back(r.admission_pool);
            ttls.push_back(r.admission_ttl_seconds);
        }
    }

    std::vector<std::string> skus, on_sales;
    std::vector<std::optional<std::string>> names, strategies, admissions;
    std::vector<std::optional<timestamp>> sale_starts, sale_ends;
    std::vector<std::optional<units>> maxima, lows;
    std::vector<units> pools, ttls;
};

// A pattern for ILIKE that finds what begins with the text itself.
std::string beginning_with(std::string_view part)
{
    std::string pattern;
    for (auto const c : part) {
        if (c == '%' || c == '_' || c == '\\')
            pattern += '\\';
        pattern += c;
    }
    return pattern + '%';
}

// Whether the index can tell anything: of fewer than three characters it knows nothing, and what is
// so short is soon met on the way through all SKUs.
bool has_trigram(std::string_view part)
{
    return 3 <= std::ranges::count_if(
                    part, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

} // namespace

std::vector<row> by_skus(transaction& tx, std::vector<std::string> const& skus)
{
    return tx.many<row>(sql::items::by_skus, skus);
}

std::vector<row> lock(transaction& tx, std::vector<std::string> const& skus)
{
    return tx.many<row>(sql::items::lock, skus);
}

std::optional<timestamp> made_at(transaction& tx, sku const& s)
{
    return tx.maybe<timestamp>(sql::items::made_at, s);
}

std::int64_t insert(transaction& tx, std::span<row const> rows)
{
    columns const c(rows);
    return tx.exec(sql::items::insert, c.skus, c.names, c.on_sales, c.sale_starts, c.sale_ends,
                   c.maxima, c.lows, c.strategies, c.admissions, c.pools, c.ttls);
}

void update(transaction& tx, std::span<row const> rows)
{
    constexpr std::size_t rows_max = 500; // of one statement, as in levels.cpp
    if (rows.size() > rows_max) {
        update(tx, rows.first(rows_max));
        return update(tx, rows.subspan(rows_max));
    }
    columns const c(rows);
    tx.exec(sql::items::update, c.skus, c.names, c.on_sales, c.sale_starts, c.sale_ends, c.maxima,
            c.lows, c.strategies, c.admissions, c.pools, c.ttls);
}

std::vector<row> list(transaction& tx, filter const& f)
{
    if (!f.part || !has_trigram(*f.part)) {
        auto const pattern = f.part ? std::optional('%' + beginning_with(*f.part)) : std::nullopt;
        return tx.many<row>(sql::items::list, pattern, f.only_low, f.after, f.limit);
    }
    auto const prefix = beginning_with(*f.part);
    auto const after = f.after.empty() ? std::nullopt : std::optional(f.after);
    return tx.many<row>(sql::items::search, '%' + prefix, prefix, f.only_low, after, f.limit);
}

bool is_empty(transaction& tx)
{
    return tx.one<bool>(sql::items::is_empty);
}

} // namespace holdfast::db::items

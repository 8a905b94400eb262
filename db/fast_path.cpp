// SPDX-License-Identifier: Apache-2.0
#include "db/fast_path.hpp"

#include "sql/fast_path.hpp"

namespace holdfast::db::fast_path {

std::vector<row> all(transaction& tx)
{
    return tx.many<row>(sql::fast_path::all);
}

bool switch_on(transaction& tx, sku const& of, std::string_view mode, std::int64_t buckets)
{
    return tx.exec(sql::fast_path::switch_on, of, mode, buckets) == 1;
}

bool switch_off(transaction& tx, sku const& of)
{
    return tx.exec(sql::fast_path::switch_off, of) == 1;
}

bool retire_queues(transaction& tx, std::string const& sku)
{
    return tx.exec(sql::fast_path::retire_queues, sku) == 1;
}

std::int64_t next_epoch(transaction& tx)
{
    return tx.one<std::int64_t>(sql::fast_path::next_epoch);
}

bool open(transaction& tx, std::string const& sku, std::int64_t epoch)
{
    return tx.exec(sql::fast_path::open, sku, epoch) == 1;
}

bool close(transaction& tx, std::string const& sku, std::int64_t epoch)
{
    return tx.exec(sql::fast_path::close, sku, epoch) == 1;
}

bool suspend(transaction& tx, std::string const& sku, std::int64_t epoch)
{
    return tx.exec(sql::fast_path::suspend, sku, epoch) == 1;
}

void stop(transaction& tx, std::string const& sku, std::int64_t epoch)
{
    tx.exec(sql::fast_path::stop, sku, epoch);
}

bool resume(transaction& tx, std::string const& sku)
{
    return tx.exec(sql::fast_path::resume, sku) == 1;
}

bool calm(transaction& tx, std::string const& sku, std::int64_t epoch)
{
    return tx.exec(sql::fast_path::calm, sku, epoch) == 1;
}

times read_times(transaction& tx)
{
    return tx.one<times>(sql::fast_path::times);
}

std::vector<fact> facts(transaction& tx, std::vector<std::string> const& skus)
{
    return tx.many<fact>(sql::fast_path::facts, skus);
}

std::vector<uuid> made(transaction& tx, std::vector<uuid> const& ids)
{
    return tx.many<uuid>(sql::fast_path::made, ids);
}

std::vector<relief> relieved(transaction& tx, std::span<fact const> since)
{
    std::vector<std::string> skus, locations;
    std::vector<std::int64_t> versions;
    for (auto const& each : since) {
        skus.push_back(each.sku);
        locations.push_back(each.location);
        versions.push_back(each.version);
    }
    return tx.many<relief>(sql::fast_path::relieved, skus, locations, versions);
}

std::vector<made_key> keys(transaction& tx, std::string const& sku, uuid const& after,
                           std::size_t limit)
{
    return tx.many<made_key>(sql::fast_path::keys, sku, after, limit);
}

bool try_own(transaction& tx)
{
    return tx.one<bool>(sql::fast_path::try_own);
}

} // namespace holdfast::db::fast_path

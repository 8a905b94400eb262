// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/roster.hpp"

#include "db/transact.hpp"
#include "service/json_writer.hpp"

#include <utility>

namespace holdfast::fast_path {

item item_of(db::fast_path::row const& row)
{
    return {sku(row.sku), static_cast<int>(row.buckets), row.epoch,
            row.is_async && !row.needs_token};
}

std::vector<db::fast_path::row> roster::refresh(db::link& link)
{
    auto read = std::make_shared<items>();
    auto rows = db::read(link, db::scope::single,
                         [](db::transaction& tx) { return db::fast_path::all(tx); });
    auto queues = std::make_shared<std::vector<queues_of>>();
    for (auto const& row : rows) {
        if (row.epoch != 0)
            read->emplace(row.sku, item_of(row));
        if (row.queues > 0)
            queues->push_back({sku(row.sku), static_cast<int>(row.queues)});
    }
    std::scoped_lock const lock(mutex_);
    items_ = std::move(read);
    queues_ = std::move(queues);
    return rows;
}

result<void> roster::switch_on(db::link& link, sku const& which, mode_wanted wanted,
                               staff const& by)
{
    auto const* const mode = wanted.is_async ? "async" : "durable";
    bool const is_known = db::transact(link, [&](db::transaction& tx) {
        if (!db::fast_path::switch_on(tx, which, mode, wanted.buckets))
            return false;
        json_writer detail;
        detail.begin_object();
        detail.member("mode", std::string_view(mode));
        detail.member("buckets", wanted.buckets);
        detail.end_object();
        trail::note(tx, by, {"fast_path.switched_on", "item:" + which.str(), detail.take()});
        return true;
    });
    refresh(link);
    if (!is_known)
        return refusal{.code = errc::unknown_sku,
                       .detail = "There is no item " + which.str() + "."};
    return {};
}

result<void> roster::switch_off(db::link& link, sku const& which, staff const& by)
{
    bool was_on = false; // a commit whose answer was lost has switched it off already
    db::transact(link, [&](db::transaction& tx) {
        if (db::fast_path::switch_off(tx, which)) {
            was_on = true;
            trail::note(tx, by, {"fast_path.switched_off", "item:" + which.str()});
        }
        return 0;
    });
    refresh(link);
    if (!was_on)
        return refusal{.code = errc::not_found, .detail = which.str() + " has no fast path."};
    return {};
}

bool roster::close(db::link& link, item const& which)
{
    bool was_open = false;
    db::transact(link, [&](db::transaction& tx) {
        was_open = db::fast_path::close(tx, which.sku.str(), which.epoch);
        return 0;
    });
    refresh(link);
    return was_open;
}

bool roster::suspend(db::link& link, item const& which)
{
    bool was_open = false;
    db::transact(link, [&](db::transaction& tx) {
        was_open = db::fast_path::suspend(tx, which.sku.str(), which.epoch);
        return 0;
    });
    refresh(link);
    return was_open;
}

} // namespace holdfast::fast_path

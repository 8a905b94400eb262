// SPDX-License-Identifier: Apache-2.0
#include "service/workers/publisher.hpp"

#include "db/feed.hpp"
#include "db/transact.hpp"

#include <cstddef>

namespace holdfast::workers {

namespace {

constexpr std::size_t ids_max = 10'000; // in one turn

} // namespace

periodic::step publisher(event_bell& bell, metrics& m)
{
    return [&bell, &m](db::link& link) {
        db::feed::head head;
        auto const told = db::transact(link, [&](db::transaction& tx) {
            auto const count = db::feed::tell_committed(tx, ids_max);
            head = db::feed::read_head(tx);
            return count.value_or(0);
        });
        m.events_told(static_cast<std::size_t>(told));
        bell.ring(head.position);
        return told >= static_cast<std::int64_t>(ids_max) ? progress::more_to_do
                                                          : progress::done_for_now;
    };
}

} // namespace holdfast::workers

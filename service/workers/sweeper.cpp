// SPDX-License-Identifier: Apache-2.0
#include "service/workers/sweeper.hpp"

#include "service/expiry.hpp"

namespace holdfast::workers {

periodic::step sweeper(std::size_t batch_max, metrics& m)
{
    return [batch_max, &m](db::link& link) {
        auto const lines = expire_any_due(link, batch_max, m);
        return lines >= batch_max ? progress::more_to_do : progress::done_for_now;
    };
}

} // namespace holdfast::workers

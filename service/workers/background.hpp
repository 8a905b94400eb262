// SPDX-License-Identifier: Apache-2.0
// The workers of one process, running from the moment this is made until it ends.
#pragma once

#include "service/address_guard.hpp"
#include "service/config.hpp"
#include "service/event_bell.hpp"
#include "service/event_feed.hpp"
#include "service/workers/committer.hpp"
#include "service/workers/courier.hpp"
#include "service/workers/periodic.hpp"
#include "service/workers/reconciler.hpp"
#include "service/workers/stream_writer.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace holdfast::workers {

class background {
public:
    // What is given here must outlive the workers.
    background(config const&, db::session_options const&, event_feed const&, event_bell&,
               address_guard const&, fast_path::roster&, reservations const&, metrics&);

private:
    void start(periodic_options, periodic::step);
    void start_with_redis(config const&, event_feed const&, event_bell const&, fast_path::roster&,
                          reservations const&);

    db::session_options session_;
    metrics& metrics_;
    courier courier_;
    std::optional<stream_writer> stream_;
    std::optional<committer> committer_;
    std::optional<reconciler> reconciler_;
    std::vector<std::unique_ptr<periodic>> running_; // last: they end before what they use does
};

} // namespace holdfast::workers

// SPDX-License-Identifier: Apache-2.0
#include "service/workers/background.hpp"

#include "service/version.hpp"
#include "service/workers/janitor.hpp"
#include "service/workers/publisher.hpp"
#include "service/workers/sweeper.hpp"

#include <chrono>
#include <string>
#include <utility>

namespace holdfast::workers {

namespace {

using std::chrono::days;
using std::chrono::milliseconds;

constexpr auto janitor_interval = std::chrono::minutes(1);

courier_options courier_options_of(config const& settings)
{
    return {.schedule = parse_schedule(settings.webhook_retry_seconds).value(),
            .calls = {.timeout = std::chrono::seconds(settings.webhook_timeout_seconds),
                      .ca_file = settings.webhook_ca_file,
                      .user_agent = "Holdfast/" + std::string(version)}};
}

} // namespace

background::background(config const& settings, db::session_options const& session,
                       event_feed const& feed, event_bell& bell, address_guard const& guard,
                       metrics& m)
    : session_(session), metrics_(m), courier_(courier_options_of(settings), feed, bell, guard, m)
{
    if (settings.sweep_interval_ms > 0)
        start({.name = "sweeper", .pause = milliseconds(settings.sweep_interval_ms)},
              sweeper(static_cast<std::size_t>(settings.sweep_batch_max), m));
    start({.name = "publisher", .pause = milliseconds(settings.publish_interval_ms)},
          publisher(bell, m));
    start({.name = "janitor", .pause = janitor_interval},
          janitor({.keep_events = days(settings.events_keep_days),
                   .keep_idempotency_keys = days(settings.idempotency_keep_days),
                   .keep_deliveries = days(settings.webhook_keep_days)}));
    if (!settings.redis_url.empty() && !settings.redis_stream.empty()) {
        stream_.emplace(
            redis::parse_target(settings.redis_url).value(),
            stream_options{.name = settings.redis_stream, .length_max = settings.redis_stream_max},
            feed, bell, m);
        start({.name = "stream_writer", .pause = milliseconds(settings.publish_interval_ms)},
              [this](db::link& link) { return stream_->step(link); });
    }
    start({.name = "courier",
           .pause = milliseconds(0),
           .at_end = [this](db::link& link) { courier_.finish(link); }},
          [this](db::link& link) { return courier_.step(link); });
}

void background::start(periodic_options options, periodic::step step)
{
    options.session = session_;
    running_.push_back(std::make_unique<periodic>(std::move(options), std::move(step), metrics_));
}

} // namespace holdfast::workers

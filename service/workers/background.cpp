// SPDX-License-Identifier: Apache-2.0
#include "service/workers/background.hpp"

#include "service/version.hpp"
#include "service/workers/janitor.hpp"
#include "service/workers/publisher.hpp"
#include "service/workers/sweeper.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

namespace holdfast::workers {

namespace {

using std::chrono::days;
using std::chrono::milliseconds;

constexpr auto janitor_interval = std::chrono::minutes(1);
constexpr auto reconciling_interval = milliseconds(100);
constexpr auto committing_interval = milliseconds(10);

courier_options courier_options_of(config const& settings)
{
    return {.schedule = parse_schedule(settings.webhook_retry_seconds).value(),
            .calls = {.timeout = std::chrono::seconds(settings.webhook_timeout_seconds),
                      .ca_file = settings.webhook_ca_file,
                      .user_agent = "Holdfast/" + std::string(version)}};
}

// News waits in the queue before Redis for so long at most, then for Redis, and some time for its
// turn before that.
milliseconds news_max_of(config const& settings)
{
    return milliseconds(settings.queue_wait_ms) + 4 * milliseconds(settings.redis_timeout_ms) +
           std::chrono::seconds(1);
}

// Events that can still be read are told with what the history says.
std::chrono::hours keep_drift_of(config const& settings)
{
    return std::max<std::chrono::hours>(janitor_options().keep_drift,
                                        days(settings.events_keep_days + 1));
}

} // namespace

background::background(config const& settings, db::session_options const& session,
                       event_feed const& feed, event_bell& bell, address_guard const& guard,
                       fast_path::roster& roster, reservations const& reserving, metrics& m)
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
                   .keep_deliveries = days(settings.webhook_keep_days),
                   .keep_drift = keep_drift_of(settings)}));
    if (!settings.redis_url.empty())
        start_with_redis(settings, feed, bell, roster, reserving);
    start({.name = "courier",
           .pause = milliseconds(0),
           .at_end = [this](db::link& link) { courier_.finish(link); }},
          [this](db::link& link) { return courier_.step(link); });
}

void background::start_with_redis(config const& settings, event_feed const& feed,
                                  event_bell const& bell, fast_path::roster& roster,
                                  reservations const& reserving)
{
    auto const where = redis::parse_target(settings.redis_url).value();
    if (!settings.redis_stream.empty()) {
        stream_.emplace(
            where,
            stream_options{.name = settings.redis_stream, .length_max = settings.redis_stream_max},
            feed, bell, metrics_);
        start({.name = "stream_writer", .pause = milliseconds(settings.publish_interval_ms)},
              [this](db::link& link) { return stream_->step(link); });
    }
    redis::timeouts const limits{.connect = milliseconds(settings.redis_timeout_ms),
                                 .answer = milliseconds(settings.redis_timeout_ms)};
    committer_.emplace(
        committer_options{.where = where, .prefix = settings.redis_prefix, .limits = limits},
        roster, reserving, metrics_);
    start({.name = "committer", .pause = committing_interval},
          [this](db::link& link) { return committer_->step(link); });
    reconciler_.emplace(reconciler_options{.where = where,
                                           .prefix = settings.redis_prefix,
                                           .limits = limits,
                                           .keep_keys = days(settings.idempotency_keep_days),
                                           .news_max = news_max_of(settings),
                                           .repair_max = settings.redis_repair_max},
                        roster, metrics_);
    // Leases of every item run out while it rests, whatever one of them has met.
    start({.name = "reconciler",
           .pause = reconciling_interval,
           .pause_after_fault = reconciling_interval},
          [this](db::link& link) { return reconciler_->step(link); });
}

void background::start(periodic_options options, periodic::step step)
{
    options.session = session_;
    running_.push_back(std::make_unique<periodic>(std::move(options), std::move(step), metrics_));
}

} // namespace holdfast::workers

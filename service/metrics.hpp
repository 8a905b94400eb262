// SPDX-License-Identifier: Apache-2.0
// What the service counts, for Prometheus. Labels take a bounded set of values: a route's pattern,
// never its path; no SKU, no customer, no key.
#pragma once

#include "stock/errc.hpp"
#include "stock/movement.hpp"
#include "stock/quantity.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast {

// Thread-safe. What is counted for every request costs an atomic addition; text labels are looked
// up only where the event is rare.
class metrics {
public:
    // Answers of one route. Lives as long as the metrics it comes from.
    class route {
    public:
        virtual ~route() = default;

        // Counts one answer: its HTTP status, and the time from the whole request to the answer.
        virtual void answered(int status, std::chrono::nanoseconds took) = 0;
    };

    enum class limit_scope { api_key, customer, sign_in };
    enum class token_outcome { granted, waiting, refused };
    enum class queue_outcome { committed, refused, parked };
    enum class drift_kind { available, pending, ledger };

    explicit metrics(std::string_view version);
    ~metrics();
    metrics(metrics const&) = delete;
    metrics& operator=(metrics const&) = delete;

    // The route with this pattern, made when it is new. Ask once at start and keep the reference.
    [[nodiscard]] route& route_of(std::string_view pattern);

    // Ledger lines of one kind, once they are committed, and the units they moved.
    void moved(movement_kind, units moved);
    void refused(errc);
    void rate_limited(limit_scope);
    void holds_reclaimed(std::size_t count);
    void hold_was_due_for(std::chrono::nanoseconds); // from expires_at until its units were back

    void worker_failed(std::string_view worker);
    void events_told(std::size_t count); // announcements that were given their place in the feed
    void events_streamed(std::size_t count); // appended to the stream in Redis
    void event_streams_open(std::ptrdiff_t change);
    void webhook_attempted(std::string_view outcome); // delivered, failed, dead
    void webhooks_owned(std::size_t count);

    void token_answered(token_outcome);

    void fast_path_answered(std::string_view verdict, std::size_t count);
    void fast_path_suspended();
    void fast_path_corrected(std::string_view direction, units); // more, fewer
    void queue_ended(queue_outcome, std::size_t count);
    void queue_took(std::chrono::nanoseconds); // from acceptance to the commit
    void fast_path_drifted(drift_kind, units);
    void redis_waited(std::chrono::nanoseconds); // in the queue of the gate
    void redis_batch(std::size_t requests);
    void redis_in_flight(std::ptrdiff_t change);

    void strategy_conflicts(std::string_view strategy, std::size_t count);
    void transaction_retried(std::string_view reason);
    void commit_in_doubt();
    void invariant_broken();

    void queued(std::ptrdiff_t commands); // more or fewer
    void queue_waited(std::chrono::nanoseconds);
    void queue_rejected();
    void lane_batch(std::size_t commands);
    void database_session_open(std::ptrdiff_t change);
    void database_session_busy(std::ptrdiff_t change);

    void connection_opened();
    void connection_closed();

    // Everything in the text format 0.0.4: `text/plain; version=0.0.4; charset=utf-8`.
    [[nodiscard]] std::string text() const;

private:
    struct families;
    std::unique_ptr<families> families_;
};

} // namespace holdfast

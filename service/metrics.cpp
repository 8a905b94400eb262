// SPDX-License-Identifier: Apache-2.0
#include "service/metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace holdfast {

namespace {

using counters = prometheus::Family<prometheus::Counter>;
using gauges = prometheus::Family<prometheus::Gauge>;
using histograms = prometheus::Family<prometheus::Histogram>;

// Seconds: half a millisecond is a short transaction, ten seconds is past every deadline of ours.
prometheus::Histogram::BucketBoundaries const seconds_buckets{
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};

constexpr int status_min = 100;
constexpr int status_max = 599;

// Values a text label may take before the rest are counted together as "other".
constexpr std::size_t label_values_max = 32;

double to_seconds(std::chrono::nanoseconds time)
{
    return std::chrono::duration<double>(time).count();
}

counters& counter_family(prometheus::Registry& registry, char const* name, char const* help)
{
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

gauges& gauge_family(prometheus::Registry& registry, char const* name, char const* help)
{
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

histograms& histogram_family(prometheus::Registry& registry, char const* name, char const* help)
{
    return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

// One counter per value of an enum, made at once so that each is exported from the start at 0.
template <class Names>
std::vector<prometheus::Counter*> counters_of(counters& family, char const* label,
                                              Names const& values)
{
    std::vector<prometheus::Counter*> made;
    for (auto const value : values)
        made.push_back(&family.Add({{label, std::string(value)}}));
    return made;
}

// Every refusal there is; past the last one `slug` falls back to the name of a fault.
std::vector<std::string_view> refusal_slugs()
{
    std::vector<std::string_view> slugs;
    for (int code = 0; slug(static_cast<errc>(code)) != "internal"; ++code)
        slugs.push_back(slug(static_cast<errc>(code)));
    return slugs;
}

// Counters under a text label. Meant for rare events: each call takes a lock and looks the text up.
class labelled_counters {
public:
    labelled_counters(counters& family, char const* label) : family_(family), label_(label) {}

    void add(std::string_view value, double count)
    {
        std::scoped_lock const lock(mutex_);
        counter_of(value).Increment(count);
    }

private:
    prometheus::Counter& counter_of(std::string_view value)
    {
        if (auto const known = made_.find(value); known != made_.end())
            return *known->second;
        auto const name = made_.size() < label_values_max ? std::string(value) : "other";
        auto& added = family_.Add({{label_, name}});
        made_.emplace(name, &added);
        return added;
    }

    counters& family_;
    std::string label_;
    std::mutex mutex_;
    std::map<std::string, prometheus::Counter*, std::less<>> made_;
};

class counted_route final : public metrics::route {
public:
    counted_route(std::string pattern, counters& requests, histograms& seconds)
        : pattern_(std::move(pattern)), requests_(requests),
          seconds_(seconds.Add({{"route", pattern_}}, seconds_buckets))
    {}

    void answered(int status, std::chrono::nanoseconds took) override
    {
        counter_of(std::clamp(status, status_min, status_max)).Increment();
        seconds_.Observe(to_seconds(took));
    }

private:
    // A status's counter is made when it first occurs. Two threads that race get the same one from
    // the family, so it does not matter which stores it.
    prometheus::Counter& counter_of(int status)
    {
        auto& slot = by_status_[static_cast<std::size_t>(status - status_min)];
        if (auto* const known = slot.load(std::memory_order_acquire))
            return *known;
        auto& added = requests_.Add({{"route", pattern_}, {"status", std::to_string(status)}});
        slot.store(&added, std::memory_order_release);
        return added;
    }

    std::string pattern_;
    counters& requests_;
    prometheus::Histogram& seconds_;
    std::array<std::atomic<prometheus::Counter*>, status_max - status_min + 1> by_status_{};
};

} // namespace

struct metrics::families {
    prometheus::Registry registry;

    counters& requests = counter_family(registry, "holdfast_http_requests_total",
                                        "Answered requests by route and HTTP status.");
    histograms& request_seconds =
        histogram_family(registry, "holdfast_http_request_seconds",
                         "Time from a whole request to its answer, by route.");
    std::mutex routes_mutex;
    std::map<std::string, std::unique_ptr<counted_route>, std::less<>> routes;

    std::vector<prometheus::Counter*> movements = counters_of(
        counter_family(registry, "holdfast_movements_total", "Committed ledger lines by kind."),
        "kind", movement_kind_names);
    std::vector<prometheus::Counter*> units_moved =
        counters_of(counter_family(registry, "holdfast_units_total",
                                   "Units moved by committed ledger lines, by kind."),
                    "kind", movement_kind_names);
    std::vector<prometheus::Counter*> refusals =
        counters_of(counter_family(registry, "holdfast_refusals_total",
                                   "Requests refused, by the code in the answer."),
                    "code", refusal_slugs());
    std::vector<prometheus::Counter*> rate_limited =
        counters_of(counter_family(registry, "holdfast_rate_limited_total",
                                   "Requests refused by a rate limit, by what it counts."),
                    "scope", std::array<std::string_view, 3>{"api_key", "customer", "sign_in"});

    std::vector<prometheus::Counter*> token_answers =
        counters_of(counter_family(registry, "holdfast_token_requests_total",
                                   "Requests for an admission token, by what came of them."),
                    "outcome", std::array<std::string_view, 3>{"granted", "waiting", "refused"});

    prometheus::Counter& holds_reclaimed =
        counter_family(registry, "holdfast_holds_reclaimed_total",
                       "Holds expired because their time had passed and their units given back.")
            .Add({});
    prometheus::Histogram& expiry_lag =
        histogram_family(registry, "holdfast_expiry_lag_seconds",
                         "Time from the end of a hold until its units were given back.")
            .Add({}, seconds_buckets);
    labelled_counters worker_faults{
        counter_family(registry, "holdfast_worker_faults_total",
                       "Times a background worker met a fault and will try again, by worker."),
        "worker"};
    prometheus::Counter& events_told =
        counter_family(registry, "holdfast_events_told_total",
                       "Entries of the outbox that this process gave a place in the feed.")
            .Add({});
    prometheus::Counter& events_streamed =
        counter_family(registry, "holdfast_events_streamed_total",
                       "Events that this process appended to the stream in Redis.")
            .Add({});
    prometheus::Gauge& event_streams =
        gauge_family(registry, "holdfast_event_streams", "Open streams of events.").Add({});
    labelled_counters fast_path_verdicts{
        counter_family(registry, "holdfast_fast_path_requests_total",
                       "Requests that Redis was asked about, by what it said."),
        "verdict"};
    prometheus::Counter& fast_path_suspensions =
        counter_family(registry, "holdfast_fast_path_suspensions_total",
                       "Times this process left an item to PostgreSQL alone for a while.")
            .Add({});
    labelled_counters fast_path_corrections{
        counter_family(registry, "holdfast_fast_path_corrected_units_total",
                       "Units the reconciler added in Redis (more) or took away (fewer)."),
        "direction"};
    std::vector<prometheus::Counter*> queue_ends = counters_of(
        counter_family(registry, "holdfast_fast_path_queued_total",
                       "Requests accepted by Redis, by what this process made of them."),
        "outcome", std::array<std::string_view, 3>{"committed", "refused", "parked"});
    prometheus::Histogram& queue_time =
        histogram_family(registry, "holdfast_fast_path_queue_seconds",
                         "Time from the acceptance of a request to its commit.")
            .Add({}, seconds_buckets);
    std::vector<prometheus::Counter*> fast_path_drift =
        counters_of(counter_family(registry, "holdfast_fast_path_drift_units_total",
                                   "Units that differed and that nothing explains, by kind."),
                    "kind", std::array<std::string_view, 3>{"available", "pending", "ledger"});
    prometheus::Histogram& redis_wait =
        histogram_family(registry, "holdfast_redis_wait_seconds",
                         "Time a request waited before it was sent to Redis.")
            .Add({}, seconds_buckets);
    prometheus::Histogram& redis_batch =
        histogram_family(registry, "holdfast_redis_batch", "Requests sent to Redis together.")
            .Add({}, prometheus::Histogram::BucketBoundaries{1, 2, 4, 8, 16, 32, 64, 128, 256});
    prometheus::Gauge& redis_in_flight =
        gauge_family(registry, "holdfast_redis_in_flight", "Requests Redis is being asked about.")
            .Add({});
    labelled_counters webhook_attempts{
        counter_family(
            registry, "holdfast_webhook_attempts_total",
            "Attempts to deliver an event, by outcome: dead is the last one that failed."),
        "outcome"};
    prometheus::Gauge& webhooks_owned =
        gauge_family(registry, "holdfast_webhooks_owned", "Webhooks this process delivers to.")
            .Add({});
    labelled_counters conflicts{
        counter_family(registry, "holdfast_strategy_conflicts_total",
                       "Times a strategy found a row changed under it and looked again."),
        "strategy"};
    labelled_counters retries{
        counter_family(registry, "holdfast_transaction_retries_total",
                       "Transactions run again after a transient fault, by reason."),
        "reason"};
    prometheus::Counter& in_doubt =
        counter_family(registry, "holdfast_in_doubt_total",
                       "Commits whose answer was lost and had to be looked up.")
            .Add({});
    prometheus::Counter& invariant_broken =
        counter_family(registry, "holdfast_invariant_broken_total",
                       "Transactions rolled back because an invariant did not hold: a bug.")
            .Add({});

    prometheus::Gauge& queue_length =
        gauge_family(registry, "holdfast_queue_length", "Commands waiting for a database session.")
            .Add({});
    prometheus::Histogram& queue_wait =
        histogram_family(registry, "holdfast_queue_wait_seconds",
                         "Time a command waited for a database session.")
            .Add({}, seconds_buckets);
    prometheus::Counter& queue_rejected =
        counter_family(registry, "holdfast_queue_rejected_total",
                       "Commands turned away because the queue was full or the wait too long.")
            .Add({});
    prometheus::Histogram& lane_batch =
        histogram_family(registry, "holdfast_lane_batch_commands",
                         "Commands that a lane did together.")
            .Add({},
                 prometheus::Histogram::BucketBoundaries{1, 2, 4, 8, 16, 32, 64, 128, 256, 512});
    gauges& sessions =
        gauge_family(registry, "holdfast_database_sessions", "Database sessions by state.");
    prometheus::Gauge& sessions_open = sessions.Add({{"state", "open"}});
    prometheus::Gauge& sessions_busy = sessions.Add({{"state", "busy"}});
    prometheus::Gauge& connections =
        gauge_family(registry, "holdfast_open_connections", "Open HTTP connections.").Add({});
};

metrics::metrics(std::string_view version) : families_(std::make_unique<families>())
{
    gauge_family(families_->registry, "holdfast_build_info", "Always 1; the build is in the label.")
        .Add({{"version", std::string(version)}})
        .Set(1);
}

metrics::~metrics() = default;

metrics::route& metrics::route_of(std::string_view pattern)
{
    std::scoped_lock const lock(families_->routes_mutex);
    auto& routes = families_->routes;
    if (auto const known = routes.find(pattern); known != routes.end())
        return *known->second;
    auto added = std::make_unique<counted_route>(std::string(pattern), families_->requests,
                                                 families_->request_seconds);
    return *routes.emplace(pattern, std::move(added)).first->second;
}

void metrics::moved(movement_kind kind, units moved)
{
    auto const index = static_cast<std::size_t>(kind);
    families_->movements.at(index)->Increment();
    families_->units_moved.at(index)->Increment(static_cast<double>(moved < 0 ? -moved : moved));
}

void metrics::refused(errc code)
{
    families_->refusals.at(static_cast<std::size_t>(code))->Increment();
}

void metrics::rate_limited(limit_scope scope)
{
    families_->rate_limited.at(static_cast<std::size_t>(scope))->Increment();
}

void metrics::token_answered(token_outcome outcome)
{
    families_->token_answers.at(static_cast<std::size_t>(outcome))->Increment();
}

void metrics::holds_reclaimed(std::size_t count)
{
    families_->holds_reclaimed.Increment(static_cast<double>(count));
}

void metrics::hold_was_due_for(std::chrono::nanoseconds time)
{
    families_->expiry_lag.Observe(to_seconds(time));
}

void metrics::worker_failed(std::string_view worker)
{
    families_->worker_faults.add(worker, 1);
}

void metrics::events_told(std::size_t count)
{
    families_->events_told.Increment(static_cast<double>(count));
}

void metrics::events_streamed(std::size_t count)
{
    families_->events_streamed.Increment(static_cast<double>(count));
}

void metrics::event_streams_open(std::ptrdiff_t change)
{
    families_->event_streams.Increment(static_cast<double>(change));
}

void metrics::fast_path_answered(std::string_view verdict, std::size_t count)
{
    families_->fast_path_verdicts.add(verdict, static_cast<double>(count));
}

void metrics::fast_path_suspended()
{
    families_->fast_path_suspensions.Increment();
}

void metrics::fast_path_corrected(std::string_view direction, units number)
{
    families_->fast_path_corrections.add(direction, static_cast<double>(number));
}

void metrics::queue_ended(queue_outcome outcome, std::size_t count)
{
    families_->queue_ends.at(static_cast<std::size_t>(outcome))
        ->Increment(static_cast<double>(count));
}

void metrics::queue_took(std::chrono::nanoseconds time)
{
    families_->queue_time.Observe(to_seconds(time));
}

void metrics::fast_path_drifted(drift_kind kind, units number)
{
    families_->fast_path_drift.at(static_cast<std::size_t>(kind))
        ->Increment(static_cast<double>(number));
}

void metrics::redis_waited(std::chrono::nanoseconds time)
{
    families_->redis_wait.Observe(to_seconds(time));
}

void metrics::redis_batch(std::size_t requests)
{
    families_->redis_batch.Observe(static_cast<double>(requests));
}

void metrics::redis_in_flight(std::ptrdiff_t change)
{
    families_->redis_in_flight.Increment(static_cast<double>(change));
}

void metrics::webhook_attempted(std::string_view outcome)
{
    families_->webhook_attempts.add(outcome, 1);
}

void metrics::webhooks_owned(std::size_t count)
{
    families_->webhooks_owned.Set(static_cast<double>(count));
}

void metrics::strategy_conflicts(std::string_view strategy, std::size_t count)
{
    families_->conflicts.add(strategy, static_cast<double>(count));
}

void metrics::transaction_retried(std::string_view reason)
{
    families_->retries.add(reason, 1);
}

void metrics::commit_in_doubt()
{
    families_->in_doubt.Increment();
}

void metrics::invariant_broken()
{
    families_->invariant_broken.Increment();
}

void metrics::queued(std::ptrdiff_t commands)
{
    families_->queue_length.Increment(static_cast<double>(commands));
}

void metrics::lane_batch(std::size_t commands)
{
    families_->lane_batch.Observe(static_cast<double>(commands));
}

void metrics::queue_waited(std::chrono::nanoseconds waited)
{
    families_->queue_wait.Observe(to_seconds(waited));
}

void metrics::queue_rejected()
{
    families_->queue_rejected.Increment();
}

void metrics::database_session_open(std::ptrdiff_t change)
{
    families_->sessions_open.Increment(static_cast<double>(change));
}

void metrics::database_session_busy(std::ptrdiff_t change)
{
    families_->sessions_busy.Increment(static_cast<double>(change));
}

void metrics::connection_opened()
{
    families_->connections.Increment();
}

void metrics::connection_closed()
{
    families_->connections.Decrement();
}

std::string metrics::text() const
{
    return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

} // namespace holdfast

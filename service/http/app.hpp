// SPDX-License-Identifier: Apache-2.0
// What a handler can reach: the use cases, and the workers they run on.
#pragma once

#include "service/adjustments.hpp"
#include "service/api_keys.hpp"
#include "service/audit.hpp"
#include "service/blocked_customers.hpp"
#include "service/catalogue.hpp"
#include "service/config.hpp"
#include "service/counts.hpp"
#include "service/event_bell.hpp"
#include "service/event_feed.hpp"
#include "service/fast_path/desk.hpp"
#include "service/fast_path/door.hpp"
#include "service/fast_path/inspection.hpp"
#include "service/fast_path/roster.hpp"
#include "service/imports.hpp"
#include "service/lookout.hpp"
#include "service/metrics.hpp"
#include "service/rate_limiter.hpp"
#include "service/reservations.hpp"
#include "service/staff_door.hpp"
#include "service/webhooks.hpp"
#include "service/worker_pool.hpp"

#include <atomic>

namespace holdfast::http {

struct app {
    config const& settings;
    holdfast::metrics& metrics;
    worker_pool& workers;
    fast_path::desk& desk;
    fast_path::roster& roster;
    fast_path::inspector& inspector;
    fast_path::door& door;
    authenticator& keys;
    blocked_customers& blocked;
    rate_limiter& key_limits;
    rate_limiter& customer_limits;
    holdfast::reservations const& reservations;
    holdfast::catalogue const& catalogue;
    holdfast::adjustments const& adjustments;
    holdfast::imports const& imports;
    holdfast::counts const& counts;
    holdfast::auditor& auditor;
    holdfast::lookout const& lookout;
    holdfast::event_feed const& events;
    holdfast::event_bell const& bell;
    holdfast::webhooks const& webhooks;
    staff_door& people;
    std::atomic<int> open_streams{0};
    std::atomic<bool> is_draining{false};
};

} // namespace holdfast::http

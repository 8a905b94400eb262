// SPDX-License-Identifier: Apache-2.0
// Forgets what is old: events everybody had time to read, idempotency keys nobody will send again,
// drift, tokens nobody can use any more, and what imports changed. A bounded batch at a time.
#pragma once

#include "service/workers/periodic.hpp"

#include <chrono>

namespace holdfast::workers {

struct janitor_options {
    std::chrono::hours keep_events{24 * 30};
    std::chrono::hours keep_idempotency_keys{24 * 90}; // of what makes no row of its own
    std::chrono::hours keep_deliveries{24 * 14};       // of webhooks, once they are over
    std::chrono::hours keep_drift{24 * 90};            // no shorter than the events of it
    std::chrono::hours keep_spent_tokens{24};          // once they have expired
};

[[nodiscard]] periodic::step janitor(janitor_options);

} // namespace holdfast::workers

// SPDX-License-Identifier: Apache-2.0
// What a day with Redis before some items takes of PostgreSQL.
#pragma once

#include "tests/support/workbench.hpp"

namespace holdfast::test {

// Items come to life and are closed; Redis drifts, is crowded, busy, and meets a locked row.
void put_redis_before(workbench&);

} // namespace holdfast::test

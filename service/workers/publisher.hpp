// SPDX-License-Identifier: Apache-2.0
// Gives what is committed its place in the feed, and tells those in this process who wait for it.
#pragma once

#include "service/event_bell.hpp"
#include "service/workers/periodic.hpp"

namespace holdfast::workers {

// Takes one turn at giving positions, unless another process has it.
[[nodiscard]] periodic::step publisher(event_bell&, metrics&);

} // namespace holdfast::workers

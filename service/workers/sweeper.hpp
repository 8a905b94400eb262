// SPDX-License-Identifier: Apache-2.0
// Gives the units of due holds back, whether or not somebody is short of them. Nobody depends on
// it: a hold counts as expired from its time on, and whoever is short of units reclaims them.
#pragma once

#include "service/workers/periodic.hpp"

#include <cstddef>

namespace holdfast::workers {

// Expires the holds of one batch of due lines, the longest due first. Any number of processes may
// do it at once.
[[nodiscard]] periodic::step sweeper(std::size_t batch_max, metrics&);

} // namespace holdfast::workers

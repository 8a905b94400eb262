// SPDX-License-Identifier: Apache-2.0
// `holdfast health`: is the service ready for traffic? Made for container health checks.

#pragma once

#include <iosfwd>
#include <string>

namespace holdfast::cli {

// GET /readyz. Returns 0 when ready and 1 for everything else, as Docker wants it; `out` says why.
int health(std::string const& url, std::ostream& out);

} // namespace holdfast::cli

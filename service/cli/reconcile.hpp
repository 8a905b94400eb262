// SPDX-License-Identifier: Apache-2.0
// `holdfast reconcile`: what differs between Redis and PostgreSQL, told by a running service.

#pragma once

#include <iosfwd>
#include <string>

namespace holdfast::cli {

struct reconcile_options {
    std::string url;
    std::string key;
    bool repair = false;
    bool json = false;
};

// Returns 0 when nothing differs, or everything found was repaired; 1 when something differs; 2
// when the service cannot be asked.
int reconcile(reconcile_options const& options, std::ostream& out, std::ostream& errors);

} // namespace holdfast::cli

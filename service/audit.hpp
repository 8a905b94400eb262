// SPDX-License-Identifier: Apache-2.0
// The proof: every number is the sum of the ledger, and every promise is backed by units.
#pragma once

#include "db/link.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

// One number that is not what it has to be.
struct violation {
    std::string check; // the name of the invariant
    std::string sku;
    std::string location;
    std::string detail;
};

struct audit_report {
    std::int64_t checked = 0;          // levels, movements and reservation lines looked at
    std::vector<violation> violations; // the first 1000

    [[nodiscard]] bool is_ok() const noexcept { return violations.empty(); }
};

// Checks every invariant in one consistent snapshot; changes nothing.
[[nodiscard]] audit_report run_audit(db::link&);

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// The proof: every number is the sum of the ledger, and every promise is backed by units.
#pragma once

#include "db/link.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
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

// Lets one audit run at a time in this process: each reads the whole ledger, on a session that
// others want to sell with. Thread-safe.
class auditor {
public:
    // Nothing while another one runs.
    [[nodiscard]] std::optional<audit_report> run(db::link&);

private:
    std::mutex running_;
};

} // namespace holdfast

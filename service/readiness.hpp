// SPDX-License-Identifier: Apache-2.0
// Whether the database can serve requests.
#pragma once

#include "db/link.hpp"

#include <string>
#include <vector>

namespace holdfast {

// Why not, in sentences without any text of the database; empty when it can.
[[nodiscard]] std::vector<std::string> database_is_ready(db::link&);

} // namespace holdfast

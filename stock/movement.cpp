// SPDX-License-Identifier: Apache-2.0
#include "stock/movement.hpp"

#include <algorithm>
#include <stdexcept>

namespace holdfast {

movement_kind movement_kind_of(std::string_view name)
{
    auto const found = std::ranges::find(movement_kind_names, name);
    if (found == movement_kind_names.end())
        throw std::logic_error("unknown kind of movement in the ledger");
    return static_cast<movement_kind>(found - movement_kind_names.begin());
}

} // namespace holdfast

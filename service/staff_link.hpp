// SPDX-License-Identifier: Apache-2.0
// The address by which somebody becomes staff. The token stands behind #, so that no browser sends
// it to anybody and no proxy writes it down.
#pragma once

#include <string>
#include <string_view>

namespace holdfast {

[[nodiscard]] inline std::string staff_link(std::string_view url, std::string_view token)
{
    while (url.ends_with('/'))
        url.remove_suffix(1);
    return std::string(url).append("/admin/#first=").append(token);
}

} // namespace holdfast

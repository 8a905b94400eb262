// SPDX-License-Identifier: Apache-2.0
#include "service/http/message.hpp"

#include <algorithm>

namespace holdfast::http {

std::optional<std::string_view> request::header(std::string_view name) const noexcept
{
    auto const found =
        std::ranges::find(headers, name, &std::pair<std::string, std::string>::first);
    if (found == headers.end())
        return std::nullopt;
    return found->second;
}

} // namespace holdfast::http

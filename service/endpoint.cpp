// SPDX-License-Identifier: Apache-2.0
// How the address to listen on is read.
#include "service/config.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace holdfast {

namespace {

bool is_host_character(char c) noexcept
{
    return c > ' ' && c < 0x7F;
}

} // namespace

std::optional<endpoint> parse_endpoint(std::string_view text) noexcept
{
    auto const colon = text.rfind(':');
    if (colon == std::string_view::npos)
        return std::nullopt;
    auto host = text.substr(0, colon);
    auto const is_bracketed = host.size() > 2 && host.starts_with('[') && host.ends_with(']');
    if (is_bracketed)
        host = host.substr(1, host.size() - 2);
    else if (host.find_first_of(":[]") != std::string_view::npos)
        return std::nullopt;
    if (host.empty() || !std::ranges::all_of(host, is_host_character))
        return std::nullopt;

    std::uint16_t port = 0;
    auto const* const end = text.data() + text.size();
    auto const [stop, fault] = std::from_chars(text.data() + colon + 1, end, port);
    if (fault != std::errc{} || stop != end)
        return std::nullopt;
    return endpoint{.host = std::string(host), .port = port};
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// How the pauses between attempts are read.
#include "service/config.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace holdfast {

namespace {

constexpr std::size_t attempts_max = 50;
constexpr std::int64_t pause_max = 604'800;

} // namespace

std::optional<std::vector<std::chrono::seconds>> parse_schedule(std::string_view text)
{
    std::vector<std::chrono::seconds> pauses;
    for (bool is_more = true; is_more;) {
        std::int64_t seconds = 0;
        auto const comma = text.find(',');
        auto const* const end = text.data() + std::min(comma, text.size());
        auto const [stop, fault] = std::from_chars(text.data(), end, seconds);
        if (fault != std::errc() || stop != end || seconds < 0 || seconds > pause_max ||
            pauses.size() == attempts_max)
            return std::nullopt;
        pauses.emplace_back(seconds);
        is_more = comma != std::string_view::npos;
        text.remove_prefix(is_more ? comma + 1 : text.size());
    }
    return pauses;
}

} // namespace holdfast

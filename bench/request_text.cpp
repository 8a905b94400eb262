// SPDX-License-Identifier: Apache-2.0
#include "bench/request_text.hpp"

#include <utility>

namespace holdfast::bench {

request_text::request_text(std::string pattern)
    : text_(std::move(pattern)), key_(place_of('#')), item_(place_of('@'))
{}

request_text::place request_text::place_of(char sign) const
{
    auto const at = text_.find(sign);
    if (at == std::string::npos)
        return {};
    return {at, text_.rfind(sign) + 1 - at};
}

void request_text::write(place const& where, std::uint64_t number)
{
    for (auto left = where.digits; left > 0; --left, number /= 10)
        text_[where.at + left - 1] = static_cast<char>('0' + number % 10);
}

std::string_view request_text::with(std::uint64_t key, std::uint64_t item)
{
    write(key_, key);
    write(item_, item);
    return text_;
}

} // namespace holdfast::bench

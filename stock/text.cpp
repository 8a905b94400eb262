// SPDX-License-Identifier: Apache-2.0
#include "stock/text.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace holdfast {

namespace {

std::optional<std::string> mapped(std::string_view text, int how)
{
    utf8proc_uint8_t* made = nullptr;
    auto const size = utf8proc_map(reinterpret_cast<utf8proc_uint8_t const*>(text.data()),
                                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                                   static_cast<utf8proc_option_t>(how));
    std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> const owner(made, &std::free);
    if (size < 0)
        return std::nullopt;
    return std::string(reinterpret_cast<char const*>(made), static_cast<std::size_t>(size));
}

} // namespace

std::optional<std::string> to_nfc(std::string_view text)
{
    return mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
}

std::optional<std::string> case_folded(std::string_view text)
{
    return mapped(text, UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_CASEFOLD);
}

bool has_invisible(std::string_view text)
{
    auto const* bytes = reinterpret_cast<utf8proc_uint8_t const*>(text.data());
    auto left = static_cast<utf8proc_ssize_t>(text.size());
    while (left > 0) {
        utf8proc_int32_t character = 0;
        auto const used = utf8proc_iterate(bytes, left, &character);
        if (used <= 0)
            return false;
        auto const category = utf8proc_category(character);
        if (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF)
            return true;
        bytes += used;
        left -= used;
    }
    return false;
}

} // namespace holdfast

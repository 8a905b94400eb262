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

std::optional<char32_t> next_character(std::string_view& rest)
{
    utf8proc_int32_t character = -1;
    auto const used = utf8proc_iterate(reinterpret_cast<utf8proc_uint8_t const*>(rest.data()),
                                       static_cast<utf8proc_ssize_t>(rest.size()), &character);
    if (used <= 0 || character < 0)
        return std::nullopt;
    rest.remove_prefix(static_cast<std::size_t>(used));
    return static_cast<char32_t>(character);
}

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
    while (auto const character = next_character(text)) {
        auto const category = utf8proc_category(static_cast<utf8proc_int32_t>(*character));
        if (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF)
            return true;
    }
    return false;
}

} // namespace holdfast

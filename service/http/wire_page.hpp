// SPDX-License-Identifier: Apache-2.0
// Lists as JSON. `write_one(json_writer&, T const&)` writes what stands in them.
#pragma once

#include "service/json_writer.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace holdfast::http {

template <class T, class WriteOne>
void write_array(json_writer& out, std::string_view name, std::span<T const> all,
                 WriteOne const& write_one)
{
    out.key(name);
    out.begin_array();
    for (auto const& one : all)
        write_one(out, one);
    out.end_array();
}

template <class T, class WriteOne>
std::string page(std::span<T const> shown, std::optional<std::string> const& next_cursor,
                 WriteOne const& write_one)
{
    json_writer out;
    out.begin_object();
    write_array(out, "data", shown, write_one);
    out.member("next_cursor", next_cursor);
    out.end_object();
    return out.take();
}

// Of a list that was read one longer than `limit`. `cursor_after` gives the cursor that continues
// after one of it.
template <class T, class WriteOne, class CursorAfter>
std::string page(std::span<T const> found, std::size_t limit, WriteOne const& write_one,
                 CursorAfter const& cursor_after)
{
    auto const shown = found.first(std::min(limit, found.size()));
    bool const goes_on = shown.size() < found.size() && !shown.empty();
    return page(shown,
                goes_on ? std::optional<std::string>(cursor_after(shown.back())) : std::nullopt,
                write_one);
}

} // namespace holdfast::http

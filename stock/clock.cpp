// SPDX-License-Identifier: Apache-2.0
#include "stock/clock.hpp"

#include <cstdio>

namespace holdfast {

namespace {

// Takes exactly `count` decimal digits from the front of `text`.
std::optional<int> take_digits(std::string_view& text, std::size_t count) noexcept
{
    if (text.size() < count)
        return std::nullopt;
    int value = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (text[i] < '0' || text[i] > '9')
            return std::nullopt;
        value = value * 10 + (text[i] - '0');
    }
    text.remove_prefix(count);
    return value;
}

bool take(std::string_view& text, std::string_view expected) noexcept
{
    if (!text.starts_with(expected))
        return false;
    text.remove_prefix(expected.size());
    return true;
}

// Takes an optional fraction of a second, 1 to 6 digits, as microseconds.
std::optional<int> take_fraction(std::string_view& text) noexcept
{
    if (!take(text, "."))
        return 0;
    int micros = 0;
    int scale = 100'000;
    auto const before = text.size();
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
        micros += (text[0] - '0') * scale;
        scale /= 10;
        text.remove_prefix(1);
    }
    auto const digits = before - text.size();
    if (digits < 1 || digits > 6)
        return std::nullopt;
    return micros;
}

} // namespace

std::string to_rfc3339(timestamp at)
{
    using namespace std::chrono;
    auto const day = floor<days>(at);
    year_month_day const date(day);
    hh_mm_ss const time(at - day);
    char text[48];
    std::snprintf(
        text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%06dZ", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
        static_cast<int>(time.hours().count()), static_cast<int>(time.minutes().count()),
        static_cast<int>(time.seconds().count()), static_cast<int>(time.subseconds().count()));
    return text;
}

std::optional<timestamp> parse_rfc3339(std::string_view text) noexcept
{
    using namespace std::chrono;
    auto const y = take_digits(text, 4);
    auto const has_date = y && take(text, "-");
    auto const mo = has_date ? take_digits(text, 2) : std::nullopt;
    auto const d = mo && take(text, "-") ? take_digits(text, 2) : std::nullopt;
    if (!d || text.empty() || (text[0] != 'T' && text[0] != 't' && text[0] != ' '))
        return std::nullopt;
    text.remove_prefix(1);
    auto const h = take_digits(text, 2);
    auto const mi = h && take(text, ":") ? take_digits(text, 2) : std::nullopt;
    auto const s = mi && take(text, ":") ? take_digits(text, 2) : std::nullopt;
    auto const us = s ? take_fraction(text) : std::nullopt;
    if (!us || (text != "Z" && text != "z" && text != "+00:00" && text != "+00"))
        return std::nullopt;

    year_month_day const date{year(*y), month(static_cast<unsigned>(*mo)),
                              day(static_cast<unsigned>(*d))};
    if (!date.ok() || *y < 1970 || *h > 23 || *mi > 59 || *s > 59)
        return std::nullopt;
    return sys_days(date) + hours(*h) + minutes(*mi) + seconds(*s) + microseconds(*us);
}

} // namespace holdfast

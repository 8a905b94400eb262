// SPDX-License-Identifier: Apache-2.0
#include "service/json_writer.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

namespace holdfast {

void json_writer::key(std::string_view name)
{
    separate();
    quoted(name);
    text_ += ':';
    needs_comma_ = false;
}

void json_writer::value(std::string_view text)
{
    separate();
    quoted(text);
}

void json_writer::raw(std::string_view json)
{
    separate();
    text_ += json;
}

std::string json_writer::take()
{
    needs_comma_ = false;
    return std::exchange(text_, {});
}

void json_writer::open(char bracket)
{
    separate();
    text_ += bracket;
    needs_comma_ = false;
}

void json_writer::close(char bracket)
{
    text_ += bracket;
    needs_comma_ = true;
}

void json_writer::separate()
{
    if (needs_comma_)
        text_ += ',';
    needs_comma_ = true;
}

void json_writer::quoted(std::string_view text)
{
    constexpr std::string_view digits = "0123456789abcdef";
    text_ += '"';
    std::size_t done = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const c = static_cast<unsigned char>(text[i]);
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        text_ += text.substr(done, i - done);
        done = i + 1;
        switch (c) {
        case '"': text_ += "\\\""; break;
        case '\\': text_ += "\\\\"; break;
        case '\n': text_ += "\\n"; break;
        case '\r': text_ += "\\r"; break;
        case '\t': text_ += "\\t"; break;
        default:
            text_ += "\\u00";
            text_ += digits[c >> 4];
            text_ += digits[c & 0xFU];
        }
    }
    text_ += text.substr(done);
    text_ += '"';
}

void json_writer::integer(std::int64_t number)
{
    separate();
    std::array<char, 24> digits{};
    auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    text_.append(digits.data(), end);
}

} // namespace holdfast

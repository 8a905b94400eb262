// SPDX-License-Identifier: Apache-2.0
#include "bench/answer_reader.hpp"

#include <charconv>
#include <stdexcept>

namespace holdfast::bench {

namespace {

constexpr std::size_t head_bytes_max = 16 * 1024;
constexpr std::string_view version = "HTTP/1.1 ";
constexpr std::string_view length_field = "\r\nContent-Length: ";
constexpr std::string_view empty_line = "\r\n\r\n";

template <class Number>
Number number_at(std::string_view text, std::size_t at)
{
    Number value{};
    auto const read = std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (read.ec != std::errc{})
        throw std::runtime_error("an answer has no readable head: " + std::string(text));
    return value;
}

} // namespace

std::optional<std::size_t> answer_reader::end_of_head(std::string_view bytes)
{
    auto const at = bytes.find(empty_line);
    if (at == std::string_view::npos)
        return std::nullopt;
    return at + empty_line.size();
}

void answer_reader::read_head(std::string_view head)
{
    auto const length = head.find(length_field);
    if (!head.starts_with(version) || length == std::string_view::npos)
        throw std::runtime_error("an answer is not the service's: " + std::string(head));
    status_ = number_at<int>(head, version.size());
    missing_ = number_at<std::size_t>(head, length + length_field.size());
    is_in_body_ = true;
}

std::optional<int> answer_reader::take(std::string_view bytes)
{
    if (!is_in_body_) {
        // Nearly every answer comes in one piece, and then nothing is copied.
        std::string_view so_far = bytes;
        if (!head_.empty())
            so_far = head_.append(bytes);
        auto const end = end_of_head(so_far);
        if (!end) {
            if (head_.empty())
                head_ = bytes;
            if (head_.size() > head_bytes_max)
                throw std::runtime_error("the head of an answer does not end");
            return std::nullopt;
        }
        read_head(so_far.substr(0, *end));
        bytes = bytes.substr(bytes.size() - (so_far.size() - *end));
        head_.clear();
    }
    if (bytes.size() > missing_)
        throw std::runtime_error("more came than the one answer that was asked for");
    missing_ -= bytes.size();
    if (missing_ > 0)
        return std::nullopt;
    is_in_body_ = false;
    return status_;
}

} // namespace holdfast::bench

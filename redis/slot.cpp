// SPDX-License-Identifier: Apache-2.0
#include "redis/slot.hpp"

#include <boost/crc.hpp>

namespace holdfast::redis {

namespace {

std::string_view hash_tag_of(std::string_view key) noexcept
{
    auto const open = key.find('{');
    if (open == std::string_view::npos)
        return key;
    auto const close = key.find('}', open);
    if (close == std::string_view::npos || close == open + 1)
        return key;
    return key.substr(open + 1, close - open - 1);
}

} // namespace

std::uint16_t slot_of(std::string_view key) noexcept
{
    auto const tag = hash_tag_of(key);
    boost::crc_xmodem_t crc;
    crc.process_bytes(tag.data(), tag.size());
    return static_cast<std::uint16_t>(crc.checksum() % slot_count);
}

} // namespace holdfast::redis

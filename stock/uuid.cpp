// SPDX-License-Identifier: Apache-2.0
#include "stock/uuid.hpp"

#include "stock/hex_digit.hpp"

#include <chrono>
#include <random>

namespace holdfast {

namespace {

std::mt19937_64& random_bits()
{
    thread_local std::mt19937_64 engine = [] {
        std::random_device device;
        std::seed_seq seed{device(), device(), device(), device(), device(), device()};
        return std::mt19937_64(seed);
    }();
    return engine;
}

bool is_hyphen_place(std::size_t i) noexcept
{
    return i == 8 || i == 13 || i == 18 || i == 23;
}

} // namespace

uuid uuid::make_v7()
{
    return make_v7(static_cast<std::uint16_t>(random_bits()() & hint_max));
}

uuid uuid::make_v7(std::uint16_t hint)
{
    using namespace std::chrono;
    auto const ns = static_cast<std::uint64_t>(
        duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count());
    auto const ms = ns / 1'000'000;
    auto const fraction = ns % 1'000'000 * 4096 / 1'000'000;
    std::uint64_t const high = (ms << 16) | 0x7000 | fraction;
    std::uint64_t const random = random_bits()() & 0x3fff'ffff'ffff'f000;
    std::uint64_t const low = 0x8000'0000'0000'0000 | random | (hint & hint_max);

    uuid id;
    for (std::size_t i = 0; i < 8; ++i) {
        id.bytes_[i] = static_cast<std::uint8_t>(high >> (56 - 8 * i));
        id.bytes_[8 + i] = static_cast<std::uint8_t>(low >> (56 - 8 * i));
    }
    return id;
}

std::uint16_t uuid::hint() const noexcept
{
    return static_cast<std::uint16_t>((bytes_[14] & 0x0f) << 8 | bytes_[15]);
}

std::optional<uuid> uuid::parse(std::string_view text) noexcept
{
    if (text.size() != 36)
        return std::nullopt;
    uuid id;
    std::size_t nibble = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (is_hyphen_place(i)) {
            if (text[i] != '-')
                return std::nullopt;
            continue;
        }
        auto const digit = value_of_hex_digit(text[i]);
        if (digit < 0)
            return std::nullopt;
        auto& byte = id.bytes_[nibble / 2];
        byte = static_cast<std::uint8_t>(byte << 4 | digit);
        ++nibble;
    }
    return id;
}

std::string uuid::str() const
{
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    text.reserve(36);
    for (auto const byte : bytes_) {
        if (is_hyphen_place(text.size()))
            text += '-';
        text += digits[byte >> 4];
        text += digits[byte & 15];
    }
    return text;
}

} // namespace holdfast

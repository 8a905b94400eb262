// SPDX-License-Identifier: Apache-2.0

#include "service/cli/keys.hpp"

#include <sodium.h>

#include <array>
#include <span>
#include <stdexcept>

namespace holdfast::cli {

namespace {

std::string hex(std::string_view prefix, std::span<unsigned char const> bytes)
{
    constexpr std::string_view digits = "0123456789abcdef";
    std::string key{prefix};
    key += '-';
    for (auto const byte : bytes) {
        key += digits[byte >> 4U];
        key += digits[byte & 0x0FU];
    }
    return key;
}

void require_sodium()
{
    if (sodium_init() < 0)
        throw std::runtime_error("libsodium could not be started: no source of random numbers");
}

} // namespace

std::string random_key(std::string_view prefix)
{
    require_sodium();
    std::array<unsigned char, 16> bytes{};
    randombytes_buf(bytes.data(), bytes.size());
    return hex(prefix, bytes);
}

std::string content_key(std::string_view prefix, std::string_view content)
{
    require_sodium();
    std::array<unsigned char, 32> hash{};
    crypto_generichash(hash.data(), hash.size(),
                       reinterpret_cast<unsigned char const*>(content.data()), content.size(),
                       nullptr, 0);
    return hex(prefix, hash);
}

} // namespace holdfast::cli

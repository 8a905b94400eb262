// SPDX-License-Identifier: Apache-2.0
#include "service/secrets.hpp"

#include <sodium.h>

#include <cstddef>
#include <stdexcept>

namespace holdfast {

namespace {

// Starts libsodium before its first use in this process; further calls cost one comparison.
void require_sodium()
{
    static bool const is_ready = sodium_init() >= 0;
    if (!is_ready)
        throw std::runtime_error("libsodium cannot start: this system gives it no random numbers");
}

template <std::size_t Size>
std::array<std::uint8_t, Size> blake2b(std::string_view text)
{
    static_assert(Size >= crypto_generichash_BYTES_MIN && Size <= crypto_generichash_BYTES_MAX);
    require_sodium();
    std::array<std::uint8_t, Size> digest{};
    crypto_generichash(digest.data(), digest.size(),
                       reinterpret_cast<unsigned char const*>(text.data()), text.size(), nullptr,
                       0);
    return digest;
}

} // namespace

std::string make_api_key()
{
    require_sodium();
    std::array<std::uint8_t, 32> secret{};
    randombytes_buf(secret.data(), secret.size());
    return "hf_" + to_base64url(secret);
}

key_hash hash_api_key(std::string_view key)
{
    return blake2b<std::tuple_size_v<key_hash>>(key);
}

request_fingerprint fingerprint(std::string_view canonical_request)
{
    return blake2b<std::tuple_size_v<request_fingerprint>>(canonical_request);
}

std::string to_hex(std::span<std::uint8_t const> bytes)
{
    std::string text(bytes.size() * 2 + 1, '\0');
    sodium_bin2hex(text.data(), text.size(), bytes.data(), bytes.size());
    text.pop_back();
    return text;
}

std::string to_base64url(std::span<std::uint8_t const> bytes)
{
    constexpr auto variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;
    std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
    sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), variant);
    text.pop_back();
    return text;
}

} // namespace holdfast

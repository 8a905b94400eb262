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

constexpr std::string_view whsec_prefix = "whsec_";

std::string to_base64(std::span<std::uint8_t const> bytes, int variant)
{
    std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
    sodium_bin2base64(text.data(), text.size(), bytes.data(), bytes.size(), variant);
    text.pop_back();
    return text;
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
    return to_base64(bytes, sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

bool parse_base64url(std::string_view text, std::span<std::uint8_t> bytes)
{
    std::size_t size = 0;
    char const* end = nullptr;
    return sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size,
                             &end, sodium_base64_VARIANT_URLSAFE_NO_PADDING) == 0 &&
           end == text.data() + text.size() && size == bytes.size();
}

shared_secret make_shared_secret()
{
    static_assert(std::tuple_size_v<shared_secret> == crypto_auth_KEYBYTES);
    require_sodium();
    shared_secret secret{};
    randombytes_buf(secret.data(), secret.size());
    return secret;
}

authentication_code authenticate(shared_secret const& secret, std::string_view message)
{
    static_assert(std::tuple_size_v<authentication_code> == crypto_auth_BYTES);
    require_sodium();
    authentication_code code{};
    crypto_auth(code.data(), reinterpret_cast<unsigned char const*>(message.data()), message.size(),
                secret.data());
    return code;
}

bool is_authentic(authentication_code const& code, shared_secret const& secret,
                  std::string_view message)
{
    require_sodium();
    return crypto_auth_verify(code.data(), reinterpret_cast<unsigned char const*>(message.data()),
                              message.size(), secret.data()) == 0;
}

std::vector<std::uint8_t> make_webhook_secret()
{
    require_sodium();
    std::vector<std::uint8_t> secret(32);
    randombytes_buf(secret.data(), secret.size());
    return secret;
}

std::string to_whsec(std::span<std::uint8_t const> secret)
{
    return std::string(whsec_prefix) + to_base64(secret, sodium_base64_VARIANT_ORIGINAL);
}

std::optional<std::vector<std::uint8_t>> parse_whsec(std::string_view text)
{
    if (!text.starts_with(whsec_prefix))
        return std::nullopt;
    text.remove_prefix(whsec_prefix.size());
    if (text.empty())
        return std::nullopt;
    std::vector<std::uint8_t> bytes(text.size());
    std::size_t size = 0;
    char const* end = nullptr;
    if (sodium_base642bin(bytes.data(), bytes.size(), text.data(), text.size(), nullptr, &size,
                          &end, sodium_base64_VARIANT_ORIGINAL) != 0 ||
        end != text.data() + text.size() || size < 24 || size > 64)
        return std::nullopt;
    bytes.resize(size);
    return bytes;
}

std::string webhook_signature(std::span<std::uint8_t const> secret, std::string_view id,
                              std::string_view timestamp, std::string_view body)
{
    require_sodium();
    crypto_auth_hmacsha256_state state;
    crypto_auth_hmacsha256_init(&state, secret.data(), secret.size());
    for (auto const part : {id, std::string_view("."), timestamp, std::string_view("."), body})
        crypto_auth_hmacsha256_update(&state, reinterpret_cast<unsigned char const*>(part.data()),
                                      part.size());
    std::array<std::uint8_t, crypto_auth_hmacsha256_BYTES> digest{};
    crypto_auth_hmacsha256_final(&state, digest.data());
    return "v1," + to_base64(digest, sodium_base64_VARIANT_ORIGINAL);
}

bool is_same_secret(std::string_view a, std::string_view b) noexcept
{
    return a.size() == b.size() && sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

} // namespace holdfast

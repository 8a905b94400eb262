// SPDX-License-Identifier: Apache-2.0
// API keys, digests and signatures, over libsodium.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// What is stored of an API key.
using key_hash = std::array<std::uint8_t, 32>;

// What is stored of a request, to tell whether a later one with the same key asks for the same.
using request_fingerprint = std::array<std::uint8_t, 16>;

// A new API key: "hf_" and 32 random bytes in base64url, 46 characters in all. The prefix lets
// scanners for leaked secrets, and people, see what it is.
[[nodiscard]] std::string make_api_key();

// BLAKE2b-256. Keys are found by their hash, so there is no comparison of secrets to be timed. A
// fast hash is right here: an API key holds 256 random bits, which nobody can guess through, so
// slowness as for passwords would only slow the service down.
[[nodiscard]] key_hash hash_api_key(std::string_view key);

// BLAKE2b-128 of a request written in one canonical way.
[[nodiscard]] request_fingerprint fingerprint(std::string_view canonical_request);

// Lower-case hexadecimal.
[[nodiscard]] std::string to_hex(std::span<std::uint8_t const>);

// RFC 4648, section 5, without padding.
[[nodiscard]] std::string to_base64url(std::span<std::uint8_t const>);

// The bytes behind such a text, when it is one of exactly as many: only one text stands for them.
[[nodiscard]] bool parse_base64url(std::string_view text, std::span<std::uint8_t> bytes);

// What signs where only those who sign also check.
using shared_secret = std::array<std::uint8_t, 32>;
using authentication_code = std::array<std::uint8_t, 32>;

[[nodiscard]] shared_secret make_shared_secret();

// HMAC-SHA512-256 of a message.
[[nodiscard]] authentication_code authenticate(shared_secret const&, std::string_view message);

// Compares in a time that tells nothing of where they differ.
[[nodiscard]] bool is_authentic(authentication_code const&, shared_secret const&,
                                std::string_view message);

// A new secret of a webhook: 32 random bytes.
[[nodiscard]] std::vector<std::uint8_t> make_webhook_secret();

// "whsec_" and base64 (Standard Webhooks 1.0.0, "Signature scheme").
[[nodiscard]] std::string to_whsec(std::span<std::uint8_t const> secret);

// The bytes behind such a text: 24 to 64 of them. Nothing when it is none.
[[nodiscard]] std::optional<std::vector<std::uint8_t>> parse_whsec(std::string_view text);

// "v1," and the base64 of HMAC-SHA256 over "id.timestamp.body".
[[nodiscard]] std::string webhook_signature(std::span<std::uint8_t const> secret,
                                            std::string_view id, std::string_view timestamp,
                                            std::string_view body);

// Compares in a time that tells nothing of where they differ.
[[nodiscard]] bool is_same_secret(std::string_view a, std::string_view b) noexcept;

} // namespace holdfast

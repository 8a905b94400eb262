// SPDX-License-Identifier: Apache-2.0
#include "service/passwords.hpp"

#include "service/overload.hpp"
#include "stock/sku.hpp"
#include "stock/text.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>

namespace holdfast {

namespace {

constexpr std::size_t length_min = 10;
constexpr std::size_t length_max = 200;

void require_sodium()
{
    if (sodium_init() < 0)
        throw std::runtime_error("libsodium cannot start: this system gives it no random numbers");
}

// Every byte but the second and later ones of a UTF-8 character begins one.
std::size_t length_of(std::string_view text)
{
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

} // namespace

std::optional<std::string> fault_of_password(std::string_view text)
{
    auto const normal = to_nfc(text);
    if (!normal)
        return "must be valid UTF-8";
    if (auto fault = fault_of_text(*normal, length_max))
        return fault;
    if (length_of(*normal) < length_min)
        return "must have at least " + std::to_string(length_min) + " characters";
    return std::nullopt;
}

std::string hash_password(std::string_view password)
{
    require_sodium();
    auto const normal = to_nfc(password).value();
    std::array<char, crypto_pwhash_STRBYTES> hash{};
    if (crypto_pwhash_str(hash.data(), normal.data(), normal.size(),
                          crypto_pwhash_OPSLIMIT_INTERACTIVE,
                          crypto_pwhash_MEMLIMIT_INTERACTIVE) != 0)
        throw overloaded();
    return hash.data();
}

bool is_password(std::string const& hash, std::string_view password)
{
    require_sodium();
    // libsodium reads as many bytes as a hash may have at most.
    std::array<char, crypto_pwhash_STRBYTES> stored{};
    if (hash.size() >= stored.size())
        return false;
    std::ranges::copy(hash, stored.begin());
    auto const normal = to_nfc(password).value_or(std::string());
    return crypto_pwhash_str_verify(stored.data(), normal.data(), normal.size()) == 0;
}

std::string const& nobodys_hash()
{
    // As hash_password() makes them, of a digest that is all zeros.
    static std::string const hash =
        "$argon2id$v=19$m=65536,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$" + std::string(43, 'A');
    static_assert(crypto_pwhash_MEMLIMIT_INTERACTIVE == 65536 * 1024 &&
                  crypto_pwhash_OPSLIMIT_INTERACTIVE == 2);
    return hash;
}

} // namespace holdfast

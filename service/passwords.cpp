// SPDX-License-Identifier: Apache-2.0
#include "service/passwords.hpp"

#include "service/log.hpp"
#include "service/overload.hpp"
#include "stock/sku.hpp"
#include "stock/text.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
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

// Nothing can be said of the password then, and least of all that it is wrong.
[[noreturn]] void throw_no_memory()
{
    log::warning("password.no_memory", {{"bytes_wanted", crypto_pwhash_MEMLIMIT_INTERACTIVE}});
    throw overloaded();
}

// What a stored hash says: "$argon2id$v=19$m=KIB,t=PASSES,p=1$SALT$DIGEST".
struct stored_hash {
    std::uint64_t kibibytes = 0;
    std::uint64_t passes = 0;
    std::array<unsigned char, crypto_pwhash_SALTBYTES> salt{};
    std::array<unsigned char, 32> digest{};
};

// Takes what stands before the text `end` off the rest; all of it when the text is not there.
std::string_view take_until(std::string_view& rest, std::string_view end)
{
    auto const at = std::min(rest.find(end), rest.size());
    auto const taken = rest.substr(0, at);
    rest.remove_prefix(std::min(at + end.size(), rest.size()));
    return taken;
}

bool read_number(std::string_view text, std::uint64_t& into)
{
    auto const read = std::from_chars(text.data(), text.data() + text.size(), into);
    return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

bool read_bytes(std::string_view text, std::span<unsigned char> into)
{
    std::size_t length = 0;
    return sodium_base642bin(into.data(), into.size(), text.data(), text.size(), nullptr, &length,
                             nullptr, sodium_base64_VARIANT_ORIGINAL_NO_PADDING) == 0 &&
           length == into.size();
}

std::optional<stored_hash> parse_hash(std::string_view text)
{
    constexpr std::string_view head = "$argon2id$v=19$m=";
    if (!text.starts_with(head))
        return std::nullopt;
    text.remove_prefix(head.size());
    stored_hash read;
    bool const is_read = read_number(take_until(text, ",t="), read.kibibytes) &&
                         read_number(take_until(text, ",p=1$"), read.passes) &&
                         read_bytes(take_until(text, "$"), read.salt) &&
                         read_bytes(text, read.digest);
    return is_read ? std::optional(read) : std::nullopt;
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
        throw_no_memory();
    return hash.data();
}

// Not crypto_pwhash_str_verify(): to that, a password it had no memory to look at is a wrong one.
bool is_password(std::string const& hash, std::string_view password)
{
    require_sodium();
    auto const stored = parse_hash(hash);
    if (!stored)
        return false;
    auto const normal = to_nfc(password).value_or(std::string());
    std::array<unsigned char, std::tuple_size_v<decltype(stored->digest)>> digest{};
    if (crypto_pwhash(digest.data(), digest.size(), normal.data(), normal.size(),
                      stored->salt.data(), stored->passes, stored->kibibytes * 1024,
                      crypto_pwhash_ALG_ARGON2ID13) != 0)
        throw_no_memory();
    return sodium_memcmp(digest.data(), stored->digest.data(), digest.size()) == 0;
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

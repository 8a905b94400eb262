// SPDX-License-Identifier: Apache-2.0
// API keys and digests, against published test vectors.
#include "service/secrets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

using namespace holdfast;

namespace {

std::span<std::uint8_t const> bytes_of(std::string_view text)
{
    return {reinterpret_cast<std::uint8_t const*>(text.data()), text.size()};
}

} // namespace

TEST_CASE("a new API key says what it is, holds 256 random bits, and is never made twice")
{
    constexpr std::string_view base64url =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::set<std::string> made;

    for (int i = 0; i < 1000; ++i) {
        auto const key = make_api_key();
        CHECK(key.size() == 46);
        CHECK(key.starts_with("hf_"));
        CHECK(key.find_first_not_of(base64url, 3) == std::string::npos);
        CHECK(made.insert(key).second);
    }
}

TEST_CASE("a key's hash is BLAKE2b-256 of its text")
{
    CHECK(to_hex(hash_api_key("")) ==
          "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
    CHECK(to_hex(hash_api_key("abc")) ==
          "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    CHECK(hash_api_key("hf_a") != hash_api_key("hf_b"));
}

TEST_CASE("a request's fingerprint is BLAKE2b-128 and differs for the smallest change")
{
    CHECK(to_hex(fingerprint("abc")) == "cf4ab791c62b8d2b2109c90275287816");
    CHECK(fingerprint(R"({"quantity":1})") == fingerprint(R"({"quantity":1})"));
    CHECK(fingerprint(R"({"quantity":1})") != fingerprint(R"({"quantity":2})"));
    CHECK(fingerprint(std::string_view("a\0b", 3)) != fingerprint("a"));
}

TEST_CASE("hexadecimal and base64url are written as the RFC writes them")
{
    CHECK(to_hex(std::array<std::uint8_t, 4>{0x00, 0x0F, 0xA0, 0xFF}) == "000fa0ff");
    CHECK(to_hex({}).empty());

    CHECK(to_base64url({}).empty());
    CHECK(to_base64url(bytes_of("f")) == "Zg");
    CHECK(to_base64url(bytes_of("fo")) == "Zm8");
    CHECK(to_base64url(bytes_of("foobar")) == "Zm9vYmFy");
    CHECK(to_base64url(std::array<std::uint8_t, 2>{0xFB, 0xFF}) == "-_8");
}

TEST_CASE("a webhook's signature is the one of the specification's example")
{
    auto const secret = parse_whsec("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    REQUIRE(secret);
    CHECK(secret->size() == 24);
    CHECK(webhook_signature(*secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330",
                            R"({"test": 2432232314})") ==
          "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    CHECK(to_whsec(*secret) == "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    auto const made = make_webhook_secret();
    CHECK(made.size() == 32);
    CHECK(parse_whsec(to_whsec(made)) == made);
    CHECK(make_webhook_secret() != made);
    for (auto const* odd : {"", "whsec_", "whsec_AAAA", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
                            "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS", "whsec_****"})
        CHECK_FALSE(parse_whsec(odd).has_value());
    CHECK(is_same_secret("abc", "abc"));
    CHECK_FALSE(is_same_secret("abc", "abd"));
    CHECK_FALSE(is_same_secret("abc", "abcd"));
}

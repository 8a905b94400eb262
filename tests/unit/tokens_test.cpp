// SPDX-License-Identifier: Apache-2.0
// A token is good for its bearer only, and nobody can make one or change one.
#include "service/tokens.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <string_view>

using namespace holdfast;

namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

token some_token()
{
    return {uuid::parse("0190a6c2-7d1e-7c3a-9b54-1f2e3d4c5b6a").value(),
            parse_rfc3339("2026-11-29T17:27:15.042Z").value()};
}

token_bearer bearer(std::string_view name, std::string customer)
{
    return {sku(std::string(name)), std::move(customer)};
}

} // namespace

TEST_CASE("a token is read as it was made, and says nothing of its bearer")
{
    auto const secret = make_shared_secret();
    auto const who = bearer("HYPE-1", "c-42");
    auto const text = to_text(some_token(), who, secret);
    CHECK(text.size() == 75);
    CHECK(text.find_first_not_of(alphabet) == std::string::npos);
    CHECK(parse_token(text, who, secret) == some_token());
    CHECK(to_text(some_token(), who, secret) == text);
}

TEST_CASE("a token is nobody else's, for nothing else, and of no other secret")
{
    auto const secret = make_shared_secret();
    auto const text = to_text(some_token(), bearer("HYPE-1", "c-42"), secret);
    CHECK_FALSE(parse_token(text, bearer("HYPE-1", "c-43"), secret));
    CHECK_FALSE(parse_token(text, bearer("HYPE-2", "c-42"), secret));
    CHECK_FALSE(parse_token(text, bearer("HYPE-1c", "-42"), secret));
    CHECK_FALSE(parse_token(text, bearer("HYPE-", "1c-42"), secret));
    CHECK_FALSE(parse_token(text, bearer("HYPE-1", "c-42"), make_shared_secret()));
}

TEST_CASE("a token of which any bit is changed is refused")
{
    auto const secret = make_shared_secret();
    auto const who = bearer("HYPE-1", "c-42");
    auto const text = to_text(some_token(), who, secret);
    // Six bits a character; of the last one two are beyond the end, and have to be 0.
    for (std::size_t at = 0; at < text.size(); ++at)
        for (std::size_t bit = 0; bit < 6; ++bit) {
            CAPTURE(at);
            CAPTURE(bit);
            auto changed = text;
            changed[at] = alphabet[alphabet.find(text[at]) ^ (std::size_t{1} << bit)];
            CHECK_FALSE(parse_token(changed, who, secret));
        }
}

TEST_CASE("what is no token in its one form is refused")
{
    auto const secret = make_shared_secret();
    auto const who = bearer("HYPE-1", "c-42");
    auto const text = to_text(some_token(), who, secret);
    for (auto const& wrong :
         {std::string(), text.substr(1), text.substr(0, 74), text + "A", text + "=", text + "\n",
          " " + text, "+" + text.substr(1), "/" + text.substr(1), "\xC3\xA9" + text.substr(2),
          std::string(75, '\0'), std::string(75, 'A'), std::string(200, 'A')})
        CHECK_MESSAGE(!parse_token(wrong, who, secret), wrong);
}

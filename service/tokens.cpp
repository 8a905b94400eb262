// SPDX-License-Identifier: Apache-2.0
#include "service/tokens.hpp"

#include "db/tokens.hpp"
#include "db/transact.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace holdfast {

namespace {

// Stands before what is signed: another layout gets another number, and no code fits both.
constexpr std::uint8_t layout = 1;

constexpr std::size_t id_size = 16;
constexpr std::size_t expiry_size = 8;
constexpr std::size_t code_size = std::tuple_size_v<authentication_code>;
constexpr std::size_t token_size = id_size + expiry_size + code_size;

void append_number(std::string& to, std::uint64_t number, std::size_t bytes)
{
    for (auto n = bytes; n > 0; --n)
        to += static_cast<char>(number >> (8 * (n - 1)) & 0xFFU);
}

// With its length before it, so that no two lists of texts read the same.
void append_text(std::string& to, std::string_view text)
{
    append_number(to, text.size(), 4);
    to += text;
}

// The id and the expiry, as they stand in the token.
std::string head_of(token const& what)
{
    std::string head;
    for (auto const byte : what.id.bytes())
        head += static_cast<char>(byte);
    auto const expiry =
        std::chrono::floor<std::chrono::milliseconds>(what.expires_at).time_since_epoch();
    append_number(head, static_cast<std::uint64_t>(expiry.count()), expiry_size);
    return head;
}

std::string signed_text(std::string_view head, token_bearer const& bearer)
{
    std::string text(1, static_cast<char>(layout));
    text += head;
    append_text(text, bearer.sku.str());
    append_text(text, bearer.customer);
    return text;
}

token token_in(std::span<std::uint8_t const> head)
{
    std::array<std::uint8_t, id_size> id{};
    std::copy_n(head.begin(), id_size, id.begin());
    std::uint64_t expiry = 0;
    for (auto const byte : head.subspan(id_size))
        expiry = expiry << 8U | byte;
    return {uuid::of(id), timestamp(std::chrono::milliseconds(static_cast<std::int64_t>(expiry)))};
}

} // namespace

std::string to_text(token const& what, token_bearer const& bearer, shared_secret const& secret)
{
    auto const head = head_of(what);
    auto const code = authenticate(secret, signed_text(head, bearer));
    std::vector<std::uint8_t> bytes(head.begin(), head.end());
    bytes.insert(bytes.end(), code.begin(), code.end());
    return to_base64url(bytes);
}

std::optional<token> parse_token(std::string_view text, token_bearer const& bearer,
                                 shared_secret const& secret)
{
    std::array<std::uint8_t, token_size> bytes{};
    if (!parse_base64url(text, bytes))
        return std::nullopt;
    auto const head = std::span<std::uint8_t const>(bytes).first(id_size + expiry_size);
    authentication_code code{};
    std::copy_n(bytes.end() - code_size, code_size, code.begin());
    if (!is_authentic(code, secret, signed_text(std::string(head.begin(), head.end()), bearer)))
        return std::nullopt;
    return token_in(head);
}

shared_secret token_secret::make(db::link& link)
{
    if (auto const known = remembered())
        return *known;
    auto const found = db::transact(link, [](db::transaction& tx) {
        db::tokens::make_secret(tx, make_shared_secret());
        return db::tokens::find_secret(tx).value();
    });
    remember(found);
    return found;
}

std::optional<shared_secret> token_secret::find(db::transaction& tx)
{
    if (auto const known = remembered())
        return known;
    auto const found = db::tokens::find_secret(tx);
    if (found)
        remember(*found);
    return found;
}

std::optional<shared_secret> token_secret::remembered() const
{
    std::scoped_lock const lock(mutex_);
    return known_;
}

void token_secret::remember(shared_secret const& found)
{
    std::scoped_lock const lock(mutex_);
    known_ = found;
}

} // namespace holdfast

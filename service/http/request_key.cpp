// SPDX-License-Identifier: Apache-2.0
#include "service/http/request_key.hpp"

#include "service/http/body_reader.hpp"
#include "service/http/text.hpp"
#include "service/secrets.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace holdfast::http {

namespace {

// The one Idempotency-Key of a request. Notes a fault when there is no telling what it is.
std::optional<std::string> read_key(request const& req, invalid_members& faults)
{
    constexpr std::string_view name = "idempotency-key";
    constexpr std::string_view key_pointer = "/header/idempotency-key";
    auto const is_key = [&](auto const& header) { return header.first == name; };
    auto const count = std::ranges::count_if(req.headers, is_key);
    if (count == 0)
        return std::nullopt;
    if (count > 1) {
        faults.add(std::string(key_pointer), "must be there once");
        return std::nullopt;
    }
    auto key = parse_idempotency_key(std::ranges::find_if(req.headers, is_key)->second);
    if (!key)
        faults.add(std::string(key_pointer), "must be 1 to 255 printable ASCII characters, "
                                             "bare or as a quoted string");
    return key;
}

} // namespace

void refuse_query(request const& req, invalid_members& faults)
{
    query_reader(req.query, faults).finish();
}

result<request_key> key_of(request const& req, asked_for const& what, invalid_members& faults)
{
    auto key = read_key(req, faults);
    HOLDFAST_TRY_VOID(refuse_if_any(faults));
    if (!key)
        return refusal{.code = errc::idempotency_key_missing,
                       .detail = "Send an Idempotency-Key header: one for each thing you mean to "
                                 "happen, the same when you retry."};

    std::string canonical(what.operation);
    for (auto const& part : req.captured)
        canonical += '\n' + part;
    canonical += '\n' + what.asked;
    return request_key{.api_key_id = req.who.api_key_id,
                       .key = std::move(*key),
                       .fingerprint = fingerprint(canonical)};
}

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// The key of a request that is done once, however often it is sent.
#pragma once

#include "service/http/json.hpp"
#include "service/http/message.hpp"
#include "service/idempotency.hpp"
#include "stock/result.hpp"

#include <string>
#include <string_view>

namespace holdfast::http {

// Notes every parameter of the query, for requests that take none.
void refuse_query(request const&, invalid_members& faults);

// What a request asks for: `operation` names the route, `asked` the rest in one canonical way.
struct asked_for {
    std::string_view operation;
    std::string asked;
};

// The key of a request, after everything else was read: what is wrong with the request comes first.
// Refusals: validation_failed with the faults there are, idempotency_key_missing.
[[nodiscard]] result<request_key> key_of(request const&, asked_for const&, invalid_members& faults);

} // namespace holdfast::http

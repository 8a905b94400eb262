// SPDX-License-Identifier: Apache-2.0
// The reply to a request that is done once, however often it is sent.
#pragma once

#include "service/http/message.hpp"
#include "service/http/wire.hpp"
#include "service/idempotency.hpp"

namespace holdfast::http {

template <class T>
[[nodiscard]] reply done(outcome<T> const& answer, int status)
{
    reply done{.status = status, .body = to_json(answer.value)};
    if (answer.is_replay)
        done.headers.emplace_back("Idempotent-Replayed", "true");
    return done;
}

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// Tokens: ask to be let in, and stand in line.

#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"

#include <string>
#include <variant>

namespace holdfast::http {

// POST /v1/tokens
pending_reply give_token(request const& req, app& service)
{
    auto const bearer = parse_token_request(req);
    if (!bearer)
        co_return problem(bearer.error(), req);

    auto const answer = co_await service.door.knock(*bearer);
    if (!answer)
        co_return problem(answer.error(), req);

    if (auto const* in = std::get_if<fast_path::let_in>(&*answer))
        co_return reply{.status = 201, .body = to_json(*bearer, *in)};
    auto const& place = std::get<fast_path::told_to_wait>(*answer);
    reply waiting{.status = 202, .body = to_json(*bearer, place)};
    waiting.headers.emplace_back("Retry-After", std::to_string(place.retry_after.count()));
    co_return waiting;
}

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// Whether a request to reserve shows the token that one of its items asks for.
#pragma once

#include "db/reservations.hpp"
#include "service/reservations.hpp"
#include "service/tokens.hpp"
#include "stock/result.hpp"

#include <optional>

namespace holdfast {

// Whom the token has to be for; nothing when no item asks for one. Refusals: validation_failed
// (more than one item that does, no customer, a token that nothing asks for).
[[nodiscard]] result<std::optional<token_bearer>> bearer_wanted(reserve_command const&,
                                                                db::reservations::view const&);

// The token that the request shows, by the clock of the look. Without a secret none is good.
// Refusals: token_required, token_invalid, token_expired.
[[nodiscard]] result<token> token_shown(reserve_command const&, token_bearer const&,
                                        std::optional<shared_secret> const&, timestamp now);

[[nodiscard]] refusal token_is_used(token_bearer const&);

} // namespace holdfast

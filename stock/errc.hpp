// SPDX-License-Identifier: Apache-2.0
// Refusals a caller can meet, in order of precedence: when several apply, the first is the answer.
#pragma once

#include <string_view>

namespace holdfast {

enum class errc {
    malformed_json,
    validation_failed,
    idempotency_key_missing,
    unauthenticated,
    forbidden,
    not_found,
    method_not_allowed,
    payload_too_large,
    unsupported_media_type,
    rate_limited,
    idempotency_key_reused,
    idempotency_key_in_progress,
    unknown_sku,
    customer_blocked,
    unknown_reservation,
    events_expired,
    precondition_required,
    precondition_failed,
    last_owner,
    count_closed,
    already_confirmed,
    already_released,
    reservation_expired,
    not_on_sale,
    token_required,
    token_invalid,
    token_expired,
    token_used,
    customer_limit,
    insufficient_stock,
    would_go_negative,
    would_be_short,
    quantity_overflow,
};

// The stable name of a refusal in the API, such as "insufficient-stock".
[[nodiscard]] std::string_view slug(errc) noexcept;

// One short sentence for people, the same for every occurrence (RFC 9457 `title`).
[[nodiscard]] std::string_view title(errc) noexcept;

} // namespace holdfast

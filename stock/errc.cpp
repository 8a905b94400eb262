// SPDX-License-Identifier: Apache-2.0
#include "stock/errc.hpp"

namespace holdfast {

namespace {

struct text {
    std::string_view slug;
    std::string_view title;
};

text text_of(errc code) noexcept
{
    switch (code) {
    case errc::malformed_json: return {"malformed-json", "The body is not valid JSON"};
    case errc::validation_failed: return {"validation-failed", "The request is not valid"};
    case errc::idempotency_key_missing:
        return {"idempotency-key-missing", "An Idempotency-Key header is required"};
    case errc::unauthenticated:
        return {"unauthenticated", "A valid API key or sign-in is required"};
    case errc::forbidden: return {"forbidden", "This caller may not do that"};
    case errc::not_found: return {"not-found", "There is nothing at this address"};
    case errc::method_not_allowed:
        return {"method-not-allowed", "This address does not take that method"};
    case errc::payload_too_large: return {"payload-too-large", "The body is too large"};
    case errc::unsupported_media_type:
        return {"unsupported-media-type", "The body's media type is not accepted here"};
    case errc::rate_limited: return {"rate-limited", "Too many requests"};
    case errc::idempotency_key_reused:
        return {"idempotency-key-reused", "This Idempotency-Key belongs to another request"};
    case errc::idempotency_key_in_progress:
        return {"idempotency-key-in-progress", "The first request with this key is still running"};
    case errc::unknown_sku: return {"unknown-sku", "There is no such SKU"};
    case errc::customer_blocked: return {"customer-blocked", "The customer is blocked"};
    case errc::unknown_reservation: return {"unknown-reservation", "There is no such reservation"};
    case errc::events_expired:
        return {"events-expired", "Some events after this place are no longer kept"};
    case errc::precondition_required:
        return {"precondition-required", "The request has to say what it saw"};
    case errc::precondition_failed:
        return {"precondition-failed", "The present state is not the expected one"};
    case errc::last_owner: return {"last-owner", "There has to be an owner"};
    case errc::count_closed: return {"count-closed", "The count is applied or cancelled"};
    case errc::already_confirmed:
        return {"already-confirmed", "The reservation is already confirmed"};
    case errc::already_released: return {"already-released", "The reservation is already released"};
    case errc::reservation_expired: return {"reservation-expired", "The reservation has expired"};
    case errc::not_on_sale: return {"not-on-sale", "The item is not on sale now"};
    case errc::token_required: return {"token-required", "The item is only sold with a token"};
    case errc::token_invalid: return {"token-invalid", "The token is not good for this"};
    case errc::token_expired: return {"token-expired", "The token has expired"};
    case errc::token_used: return {"token-used", "The token has been used"};
    case errc::customer_limit: return {"customer-limit", "The customer's limit is reached"};
    case errc::insufficient_stock: return {"insufficient-stock", "Not enough units are available"};
    case errc::would_go_negative: return {"would-go-negative", "On hand would fall below zero"};
    case errc::would_be_short:
        return {"would-be-short", "Fewer units would be left than are reserved"};
    case errc::quantity_overflow:
        return {"quantity-overflow", "The level would pass the largest allowed number"};
    }
    return {"internal", "Something went wrong"};
}

} // namespace

std::string_view slug(errc code) noexcept
{
    return text_of(code).slug;
}

std::string_view title(errc code) noexcept
{
    return text_of(code).title;
}

} // namespace holdfast

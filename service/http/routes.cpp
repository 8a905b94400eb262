// SPDX-License-Identifier: Apache-2.0
#include "service/http/routes.hpp"

#include "service/http/handlers.hpp"

#include <array>

namespace holdfast::http {

namespace {

// A catalogue of a hundred thousand rows fits with room to spare.
constexpr std::size_t import_bytes_max = 64U << 20U;

constexpr std::array table{
    route{"POST", "/v1/reservations", create_reservation, role::shop},
    route{"GET", "/v1/reservations", list_reservations, role::viewer},
    route{"GET", "/v1/reservations/{id}", show_reservation, role::viewer},
    route{"POST", "/v1/reservations/{id}/confirm", confirm_reservation, role::shop},
    route{"POST", "/v1/reservations/{id}/release", release_reservation, role::shop},
    route{"POST", "/v1/reservations/{id}/extend", extend_reservation, role::shop},
    route{"POST", "/v1/reservations/{id}/returns", return_units, role::shop},

    route{"POST", "/v1/tokens", give_token, role::shop},

    route{"GET", "/v1/stock", list_items, role::viewer},
    route{"PUT", "/v1/stock/{sku}", put_item, role::admin},
    route{"GET", "/v1/stock/{sku}", show_item, role::viewer},
    route{"GET", "/v1/stock/{sku}/why", explain_item, role::viewer},
    route{"POST", "/v1/stock/{sku}/adjustments", adjust_stock, role::admin},
    route{"GET", "/v1/stock/{sku}/movements", list_movements, role::viewer},
    route{"POST", "/v1/adjustments", adjust_many, role::admin},
    route{"POST", "/v1/transfers", transfer_stock, role::admin},
    route{"POST", "/v1/imports", import_stock, role::admin, import_bytes_max, "text/csv"},

    route{"GET", "/v1/blocked-customers", list_blocked_customers, role::viewer},
    route{"PUT", "/v1/blocked-customers/{customer}", block_customer, role::admin},
    route{"DELETE", "/v1/blocked-customers/{customer}", unblock_customer, role::admin},

    route{"GET", "/v1/fast-path", list_fast_paths, role::viewer},
    route{"PUT", "/v1/fast-path/{sku}", put_fast_path, role::admin},
    route{"GET", "/v1/fast-path/{sku}", show_fast_path, role::viewer},
    route{"DELETE", "/v1/fast-path/{sku}", delete_fast_path, role::admin},
    route{"POST", "/v1/reconciliations", reconcile, role::admin},
    route{"GET", "/v1/reconciliations", list_drift, role::viewer},

    route{"GET", "/v1/events", list_events, role::viewer},
    route{"GET", "/v1/events/stream", stream_events, role::viewer},

    route{"POST", "/v1/webhooks", create_webhook, role::admin},
    route{"GET", "/v1/webhooks", list_webhooks, role::admin},
    route{"GET", "/v1/webhooks/{id}", show_webhook, role::admin},
    route{"PATCH", "/v1/webhooks/{id}", change_webhook, role::admin},
    route{"DELETE", "/v1/webhooks/{id}", delete_webhook, role::admin},
    route{"POST", "/v1/webhooks/{id}/rotate", rotate_webhook, role::admin},
    route{"POST", "/v1/webhooks/{id}/test", test_webhook, role::admin},
    route{"POST", "/v1/webhooks/{id}/replay", replay_webhook, role::admin},
    route{"GET", "/v1/webhooks/{id}/deliveries", list_deliveries, role::admin},
    route{"POST", "/v1/webhooks/{id}/deliveries/{delivery}/resend", resend_delivery, role::admin},

    route{"GET", "/v1/trail", list_trail, role::admin},
    route{"GET", "/v1/audit", show_audit, role::viewer},
    route{"GET", "/livez", livez, {}},
    route{"GET", "/readyz", readyz, {}},
    route{"GET", "/metrics", show_metrics, {}},
    route{"GET", "/openapi.json", openapi, {}},
    route{"GET", "/docs", docs, {}},
};

} // namespace

std::span<route const> routes() noexcept
{
    return table;
}

} // namespace holdfast::http

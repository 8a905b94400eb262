// SPDX-License-Identifier: Apache-2.0
#include "service/http/routes.hpp"

#include "service/http/handlers.hpp"

#include <array>

namespace holdfast::http {

namespace {

// A catalogue of a hundred thousand rows fits with room to spare.
constexpr std::size_t import_bytes_max = 64U << 20U;

constexpr std::array table{
    route{"POST", "/v1/reservations", create_reservation, right::reserve},
    route{"GET", "/v1/reservations", list_reservations, right::read},
    route{"GET", "/v1/reservations/{id}", show_reservation, right::read},
    route{"POST", "/v1/reservations/{id}/confirm", confirm_reservation, right::reserve},
    route{"POST", "/v1/reservations/{id}/release", release_reservation, right::reserve},
    route{"POST", "/v1/reservations/{id}/extend", extend_reservation, right::reserve},
    route{"POST", "/v1/reservations/{id}/returns", return_units, right::reserve},

    route{"POST", "/v1/tokens", give_token, right::reserve},

    route{"GET", "/v1/stock", list_items, right::read},
    route{"PUT", "/v1/stock/{sku}", put_item, right::settings},
    route{"GET", "/v1/stock/{sku}", show_item, right::read},
    route{"GET", "/v1/stock/{sku}/why", explain_item, right::read},
    route{"POST", "/v1/stock/{sku}/adjustments", adjust_stock, right::stock},
    route{"GET", "/v1/stock/{sku}/movements", list_movements, right::read},
    route{"POST", "/v1/adjustments", adjust_many, right::stock},
    route{"POST", "/v1/transfers", transfer_stock, right::stock},

    route{"POST", "/v1/imports", import_stock, right::stock, import_bytes_max, "text/csv"},
    route{"GET", "/v1/imports", list_imports, right::read},
    route{"GET", "/v1/imports/{id}", show_import, right::read},
    route{"POST", "/v1/imports/{id}/undo", undo_import, right::approve},

    route{"POST", "/v1/counts", open_count, right::stock},
    route{"GET", "/v1/counts", list_counts, right::read},
    route{"GET", "/v1/counts/{id}", show_count, right::read},
    route{"PUT", "/v1/counts/{id}/entries", enter_counted, right::stock},
    route{"POST", "/v1/counts/{id}/apply", apply_count, right::approve},
    route{"POST", "/v1/counts/{id}/cancel", cancel_count, right::stock},

    route{"GET", "/v1/reports/low-stock", report_low_stock, right::read},
    route{"GET", "/v1/reports/held-longest", report_held_longest, right::read},
    route{"GET", "/v1/reports/movements", report_movements, right::read},

    route{"GET", "/v1/blocked-customers", list_blocked_customers, right::read},
    route{"PUT", "/v1/blocked-customers/{customer}", block_customer, right::settings},
    route{"DELETE", "/v1/blocked-customers/{customer}", unblock_customer, right::settings},

    route{"GET", "/v1/fast-path", list_fast_paths, right::read},
    route{"PUT", "/v1/fast-path/{sku}", put_fast_path, right::settings},
    route{"GET", "/v1/fast-path/{sku}", show_fast_path, right::read},
    route{"DELETE", "/v1/fast-path/{sku}", delete_fast_path, right::settings},
    route{"POST", "/v1/reconciliations", reconcile, right::settings},
    route{"GET", "/v1/reconciliations", list_drift, right::read},

    route{"GET", "/v1/events", list_events, right::read},
    route{"GET", "/v1/events/stream", stream_events, right::read},

    route{"POST", "/v1/webhooks", create_webhook, right::settings},
    route{"GET", "/v1/webhooks", list_webhooks, right::settings},
    route{"GET", "/v1/webhooks/{id}", show_webhook, right::settings},
    route{"PATCH", "/v1/webhooks/{id}", change_webhook, right::settings},
    route{"DELETE", "/v1/webhooks/{id}", delete_webhook, right::settings},
    route{"POST", "/v1/webhooks/{id}/rotate", rotate_webhook, right::settings},
    route{"POST", "/v1/webhooks/{id}/test", test_webhook, right::settings},
    route{"POST", "/v1/webhooks/{id}/replay", replay_webhook, right::settings},
    route{"GET", "/v1/webhooks/{id}/deliveries", list_deliveries, right::settings},
    route{"POST", "/v1/webhooks/{id}/deliveries/{delivery}/resend", resend_delivery,
          right::settings},

    route{"POST", "/v1/session", sign_in, {}},
    route{"GET", "/v1/session", show_session, right::read},
    route{"DELETE", "/v1/session", sign_out, right::read},

    route{"GET", "/v1/staff", list_staff, right::staff},
    route{"POST", "/v1/staff", create_staff, right::staff},
    route{"POST", "/v1/staff/first", redeem_invitation, {}},
    route{"PATCH", "/v1/staff/{id}", change_staff, right::staff},
    route{"DELETE", "/v1/staff/{id}", remove_staff, right::staff},
    route{"POST", "/v1/staff/{id}/password", set_staff_password, right::read},
    route{"POST", "/v1/staff/{id}/link", make_staff_link, right::staff},
    route{"DELETE", "/v1/staff/{id}/sessions", end_staff_sessions, right::read},

    route{"GET", "/v1/keys", list_keys, right::keys},
    route{"POST", "/v1/keys", create_key, right::keys},
    route{"DELETE", "/v1/keys/{id}", revoke_key, right::keys},

    route{"GET", "/v1/trail", list_trail, right::settings},
    route{"GET", "/v1/audit", show_audit, right::read},
    route{"GET", "/livez", livez, {}},
    route{"GET", "/readyz", readyz, {}},
    route{"GET", "/metrics", show_metrics, {}},
    route{"GET", "/openapi.json", openapi, {}},
    route{"GET", "/docs", docs, {}},
    route{"GET", "/admin", lead_to_page, {}},
    route{"GET", "/admin/", show_page, {}},
    route{"GET", "/admin/{file}", show_page_file, {}},
};

} // namespace

std::span<route const> routes() noexcept
{
    return table;
}

} // namespace holdfast::http

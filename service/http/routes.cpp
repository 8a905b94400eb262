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

    route{"GET", "/v1/stock", list_items, role::viewer},
    route{"PUT", "/v1/stock/{sku}", put_item, role::admin},
    route{"GET", "/v1/stock/{sku}", show_item, role::viewer},
    route{"POST", "/v1/stock/{sku}/adjustments", adjust_stock, role::admin},
    route{"GET", "/v1/stock/{sku}/movements", list_movements, role::viewer},
    route{"POST", "/v1/imports", import_stock, role::admin, import_bytes_max, "text/csv"},

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

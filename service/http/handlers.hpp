// SPDX-License-Identifier: Apache-2.0
// The handlers, one for each route. Each reads the request, runs its use case on a database worker,
// and makes a reply or a problem of the answer. Faults pass through as exceptions.
#pragma once

#include "service/http/app.hpp"
#include "service/http/message.hpp"

#include <boost/asio/awaitable.hpp>

namespace holdfast::http {

using pending_reply = boost::asio::awaitable<reply>;

// reservations.cpp
pending_reply create_reservation(request const&, app&);
pending_reply list_reservations(request const&, app&);
pending_reply show_reservation(request const&, app&);
pending_reply confirm_reservation(request const&, app&);
pending_reply release_reservation(request const&, app&);
pending_reply extend_reservation(request const&, app&);
pending_reply return_units(request const&, app&);

// stock.cpp
pending_reply list_items(request const&, app&);
pending_reply put_item(request const&, app&);
pending_reply show_item(request const&, app&);
pending_reply explain_item(request const&, app&);
pending_reply adjust_stock(request const&, app&);
pending_reply adjust_many(request const&, app&);
pending_reply transfer_stock(request const&, app&);
pending_reply list_movements(request const&, app&);

// counts.cpp
pending_reply open_count(request const&, app&);
pending_reply list_counts(request const&, app&);
pending_reply show_count(request const&, app&);
pending_reply enter_counted(request const&, app&);
pending_reply apply_count(request const&, app&);
pending_reply cancel_count(request const&, app&);

// customers.cpp
pending_reply list_blocked_customers(request const&, app&);
pending_reply block_customer(request const&, app&);
pending_reply unblock_customer(request const&, app&);

// imports.cpp
pending_reply import_stock(request const&, app&);
pending_reply list_imports(request const&, app&);
pending_reply show_import(request const&, app&);
pending_reply undo_import(request const&, app&);

// tokens.cpp
pending_reply give_token(request const&, app&);

// fast_path.cpp
pending_reply put_fast_path(request const&, app&);
pending_reply show_fast_path(request const&, app&);
pending_reply list_fast_paths(request const&, app&);
pending_reply delete_fast_path(request const&, app&);
pending_reply reconcile(request const&, app&);
pending_reply list_drift(request const&, app&);

// events.cpp
pending_reply list_events(request const&, app&);
pending_reply stream_events(request const&, app&);

// webhooks.cpp
pending_reply create_webhook(request const&, app&);
pending_reply list_webhooks(request const&, app&);
pending_reply show_webhook(request const&, app&);
pending_reply change_webhook(request const&, app&);
pending_reply delete_webhook(request const&, app&);
pending_reply rotate_webhook(request const&, app&);
pending_reply test_webhook(request const&, app&);
pending_reply replay_webhook(request const&, app&);
pending_reply list_deliveries(request const&, app&);
pending_reply resend_delivery(request const&, app&);

// staff.cpp
pending_reply sign_in(request const&, app&);
pending_reply show_session(request const&, app&);
pending_reply sign_out(request const&, app&);
pending_reply list_staff(request const&, app&);
pending_reply create_staff(request const&, app&);
pending_reply redeem_invitation(request const&, app&);
pending_reply change_staff(request const&, app&);
pending_reply remove_staff(request const&, app&);
pending_reply set_staff_password(request const&, app&);
pending_reply make_staff_link(request const&, app&);
pending_reply end_staff_sessions(request const&, app&);

// keys.cpp
pending_reply list_keys(request const&, app&);
pending_reply create_key(request const&, app&);
pending_reply revoke_key(request const&, app&);

// reports.cpp
pending_reply report_low_stock(request const&, app&);
pending_reply report_held_longest(request const&, app&);
pending_reply report_movements(request const&, app&);

// trail.cpp
pending_reply list_trail(request const&, app&);

// page.cpp
pending_reply show_page(request const&, app&);
pending_reply show_page_file(request const&, app&);
pending_reply lead_to_page(request const&, app&);

// service.cpp
pending_reply show_audit(request const&, app&);
pending_reply livez(request const&, app&);
pending_reply readyz(request const&, app&);
pending_reply show_metrics(request const&, app&);
pending_reply openapi(request const&, app&);
pending_reply docs(request const&, app&);

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// Between messages and use cases: requests become commands, or all that is wrong with them; values
// become JSON. Refusals of every parse_ function: malformed_json, validation_failed, those named.
#pragma once

#include "service/adjustments.hpp"
#include "service/api_keys.hpp"
#include "service/audit.hpp"
#include "service/blocked_customers.hpp"
#include "service/catalogue.hpp"
#include "service/counts.hpp"
#include "service/event_feed.hpp"
#include "service/explanation.hpp"
#include "service/fast_path/door.hpp"
#include "service/fast_path/inspection.hpp"
#include "service/fast_path/unfulfilled.hpp"
#include "service/http/message.hpp"
#include "service/imports.hpp"
#include "service/json_writer.hpp"
#include "service/reports.hpp"
#include "service/reservations.hpp"
#include "service/staff_accounts.hpp"
#include "service/trail.hpp"
#include "service/webhooks.hpp"
#include "stock/result.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::http {

inline constexpr std::size_t adjustment_rows_max = 1000;
inline constexpr units admission_pool_max = 1'000'000;
inline constexpr units admission_ttl_seconds_max = 86'400;

// Refusals: idempotency_key_missing.
[[nodiscard]] result<reserve_command> parse_reserve(request const&,
                                                    std::chrono::seconds ttl_default);

// Refusals: unknown_reservation, when what stands in the path cannot be the id of one.
[[nodiscard]] result<confirm_command> parse_confirm(request const&);
[[nodiscard]] result<release_command> parse_release(request const&);
[[nodiscard]] result<extend_command> parse_extend(request const&);
[[nodiscard]] result<uuid> parse_reservation_id(request const&);

// Refusals: idempotency_key_missing, unknown_reservation.
[[nodiscard]] result<return_command> parse_return(request const&);

[[nodiscard]] result<reservation_filter> parse_reservation_filter(request const&);

[[nodiscard]] result<put_item_command> parse_put_item(request const&);
[[nodiscard]] result<sku> parse_sku(request const&);
[[nodiscard]] result<item_filter> parse_item_filter(request const&);

// What is to be explained: all levels of an item, or one.
struct explanation_query {
    holdfast::sku sku;
    std::optional<holdfast::location> only;
};
[[nodiscard]] result<explanation_query> parse_explanation_query(request const&);
[[nodiscard]] result<movement_filter> parse_movement_filter(request const&);

// Refusals: idempotency_key_missing.
[[nodiscard]] result<adjust_command> parse_adjust(request const&);
[[nodiscard]] result<bulk_adjust_command> parse_bulk_adjust(request const&);
[[nodiscard]] result<transfer_command> parse_transfer(request const&);

// Refusals of those with a count in their path: not_found, when it cannot be the id of one.
// Refusals of those with a key: idempotency_key_missing.
[[nodiscard]] result<open_count_command> parse_open_count(request const&);
[[nodiscard]] result<enter_counted_command> parse_enter_counted(request const&);
[[nodiscard]] result<uuid> parse_count_id(request const&);
[[nodiscard]] result<count_filter> parse_count_filter(request const&);

// The command looks into the request's body. Refusals: idempotency_key_missing.
[[nodiscard]] result<import_command> parse_import(request const&);

// Refusals of those with an import in their path: not_found, when it cannot be the id of one.
[[nodiscard]] result<uuid> parse_import_id(request const&);
[[nodiscard]] result<undo_command> parse_undo(request const&);
[[nodiscard]] result<import_filter> parse_import_filter(request const&);

// Where a reader of the feed wants to go on, and what it wants to hear of.
struct event_query {
    event_filter filter;
    std::optional<event_place> after; // nothing: behind everything told by now
    std::size_t limit = 50;
};

[[nodiscard]] result<event_query> parse_event_query(request const&);

// The same for a stream, which has no limit, and goes on after the Last-Event-ID of its header.
[[nodiscard]] result<event_query> parse_stream_query(request const&);

[[nodiscard]] result<webhook_settings> parse_webhook(request const&);

// Refusals of these: not_found, when what stands in the path cannot be the id of a webhook.
[[nodiscard]] result<uuid> parse_webhook_id(request const&);

[[nodiscard]] result<webhook_filter> parse_webhook_filter(request const&);

struct webhook_change_request {
    uuid id;
    webhook_change to;
};
[[nodiscard]] result<webhook_change_request> parse_webhook_change(request const&);

struct webhook_rotation {
    uuid id;
    std::chrono::seconds keep_former{0};
};
[[nodiscard]] result<webhook_rotation> parse_webhook_rotation(request const&);

struct webhook_replay {
    uuid id;
    timestamp since;
};
[[nodiscard]] result<webhook_replay> parse_webhook_replay(request const&);
[[nodiscard]] result<delivery_filter> parse_delivery_filter(request const&);

[[nodiscard]] result<block_command> parse_block(request const&);
[[nodiscard]] result<std::string> parse_customer(request const&);
[[nodiscard]] result<blocked_filter> parse_blocked_filter(request const&);

[[nodiscard]] result<token_bearer> parse_token_request(request const&);

struct fast_path_request {
    holdfast::sku sku;
    bool is_async = false;
    int buckets = 1;
};
[[nodiscard]] result<fast_path_request> parse_fast_path(request const&);

// Whether to repair what is found.
[[nodiscard]] result<bool> parse_reconciliation(request const&);

[[nodiscard]] result<fast_path::drift_filter> parse_drift_filter(request const&);

// Whom the audit trail names for what a request does.
[[nodiscard]] inline staff staff_of(request const& req)
{
    return {req.who.name, req.id};
}

[[nodiscard]] result<trail_filter> parse_trail_filter(request const&);

enum class report_format { json, csv };

// What a report is asked, and how it is to be written. One that is a file has more rows to a page.
template <class Query>
struct report_request {
    Query query;
    report_format format = report_format::json;
};

[[nodiscard]] result<report_request<reports::low_stock_query>>
parse_low_stock_query(request const&);
[[nodiscard]] result<report_request<reports::held_longest_query>>
parse_held_longest_query(request const&);
[[nodiscard]] result<report_request<reports::movement_query>> parse_movement_query(request const&);

struct sign_in_attempt {
    std::string name;
    std::string password;
};
[[nodiscard]] result<sign_in_attempt> parse_sign_in(request const&);

// Refusals of those with an account in their path: not_found, when it cannot be the id of one.
[[nodiscard]] result<new_staff_account> parse_new_staff(request const&);
[[nodiscard]] result<staff_redemption> parse_redemption(request const&);
[[nodiscard]] result<uuid> parse_staff_id(request const&);
[[nodiscard]] result<staff_change> parse_staff_change(request const&);
[[nodiscard]] result<password_change> parse_password_change(request const&);
[[nodiscard]] result<staff_filter> parse_staff_filter(request const&);

struct new_api_key {
    std::string name;
    holdfast::role role = role::viewer;
};
[[nodiscard]] result<new_api_key> parse_new_key(request const&);

// Refusals: not_found, when what stands in the path cannot be the id of a key.
[[nodiscard]] result<std::int64_t> parse_key_id(request const&);
[[nodiscard]] result<api_key_filter> parse_key_filter(request const&);

// For what takes no parameters at all.
[[nodiscard]] result<void> parse_nothing(request const&);

[[nodiscard]] std::string to_json(reservation const&);
[[nodiscard]] std::string to_json(item const&);

// With what stands before it, if anything does.
[[nodiscard]] std::string to_json(item const&, std::optional<fast_path::standing> const&);
[[nodiscard]] std::string to_json(blocked_customer const&);
[[nodiscard]] std::string to_json(issued_api_key const&);
[[nodiscard]] std::string to_json(staff_account const&);
[[nodiscard]] std::string to_json(staff_link_made const&);

// Who asks. A session has a token against forged requests, which a key needs not.
[[nodiscard]] std::string to_json(caller const&, std::optional<std::string> const& csrf_token);
[[nodiscard]] std::string to_json(token_bearer const&, fast_path::let_in const&);
[[nodiscard]] std::string to_json(token_bearer const&, fast_path::told_to_wait const&);
[[nodiscard]] std::string to_json(fast_path::standing const&);
[[nodiscard]] std::string to_json(std::span<fast_path::standing const>);
[[nodiscard]] std::string to_json(fast_path::inspection const&);
[[nodiscard]] std::string to_json(fast_path::queued_request const&);
[[nodiscard]] std::string to_json(fast_path::unfulfilled const&);
[[nodiscard]] std::string to_json(adjustment const&);
[[nodiscard]] std::string to_json(bulk_adjustment const&);
[[nodiscard]] std::string to_json(transfer const&);
[[nodiscard]] std::string to_json(explanation const&);
[[nodiscard]] std::string to_json(shown_count const&);
[[nodiscard]] std::string to_json(std::vector<count_entry> const&);
[[nodiscard]] std::string to_json(import_report const&);
[[nodiscard]] std::string to_json(past_import const&);
[[nodiscard]] std::string to_json(audit_report const&);
[[nodiscard]] std::string to_json(event const&);
[[nodiscard]] std::string to_json(event_page const&);
[[nodiscard]] std::string to_json(webhook const&);
[[nodiscard]] std::string to_json(webhook_delivery const&);

// A hold on a level that is short.
void write_hold(json_writer&, concerned_hold const&);

// The member of an item that says what stands before it.
void write_fast_path(json_writer&, std::optional<fast_path::standing> const&);

// Events as a stream of them has them (HTML Living Standard, 9.2.5 Server-sent events).
[[nodiscard]] std::string to_stream(std::span<event const>);

// A page of a list: the first `limit` of what was found, and a cursor when there is more. So
// whoever looks asks for one more than the limit.
[[nodiscard]] std::string to_page(reservation_page const&);
[[nodiscard]] std::string to_page(reports::low_stock_page const&);
[[nodiscard]] std::string to_page(reports::held_longest_page const&);
[[nodiscard]] std::string to_page(reports::movement_page const&);

// A report as a page or, asked for as CSV, as a file: the next page of that is in its Link header.
[[nodiscard]] reply report_reply(reports::low_stock_page const&, request const&, report_format);
[[nodiscard]] reply report_reply(reports::held_longest_page const&, request const&, report_format);
[[nodiscard]] reply report_reply(reports::movement_page const&, request const&, report_format);
[[nodiscard]] std::string to_page(std::span<item const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<ledger_entry const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<stock_count const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<db::imports::row const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<blocked_customer const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<trail_entry const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<staff_account const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<api_key const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<webhook const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<webhook_delivery const> found, std::size_t limit);
[[nodiscard]] std::string to_page(std::span<fast_path::past_finding const> found,
                                  std::size_t limit);

} // namespace holdfast::http

// SPDX-License-Identifier: Apache-2.0
// Webhooks, and the deliveries to them.
#pragma once

#include "db/transaction.hpp"
#include "stock/clock.hpp"
#include "stock/uuid.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::db::webhooks {

struct webhook {
    uuid id;
    std::string url;
    std::optional<std::string> types; // names parted by commas; nothing: all
    std::optional<std::string> sku_prefix;
    std::optional<std::string> description;
    std::string state; // active, paused, disabled
    std::optional<std::string> disabled_reason;
    std::string secret;                        // bytea, as text
    std::optional<std::string> former_secrets; // those that sign as well, parted by commas
    std::string place;                         // in the feed
    std::int64_t revision = 0;                 // another one with every change
    timestamp created_at;
};

// The secret behind its text.
[[nodiscard]] std::vector<std::uint8_t> secret_of(std::string_view bytea);

// Returns when it was made; nothing when there are `count_max` already.
[[nodiscard]] std::optional<timestamp>
insert(transaction&, webhook const&, std::span<std::uint8_t const> secret, std::size_t count_max);

[[nodiscard]] std::vector<webhook> all(transaction&);
[[nodiscard]] std::optional<webhook> by_id(transaction&, uuid const&);
[[nodiscard]] std::optional<webhook> lock(transaction&, uuid const&);

// Writes everything of a locked webhook but secrets and place.
void change(transaction&, webhook const&);
void rotate(transaction&, uuid const&, std::span<std::uint8_t const> secret,
            std::chrono::seconds keep_former);
void move(transaction&, uuid const&, std::string const& place);

// Makes it as good as gone. Its deliveries go by clear_deleted().
void remove(transaction&, uuid const&);

// Deletes deliveries of removed webhooks, and those that have none left. Returns how many
// deliveries.
std::size_t clear_deleted(transaction&, std::size_t limit);

// Makes others who would make a webhook wait until the transaction ends.
void lock_list(transaction&);

// False when it is not active any more, was changed meanwhile, or is being changed.
[[nodiscard]] bool disable(transaction&, uuid const&, std::int64_t revision,
                           std::string const& reason);

// The same; and nothing is done either when it is not at the place `seen`.
[[nodiscard]] bool advance(transaction&, uuid const&, std::int64_t revision,
                           std::string const& seen, std::string const& place);

// A SKU of which no more is written down for now.
struct backlog {
    std::string sku;
    std::string place; // where its events go on
};

[[nodiscard]] std::vector<backlog> backlogs(transaction&, uuid const& webhook);
void keep_backlog(transaction&, uuid const& webhook, std::span<backlog const>);

// Of one SKU, or all.
void drop_backlog(transaction&, uuid const& webhook, std::optional<std::string> const& sku);

// Makes this session the one that delivers to the webhook, as long as it lasts.
[[nodiscard]] bool try_own(transaction&, std::int64_t lock_number);
void disown(transaction&, std::int64_t lock_number);

// An event on its way to a webhook.
struct letter {
    std::string event_id;
    std::string event_type;
    std::optional<std::string> sku;
    std::string body;
};

// To be delivered after `delay`, in this order.
void enqueue(transaction&, uuid const& webhook, std::span<letter const>,
             std::chrono::seconds delay);
void resend(transaction&, uuid const& webhook, std::string const& event_id);

// Brings the next attempts forward: of one delivery, or of all.
void hurry(transaction&, uuid const& webhook, std::optional<std::string> const& event_id);

// Which of these may be sent now.
[[nodiscard]] std::vector<std::int64_t> due(transaction&, std::vector<std::int64_t> const& ids);

struct pending_delivery {
    std::int64_t id = 0;
    std::string event_id;
    std::optional<std::string> sku;
    std::string body;
    std::int64_t attempts = 0;
    std::int64_t delay_ms = 0; // until the next attempt
};

// The first of those that are to be delivered, but for the `known` ones.
[[nodiscard]] std::vector<pending_delivery> pending(transaction&, uuid const& webhook,
                                                    std::vector<std::int64_t> const& known,
                                                    std::size_t limit);

// What came of an attempt.
struct attempt {
    std::int64_t id = 0; // of the delivery
    std::int64_t attempts = 0;
    std::optional<std::int64_t> status;
    std::optional<std::string> fault;
    std::string state;
    std::chrono::milliseconds delay{0}; // until the next one
};

void note(transaction&, std::span<attempt const>);

struct delivery {
    std::int64_t id = 0;
    std::string event_id;
    std::string event_type;
    std::optional<std::string> sku;
    std::string state;
    std::int64_t attempts = 0;
    std::optional<timestamp> next_attempt_at;
    std::optional<timestamp> last_attempt_at;
    std::optional<std::int64_t> last_status;
    std::optional<std::string> last_fault;
    timestamp created_at;
    std::optional<timestamp> settled_at;
};

[[nodiscard]] std::optional<delivery> delivery_of(transaction&, uuid const& webhook,
                                                  std::string const& event_id);

// Newest first.
[[nodiscard]] std::vector<delivery> deliveries(transaction&, uuid const& webhook,
                                               std::vector<std::string> const& states,
                                               std::optional<std::int64_t> before,
                                               std::size_t limit);

// Forgets deliveries settled longer ago, the oldest first. Returns how many.
std::size_t forget(transaction&, std::chrono::seconds keep, std::size_t limit);

} // namespace holdfast::db::webhooks

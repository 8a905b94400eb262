// SPDX-License-Identifier: Apache-2.0
// Webhooks: who is told of which events by a call, and what has become of the calls. The calls are
// made by workers/courier.
#pragma once

#include "db/link.hpp"
#include "db/webhooks.hpp"
#include "service/address_guard.hpp"
#include "service/event_feed.hpp"
#include "service/trail.hpp"
#include "stock/event.hpp"
#include "stock/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

inline constexpr std::size_t webhooks_max = 100;

// What a webhook is set to.
struct webhook_settings {
    std::string url;
    std::optional<std::vector<event_type>> types; // nothing: all
    std::optional<std::string> sku_prefix;
    std::optional<std::string> description;
};

struct webhook {
    uuid id;
    webhook_settings settings;
    std::string state; // active, paused, disabled
    std::optional<std::string> disabled_reason;
    timestamp created_at;
    std::optional<std::string> secret; // only when it was just made
};

// Which settings a change names; the others stay as they are.
struct webhook_change {
    std::optional<std::string> url;
    std::optional<std::optional<std::vector<event_type>>> types;
    std::optional<std::optional<std::string>> sku_prefix;
    std::optional<std::optional<std::string>> description;
    std::optional<bool> is_active; // false: paused
};

using webhook_delivery = db::webhooks::delivery;

struct webhook_filter {
    std::optional<uuid> after; // continue after this one, oldest first
    std::size_t limit = 50;
};

struct delivery_filter {
    uuid webhook;
    std::vector<std::string> states;    // empty: all
    std::optional<std::int64_t> before; // continue after this one, newest first
    std::size_t limit = 50;
};

// The types behind names parted by commas, as they are stored.
[[nodiscard]] std::optional<std::vector<event_type>>
types_named(std::optional<std::string> const& names);

// Whether an event is for a webhook with these settings.
[[nodiscard]] bool is_wanted(event const&, std::optional<std::vector<event_type>> const& types,
                             std::optional<std::string> const& sku_prefix);

class webhooks {
public:
    webhooks(event_feed const& feed, address_guard const& guard) : feed_(feed), guard_(guard) {}

    // It is told what happens from now on. Refusals of this and of change(): validation_failed, for
    // an address that may not be called, and when there are webhooks_max already.
    [[nodiscard]] result<webhook> create(db::link&, webhook_settings, staff const& by = {}) const;

    [[nodiscard]] std::vector<webhook> list(db::link&, webhook_filter const&) const;

    // Refusals of all the others: not_found.
    [[nodiscard]] result<webhook> show(db::link&, uuid const&) const;
    [[nodiscard]] result<webhook> change(db::link&, uuid const&, webhook_change const&,
                                         staff const& by = {}) const;
    [[nodiscard]] result<void> remove(db::link&, uuid const&, staff const& by = {}) const;

    // A new secret; the one before signs as well for a while.
    [[nodiscard]] result<webhook> rotate(db::link&, uuid const&, std::chrono::seconds keep_former,
                                         staff const& by = {}) const;

    // Everything that was told since then is told again.
    [[nodiscard]] result<webhook> replay(db::link&, uuid const&, timestamp since,
                                         staff const& by = {}) const;

    // Sends a message that says nothing but that it came.
    [[nodiscard]] result<webhook_delivery> test(db::link&, uuid const&) const;

    [[nodiscard]] result<webhook_delivery> resend(db::link&, uuid const&,
                                                  std::string const& event_id) const;

    [[nodiscard]] result<std::vector<webhook_delivery>> deliveries(db::link&,
                                                                   delivery_filter const&) const;

private:
    [[nodiscard]] result<void> check_url(std::string const& url) const;

    event_feed const& feed_;
    address_guard const& guard_;
};

// What is wrong with the beginning of a SKU, or nothing: it has to be one that some SKU can have.
[[nodiscard]] std::optional<std::string> fault_of_sku_prefix(std::string_view);

// What is wrong with the address of a webhook, or nothing.
[[nodiscard]] std::optional<std::string> fault_of_url(std::string_view);

} // namespace holdfast

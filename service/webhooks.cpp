// SPDX-License-Identifier: Apache-2.0
#include "service/webhooks.hpp"

#include "db/transact.hpp"
#include "service/json_writer.hpp"
#include "service/secrets.hpp"

#include <boost/asio/ip/address.hpp>
#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace holdfast {

namespace {

namespace store = db::webhooks;

constexpr std::size_t url_size_max = 2000;

std::optional<std::string> to_names(std::optional<std::vector<event_type>> const& types)
{
    if (!types)
        return std::nullopt;
    std::string names;
    for (auto const type : *types)
        names += (names.empty() ? "" : ",") + std::string(to_string(type));
    return names;
}

webhook to_webhook(store::webhook row)
{
    return {.id = row.id,
            .settings = {.url = std::move(row.url),
                         .types = types_named(row.types),
                         .sku_prefix = std::move(row.sku_prefix),
                         .description = std::move(row.description)},
            .state = std::move(row.state),
            .disabled_reason = std::move(row.disabled_reason),
            .created_at = row.created_at,
            .secret = {}};
}

refusal unknown_webhook()
{
    return {.code = errc::not_found, .detail = "There is no webhook with this id."};
}

refusal unknown_delivery()
{
    return {.code = errc::not_found, .detail = "This webhook has no delivery with this id."};
}

// A part of an address, or nothing when it has none.
std::optional<std::string> part_of(CURLU* url, CURLUPart part)
{
    char* text = nullptr;
    if (curl_url_get(url, part, &text, 0) != CURLUE_OK)
        return std::nullopt;
    std::string copy(text);
    curl_free(text);
    return copy;
}

using url_handle = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;

url_handle parsed(std::string const& url)
{
    url_handle handle(curl_url(), &curl_url_cleanup);
    if (curl_url_set(handle.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK)
        handle.reset();
    return handle;
}

// Does `work(transaction&, webhook row)` on a locked webhook, and returns it as it is then.
template <class Work>
result<webhook> on_locked(db::link& link, uuid const& id, Work const& work)
{
    return db::transact(link, [&](db::transaction& tx) -> result<webhook> {
        auto found = store::lock(tx, id);
        if (!found)
            return unknown_webhook();
        work(tx, *found);
        return to_webhook(std::move(*store::by_id(tx, id)));
    });
}

// Without its secrets.
std::string about(store::webhook const& row)
{
    json_writer detail;
    detail.begin_object();
    detail.member("url", row.url);
    detail.member("types", row.types);
    detail.member("sku_prefix", row.sku_prefix);
    detail.member("description", row.description);
    detail.member("state", row.state);
    detail.end_object();
    return detail.take();
}

void note(db::transaction& tx, staff const& by, std::string_view action, uuid const& id,
          std::string detail = "{}")
{
    trail::note(tx, by, {action, "webhook:" + id.str(), std::move(detail)});
}

std::string before_and_after(std::string const& before, std::string const& after)
{
    return R"({"before":)" + before + R"(,"after":)" + after + '}';
}

std::string test_body(std::string const& id)
{
    auto const now =
        std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
    json_writer out;
    out.begin_object();
    out.member("type", std::string_view("webhook.test"));
    out.member("timestamp", now);
    out.key("data");
    out.begin_object();
    out.member("id", id);
    out.member("message", std::string_view("This webhook works."));
    out.end_object();
    out.end_object();
    return out.take();
}

} // namespace

std::optional<std::vector<event_type>> types_named(std::optional<std::string> const& names)
{
    return names ? parse_event_types(*names) : std::nullopt;
}

std::optional<std::string> fault_of_url(std::string_view text)
{
    bool const is_plain =
        std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7F && c != '\\'; });
    if (text.empty() || text.size() > url_size_max || !is_plain)
        return "must be an address of 1 to 2000 printable ASCII characters";
    auto const url = parsed(std::string(text));
    // Written so, because the scheme is looked at again when the webhook is called.
    bool const has_scheme = text.starts_with("https://") || text.starts_with("http://");
    if (!url || !has_scheme || text.find(":///") != text.npos)
        return "must begin with https:// or http:// and a host";
    if (!part_of(url.get(), CURLUPART_HOST))
        return "must name a host";
    if (part_of(url.get(), CURLUPART_USER) || part_of(url.get(), CURLUPART_PASSWORD))
        return "must have no user name or password";
    if (part_of(url.get(), CURLUPART_FRAGMENT))
        return "must have no fragment";
    return std::nullopt;
}

std::optional<std::string> fault_of_sku_prefix(std::string_view text)
{
    if (text.empty())
        return "must not be empty";
    auto fault = sku::fault_of(std::string(text) + 'x'); // as it may go on, even after a blank
    return sku::fault_of(text) ? fault : std::nullopt;   // one of the full length is one itself
}

bool is_wanted(event const& e, std::optional<std::vector<event_type>> const& types,
               std::optional<std::string> const& sku_prefix)
{
    return (!types || std::ranges::find(*types, e.type) != types->end()) &&
           (!sku_prefix || e.at.sku.str().starts_with(*sku_prefix));
}

// An address that is written out can be judged at once; a name is when it is called.
result<void> webhooks::check_url(std::string const& text) const
{
    auto const url = parsed(text);
    auto host = url ? part_of(url.get(), CURLUPART_HOST).value_or("") : "";
    if (host.starts_with('[') && host.ends_with(']'))
        host = host.substr(1, host.size() - 2);
    boost::system::error_code ec;
    auto const address = boost::asio::ip::make_address(host, ec);
    if (ec)
        return {};
    if (!guard_.is_allowed(address))
        return invalid_at("/url", "is no public address; the setting webhook_allow opens others");
    if (text.starts_with("http:") && !guard_.is_opened(address))
        return invalid_at("/url",
                          "must begin with https:// unless webhook_allow opens its address");
    return {};
}

result<webhook> webhooks::create(db::link& link, webhook_settings settings, staff const& by) const
{
    HOLDFAST_TRY_VOID(check_url(settings.url));
    auto const secret = make_webhook_secret();
    store::webhook made{.id = uuid::make_v7(),
                        .url = std::move(settings.url),
                        .types = to_names(settings.types),
                        .sku_prefix = std::move(settings.sku_prefix),
                        .description = std::move(settings.description),
                        .state = "active",
                        .place = to_string(feed_.end(link))};
    auto const created_at = db::transact(link, [&](db::transaction& tx) {
        if (auto const earlier = store::by_id(tx, made.id)) // a commit whose answer was lost
            return std::optional(earlier->created_at);
        store::lock_list(tx);
        auto const inserted = store::insert(tx, made, secret, webhooks_max);
        if (inserted)
            note(tx, by, "webhook.created", made.id, about(made));
        return inserted;
    });
    if (!created_at)
        return invalid_at("", "there are " + std::to_string(webhooks_max) +
                                  " webhooks already; delete one first");
    made.created_at = *created_at;
    auto answer = to_webhook(std::move(made));
    answer.secret = to_whsec(secret);
    return answer;
}

std::vector<webhook> webhooks::list(db::link& link, webhook_filter const& filter) const
{
    auto rows =
        db::read(link, db::scope::single, [](db::transaction& tx) { return store::all(tx); });
    std::vector<webhook> all; // of webhooks_max at most
    for (auto& row : rows)
        if ((!filter.after || row.id > *filter.after) && all.size() < filter.limit)
            all.push_back(to_webhook(std::move(row)));
    return all;
}

result<webhook> webhooks::show(db::link& link, uuid const& id) const
{
    auto found = db::read(link, db::scope::single,
                          [&](db::transaction& tx) { return store::by_id(tx, id); });
    if (!found)
        return unknown_webhook();
    return to_webhook(std::move(*found));
}

result<webhook> webhooks::change(db::link& link, uuid const& id, webhook_change const& to,
                                 staff const& by) const
{
    if (to.url)
        HOLDFAST_TRY_VOID(check_url(*to.url));
    return on_locked(link, id, [&](db::transaction& tx, store::webhook& row) {
        auto const before = about(row);
        row.url = to.url.value_or(row.url);
        if (to.types)
            row.types = to_names(*to.types);
        row.sku_prefix = to.sku_prefix.value_or(row.sku_prefix);
        row.description = to.description.value_or(row.description);
        if (to.is_active) {
            row.state = *to.is_active ? "active" : "paused";
            row.disabled_reason.reset();
        }
        store::change(tx, row);
        if (auto const after = about(row); after != before)
            note(tx, by, "webhook.changed", id, before_and_after(before, after));
        if (to.is_active == true)
            store::hurry(tx, id, std::nullopt);
    });
}

result<void> webhooks::remove(db::link& link, uuid const& id, staff const& by) const
{
    bool was_there = false; // a commit whose answer was lost has removed it already
    bool const is_removed = db::transact(link, [&](db::transaction& tx) {
        if (auto const found = store::lock(tx, id)) {
            was_there = true;
            note(tx, by, "webhook.deleted", id, about(*found));
        }
        store::remove(tx, id);
        return was_there;
    });
    if (!is_removed)
        return unknown_webhook();
    return {};
}

result<webhook> webhooks::rotate(db::link& link, uuid const& id, std::chrono::seconds keep_former,
                                 staff const& by) const
{
    auto const secret = make_webhook_secret();
    auto answer = on_locked(link, id, [&](db::transaction& tx, store::webhook& row) {
        if (store::secret_of(row.secret) == secret)
            return; // a commit whose answer was lost
        store::rotate(tx, id, secret, keep_former);
        note(tx, by, "webhook.rotated", id);
    });
    if (answer)
        answer->secret = to_whsec(secret);
    return answer;
}

result<webhook> webhooks::replay(db::link& link, uuid const& id, timestamp since,
                                 staff const& by) const
{
    auto const found = feed_.since(link, since);
    return on_locked(link, id, [&](db::transaction& tx, store::webhook& row) {
        // Only ever back: what it has not been told yet must not be skipped.
        auto place = std::min(found, parse_event_place(row.place).value_or(event_place()));
        for (auto const& each : store::backlogs(tx, id))
            place = std::min(place, parse_event_place(each.place).value_or(event_place()));
        store::drop_backlog(tx, id, std::nullopt);
        store::move(tx, id, to_string(place));
        note(tx, by, "webhook.replayed", id, R"({"since":")" + to_rfc3339(since) + "\"}");
    });
}

result<webhook_delivery> webhooks::test(db::link& link, uuid const& id) const
{
    auto const event_id = "evt_test_" + uuid::make_v7().str();
    std::array const letters{store::letter{.event_id = event_id,
                                           .event_type = "webhook.test",
                                           .sku = {},
                                           .body = test_body(event_id)}};
    return db::transact(link, [&](db::transaction& tx) -> result<webhook_delivery> {
        if (!store::lock(tx, id))
            return unknown_webhook();
        store::enqueue(tx, id, letters, std::chrono::seconds(0));
        return std::move(*store::delivery_of(tx, id, event_id));
    });
}

result<webhook_delivery> webhooks::resend(db::link& link, uuid const& id,
                                          std::string const& event_id) const
{
    // What no id looks like is the id of nothing, and nothing a database should be asked.
    if (!std::ranges::all_of(event_id, [](char c) { return c > ' ' && c < 0x7F; }))
        return unknown_delivery();
    return db::transact(link, [&](db::transaction& tx) -> result<webhook_delivery> {
        if (!store::lock(tx, id))
            return unknown_webhook();
        store::resend(tx, id, event_id);
        store::hurry(tx, id, event_id);
        auto found = store::delivery_of(tx, id, event_id);
        if (!found)
            return unknown_delivery();
        return std::move(*found);
    });
}

result<std::vector<webhook_delivery>> webhooks::deliveries(db::link& link,
                                                           delivery_filter const& filter) const
{
    auto states = filter.states;
    if (states.empty())
        states = {"pending", "delivered", "dead"};
    return db::read(link, db::scope::snapshot,
                    [&](db::transaction& tx) -> result<std::vector<webhook_delivery>> {
                        if (!store::by_id(tx, filter.webhook))
                            return unknown_webhook();
                        return store::deliveries(tx, filter.webhook, states, filter.before,
                                                 filter.limit);
                    });
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "db/webhooks.hpp"

#include "sql/webhooks.hpp"

#include <charconv>
#include <limits>
#include <stdexcept>

namespace holdfast::db::webhooks {

namespace {

// "{a,b}" of "a,b": names of types need no quotes.
std::optional<std::string> to_array(std::optional<std::string> const& names)
{
    if (!names)
        return std::nullopt;
    return '{' + *names + '}';
}

} // namespace

std::vector<std::uint8_t> secret_of(std::string_view bytea)
{
    if (!bytea.starts_with("\\x") || bytea.size() % 2 != 0)
        throw std::logic_error("a secret that is no bytea");
    std::vector<std::uint8_t> bytes;
    for (std::size_t i = 2; i < bytea.size(); i += 2) {
        std::uint8_t byte = 0;
        std::from_chars(bytea.data() + i, bytea.data() + i + 2, byte, 16);
        bytes.push_back(byte);
    }
    return bytes;
}

std::optional<timestamp> insert(transaction& tx, webhook const& w,
                                std::span<std::uint8_t const> secret, std::size_t count_max)
{
    return tx.maybe<timestamp>(sql::webhooks::insert, w.id, w.url, to_array(w.types), w.sku_prefix,
                               w.description, to_text(secret), w.place, count_max);
}

std::vector<webhook> all(transaction& tx)
{
    return tx.many<webhook>(sql::webhooks::all);
}

std::optional<webhook> by_id(transaction& tx, uuid const& id)
{
    return tx.maybe<webhook>(sql::webhooks::by_id, id);
}

std::optional<webhook> lock(transaction& tx, uuid const& id)
{
    return tx.maybe<webhook>(sql::webhooks::lock, id);
}

void change(transaction& tx, webhook const& w)
{
    tx.exec(sql::webhooks::change, w.id, w.url, to_array(w.types), w.sku_prefix, w.description,
            w.state, w.disabled_reason);
}

void rotate(transaction& tx, uuid const& id, std::span<std::uint8_t const> secret,
            std::chrono::seconds keep_former)
{
    tx.exec(sql::webhooks::rotate, id, to_text(secret), keep_former.count());
}

bool disable(transaction& tx, uuid const& id, std::int64_t revision, std::string const& reason)
{
    return tx.exec(sql::webhooks::disable, id, revision, reason) == 1;
}

void move(transaction& tx, uuid const& id, std::string const& place)
{
    tx.exec(sql::webhooks::move, id, place);
}

void remove(transaction& tx, uuid const& id)
{
    tx.exec(sql::webhooks::remove, id);
}

std::size_t clear_deleted(transaction& tx, std::size_t limit)
{
    auto const gone = tx.exec(sql::webhooks::clear_deleted, limit);
    tx.exec(sql::webhooks::drop_deleted);
    return static_cast<std::size_t>(gone);
}

void lock_list(transaction& tx)
{
    tx.exec(sql::webhooks::lock_list);
}

std::vector<backlog> backlogs(transaction& tx, uuid const& webhook)
{
    return tx.many<backlog>(sql::webhooks::backlogs, webhook);
}

void keep_backlog(transaction& tx, uuid const& webhook, std::span<backlog const> all)
{
    std::vector<std::string> skus, places;
    for (auto const& each : all) {
        skus.push_back(each.sku);
        places.push_back(each.place);
    }
    tx.exec(sql::webhooks::keep_backlog, webhook, skus, places);
}

void drop_backlog(transaction& tx, uuid const& webhook, std::optional<std::string> const& sku)
{
    tx.exec(sql::webhooks::drop_backlog, webhook, sku);
}

bool advance(transaction& tx, uuid const& id, std::int64_t revision, std::string const& seen,
             std::string const& place)
{
    return tx.exec(sql::webhooks::advance, id, revision, seen, place) == 1;
}

bool try_own(transaction& tx, std::int64_t lock_number)
{
    return tx.one<bool>(sql::webhooks::try_own, lock_number);
}

void disown(transaction& tx, std::int64_t lock_number)
{
    (void)tx.one<bool>(sql::webhooks::disown, lock_number);
}

void enqueue(transaction& tx, uuid const& webhook, std::span<letter const> letters,
             std::chrono::seconds delay)
{
    std::vector<std::string> ids, types, bodies;
    std::vector<std::optional<std::string>> skus;
    for (auto const& each : letters) {
        ids.push_back(each.event_id);
        types.push_back(each.event_type);
        skus.push_back(each.sku);
        bodies.push_back(each.body);
    }
    tx.exec(sql::webhooks::enqueue, webhook, ids, types, skus, bodies, delay.count());
}

void resend(transaction& tx, uuid const& webhook, std::string const& event_id)
{
    tx.exec(sql::webhooks::resend, webhook, event_id);
}

void hurry(transaction& tx, uuid const& webhook, std::optional<std::string> const& event_id)
{
    tx.exec(sql::webhooks::hurry, webhook, event_id);
}

std::vector<std::int64_t> due(transaction& tx, std::vector<std::int64_t> const& ids)
{
    return tx.many<std::int64_t>(sql::webhooks::due, ids);
}

std::vector<pending_delivery> pending(transaction& tx, uuid const& webhook,
                                      std::vector<std::int64_t> const& known, std::size_t limit)
{
    return tx.many<pending_delivery>(sql::webhooks::pending, webhook, known, limit);
}

void note(transaction& tx, std::span<attempt const> attempts)
{
    std::vector<std::int64_t> ids, counts, delays;
    std::vector<std::optional<std::int64_t>> statuses;
    std::vector<std::optional<std::string>> faults;
    std::vector<std::string> states;
    for (auto const& each : attempts) {
        ids.push_back(each.id);
        counts.push_back(each.attempts);
        statuses.push_back(each.status);
        faults.push_back(each.fault);
        states.push_back(each.state);
        delays.push_back(each.delay.count());
    }
    tx.exec(sql::webhooks::note, ids, counts, statuses, faults, states, delays);
}

std::optional<delivery> delivery_of(transaction& tx, uuid const& webhook,
                                    std::string const& event_id)
{
    return tx.maybe<delivery>(sql::webhooks::delivery, webhook, event_id);
}

std::vector<delivery> deliveries(transaction& tx, uuid const& webhook,
                                 std::vector<std::string> const& states,
                                 std::optional<std::int64_t> before, std::size_t limit)
{
    return tx.many<delivery>(sql::webhooks::deliveries, webhook, states,
                             before.value_or(std::numeric_limits<std::int64_t>::max()), limit);
}

std::size_t forget(transaction& tx, std::chrono::seconds keep, std::size_t limit)
{
    return static_cast<std::size_t>(tx.exec(sql::webhooks::forget, keep.count(), limit));
}

} // namespace holdfast::db::webhooks

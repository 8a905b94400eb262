// SPDX-License-Identifier: Apache-2.0
#include "service/fast_path/door.hpp"

#include "db/transact.hpp"
#include "service/log.hpp"
#include "service/overload.hpp"
#include "service/waiter.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

namespace holdfast::fast_path {

namespace {

// A crowd asks every few seconds, so what an item says is read once for all of them.
constexpr auto rules_lifetime = std::chrono::seconds(1);
constexpr std::size_t items_max = 1000;

// Who comes while an item is first read waits for that.
constexpr int looks_max = 200;
constexpr auto between_looks = std::chrono::milliseconds(10);

// Asking often enough keeps the place, which is forgotten after a minute; whoever is far from the
// front need not ask as often.
constexpr std::int64_t places_a_second = 10;
constexpr std::int64_t retry_after_max = 20;

refusal invalid(std::string pointer, std::string detail)
{
    return {.code = errc::validation_failed,
            .detail = "There are no tokens to ask for.",
            .errors = {{std::move(pointer), std::move(detail)}}};
}

result<void> check(std::optional<db::tokens::rules> const& rules, std::string const& sku)
{
    if (!rules)
        return refusal{.code = errc::unknown_sku, .detail = "There is no item " + sku + "."};
    if (!rules->is_asked_for)
        return invalid("/sku", "is sold without tokens");
    if (!rules->may_queue)
        return refusal{.code = errc::not_on_sale,
                       .detail = sku + " is paused, or its sale is over."};
    return {};
}

metrics::token_outcome outcome_of(result<door_answer> const& answer)
{
    if (!answer)
        return metrics::token_outcome::refused;
    return std::holds_alternative<let_in>(*answer) ? metrics::token_outcome::granted
                                                   : metrics::token_outcome::waiting;
}

} // namespace

door::door(worker_pool& w, std::optional<gate>& g, token_secret& secret, metrics& m)
    : workers_(w), gate_(g), secret_(secret), metrics_(m)
{}

boost::asio::awaitable<result<door_answer>> door::knock(token_bearer const& who)
{
    auto answered = co_await answer(who);
    metrics_.token_answered(outcome_of(answered));
    co_return answered;
}

boost::asio::awaitable<result<door_answer>> door::answer(token_bearer const& who)
{
    if (!gate_)
        co_return invalid("", "needs the setting redis_url");
    auto const rules = co_await rules_of(who.sku);
    if (auto const is_good = check(rules, who.sku.str()); !is_good)
        co_return is_good.error();
    line_rules const line{.pool = rules->pool, .ttl = std::chrono::seconds(rules->ttl_seconds)};
    co_return co_await stand(who, line);
}

boost::asio::awaitable<door_answer> door::stand(token_bearer const& who, line_rules const& rules)
{
    auto const signing = co_await secret(); // before a token is out that cannot be signed
    std::vector<redis::request> const asked{
        stand_in_line(gate_->prefix(), who, rules, uuid::make_v7())};
    auto const replies = co_await gate_->run(asked);
    if (auto const* why = replies.front().why()) {
        log::warning("tokens.no_line", {{"sku", who.sku.str()}, {"reason", why->text}});
        throw overloaded();
    }
    auto const told = read_turn(replies.front());
    if (auto const* granted = std::get_if<token>(&told))
        co_return let_in{to_text(*granted, who, signing), granted->expires_at};
    auto const* place = std::get_if<place_in_line>(&told);
    if (place == nullptr)
        throw overloaded();
    auto const seconds = std::min(place->place / places_a_second + 1, retry_after_max);
    co_return told_to_wait{place->place, place->waiting, std::chrono::seconds(seconds)};
}

boost::asio::awaitable<shared_secret> door::secret()
{
    if (auto const known = secret_.remembered())
        co_return *known;
    auto const make = [this](db::link& link) { return secret_.make(link); };
    co_return co_await workers_.run(make);
}

// What was read a moment ago. One caller reads it anew; the others go on with what was known.
boost::asio::awaitable<std::optional<db::tokens::rules>> door::rules_of(sku const& of)
{
    for (int looks = 0; looks < looks_max; ++looks) {
        auto const known = recall(of.str());
        if (!known)
            co_return co_await read_rules(of);
        if (known->rules)
            co_return known->rules;
        co_await rest(between_looks);
    }
    throw overloaded();
}

boost::asio::awaitable<std::optional<db::tokens::rules>> door::read_rules(sku const& of)
{
    auto const look = [&of](db::link& link) {
        return db::read(link, db::scope::single,
                        [&of](db::transaction& tx) { return db::tokens::rules_of(tx, of); });
    };
    std::optional<db::tokens::rules> found;
    std::exception_ptr fault;
    try {
        found = co_await workers_.run(look);
    } catch (std::exception const&) {
        fault = std::current_exception();
    }
    remember(of.str(), found); // nothing, so that the next caller reads, when there was a fault
    if (fault)
        std::rethrow_exception(fault);
    co_return found;
}

// Nothing for the caller who is to read it.
std::optional<door::memory> door::recall(std::string const& sku)
{
    auto const now = clock::now();
    std::scoped_lock const lock(mutex_);
    if (items_.size() >= items_max && !items_.contains(sku))
        items_.clear();
    auto const [found, is_new] = items_.try_emplace(sku, memory{.read_at = now});
    if (!is_new && now - found->second.read_at < rules_lifetime)
        return found->second;
    found->second.read_at = now;
    return std::nullopt;
}

void door::remember(std::string const& sku, std::optional<db::tokens::rules> const& found)
{
    std::scoped_lock const lock(mutex_);
    if (found)
        items_.insert_or_assign(sku, memory{found, clock::now()});
    else
        items_.erase(sku);
}

void door::let_out(reserve_command const& cmd)
{
    if (!gate_ || !cmd.token || !cmd.customer)
        return;
    auto const secret = secret_.remembered();
    if (!secret)
        return;
    std::optional<sku> before;
    for (auto const& line : cmd.lines) {
        if (before == line.at.sku)
            continue;
        before = line.at.sku;
        token_bearer const who{line.at.sku, *cmd.customer};
        if (auto const used = parse_token(*cmd.token, who, *secret))
            gate_->send({spend(gate_->prefix(), who, used->id)});
    }
}

} // namespace holdfast::fast_path

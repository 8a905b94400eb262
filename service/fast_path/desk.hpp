// SPDX-License-Identifier: Apache-2.0
// Where commands about reservations are handed in: Redis is asked first about items that it stands
// before, and the lanes do the rest.
//
// No request is served past a Redis that may still answer others: PostgreSQL refuses to serve it
// until it is noted there, or until nobody may ask Redis any more.
#pragma once

#include "service/blocked_customers.hpp"
#include "service/fast_path/gate.hpp"
#include "service/fast_path/roster.hpp"
#include "service/lanes.hpp"
#include "service/worker_pool.hpp"

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <variant>

namespace holdfast::fast_path {

using reserved = std::variant<outcome<reservation>, outcome<queued_request>>;

class desk {
public:
    // Without a gate there is no Redis. What is given here must outlive the desk.
    desk(lanes&, worker_pool&, roster&, std::optional<gate>&, reservation_settings const&,
         blocked_customers const&, metrics&);

    // A reservation that is made, or one that Redis has accepted where the item allows that.
    // Refusals: those of reservations::reserve. Throws overloaded.
    boost::asio::awaitable<result<reserved>> run(reserve_command&);

    // Refusals: those of confirm, release, extend. What comes back is told to Redis before the
    // caller hears of it. What Redis has accepted is carried out first; that may be refused as
    // well.
    boost::asio::awaitable<result<reservation>> run(settle_command const&);

    // What Redis has accepted under this id and PostgreSQL does not have yet, as far as Redis can
    // tell. Throws overloaded when Redis cannot be asked, but may have it.
    boost::asio::awaitable<std::optional<queued_request>> find_queued(uuid const&);

private:
    using answer = std::optional<result<reserved>>;

    // What these refer to outlives the call. Nothing passed to a coroutine is made in the
    // expression that awaits it: g++ 12 destroys some such temporaries twice.
    boost::asio::awaitable<answer> attempt(reserve_command&, items const&);
    boost::asio::awaitable<answer> pass_on(reserve_command&, admission const&, items const& known);
    boost::asio::awaitable<result<reservation>> run_queued(settle_command const&);
    boost::asio::awaitable<result<reservation>> run_late(settle_command const&, uuid const& id);
    boost::asio::awaitable<result<outcome<reservation>>> carry_out(reserve_command const&);
    boost::asio::awaitable<void> pass_by(item const&);
    boost::asio::awaitable<void> catch_up(item const& missing, items const& known);
    void tell(admission const&, result<outcome<reservation>> const*);

    lanes& lanes_;
    worker_pool& workers_;
    roster& roster_;
    std::optional<gate>& gate_;
    blocked_customers const& blocked_;
    bool has_hold_caps_;
    metrics& metrics_;
};

} // namespace holdfast::fast_path

// SPDX-License-Identifier: Apache-2.0
// Who may buy an item that is sold with tokens: lets customers in, a pool of them at a time, and
// keeps the others in line.
#pragma once

#include "db/tokens.hpp"
#include "service/fast_path/gate.hpp"
#include "service/fast_path/line.hpp"
#include "service/metrics.hpp"
#include "service/reservations.hpp"
#include "service/tokens.hpp"
#include "service/worker_pool.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

namespace holdfast::fast_path {

// Let in: with this token.
struct let_in {
    std::string token;
    timestamp expires_at;
};

struct told_to_wait {
    std::int64_t place = 0; // 1: next
    std::int64_t waiting = 0;
    std::chrono::seconds retry_after{1};
};

using door_answer = std::variant<let_in, told_to_wait>;

class door {
public:
    // Without a gate there is no line. What is given here must outlive the door.
    door(worker_pool&, std::optional<gate>&, token_secret&, metrics&);

    // Refusals: validation_failed (the item asks for no token, no Redis), unknown_sku, not_on_sale.
    // Throws overloaded, also when Redis does not answer.
    boost::asio::awaitable<result<door_answer>> knock(token_bearer const&);

    // Makes room for the next in line some time soon, now that a reservation was made with a token.
    // Otherwise the token makes room when it expires.
    void let_out(reserve_command const&);

private:
    using clock = std::chrono::steady_clock;

    struct memory {
        std::optional<db::tokens::rules> rules = {}; // nothing while they are first read
        clock::time_point read_at = {};
    };

    boost::asio::awaitable<result<door_answer>> answer(token_bearer const&);
    boost::asio::awaitable<std::optional<db::tokens::rules>> rules_of(sku const&);
    boost::asio::awaitable<std::optional<db::tokens::rules>> read_rules(sku const&);
    boost::asio::awaitable<door_answer> stand(token_bearer const&, line_rules const&);
    boost::asio::awaitable<shared_secret> secret();
    [[nodiscard]] std::optional<memory> recall(std::string const& sku);
    void remember(std::string const& sku, std::optional<db::tokens::rules> const&);

    worker_pool& workers_;
    std::optional<gate>& gate_;
    token_secret& secret_;
    metrics& metrics_;
    std::mutex mutex_;
    std::map<std::string, memory> items_; // by SKU
};

} // namespace holdfast::fast_path

// SPDX-License-Identifier: Apache-2.0
// Customers to whom nothing more is promised. PostgreSQL decides, in the transaction of each
// reservation; what is remembered here keeps Redis from accepting what would be refused then.
#pragma once

#include "db/link.hpp"
#include "service/trail.hpp"
#include "stock/clock.hpp"
#include "stock/result.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace holdfast {

// All of them are remembered by every process.
inline constexpr std::size_t blocked_customers_max = 100'000;

struct block_command {
    std::string customer;
    std::string reason;
    std::string actor;
    std::optional<std::string> request_id = {};
};

struct blocked_customer {
    std::string customer;
    std::string reason;
    std::string actor; // who gave the reason
    timestamp blocked_at;
};

struct block_answer {
    blocked_customer blocked;
    bool is_new = false;
};

struct blocked_filter {
    std::string after; // continue after this customer, in byte order
    std::size_t limit = 50;
};

// Thread-safe.
class blocked_customers {
public:
    // Blocks, or changes the reason. Refusals: validation_failed (there are too many).
    [[nodiscard]] result<block_answer> block(db::link&, block_command const&);

    // Refusals: not_found.
    [[nodiscard]] result<void> unblock(db::link&, std::string const& customer,
                                       staff const& by = {});

    // By customer, in byte order.
    [[nodiscard]] std::vector<blocked_customer> list(db::link&, blocked_filter const&) const;

    // Whether the customer was blocked a moment ago, when this process looked.
    [[nodiscard]] bool remembers(std::string const& customer) const;

    // Looks whether the list has changed, and reads it then. Throws db::error.
    void refresh(db::link&);

private:
    using names = std::unordered_set<std::string>;

    std::mutex mutable mutex_; // guards the two below
    std::shared_ptr<names const> remembered_ = std::make_shared<names const>();
    std::int64_t revision_ = -1;
};

} // namespace holdfast

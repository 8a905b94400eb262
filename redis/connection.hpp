// SPDX-License-Identifier: Apache-2.0
// One connection to one node. Blocks, so it is for worker threads.
#pragma once

#include "redis/reply.hpp"
#include "redis/target.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

struct redisContext;

namespace holdfast::redis {

using command = std::vector<std::string>; // the name and what follows it

struct timeouts {
    std::chrono::milliseconds connect{500};
    std::chrono::milliseconds answer{1000}; // to all that is sent together
};

// After any error a connection is of no more use: answers might belong to other commands.
class connection {
public:
    // Throws error when the node cannot be reached or does not want us.
    connection(node const&, target const&, timeouts);
    ~connection();
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    // False when the node has hung up meanwhile, or says something nobody asked for.
    [[nodiscard]] bool is_idle() const noexcept;

    // Sends without waiting for an answer. Throws error.
    void send(std::span<command const* const>);

    // The answers to the next `count` commands sent, in order. Throws error.
    [[nodiscard]] std::vector<reply> receive(std::size_t count);

    // Sends and receives.
    [[nodiscard]] std::vector<reply> run(std::span<command const>);

private:
    struct closer {
        void operator()(redisContext*) const noexcept;
    };

    [[noreturn]] void fail() const;

    timeouts timeouts_;
    std::string name_;
    std::unique_ptr<redisContext, closer> context_;
};

} // namespace holdfast::redis

// SPDX-License-Identifier: Apache-2.0
// Real servers and clusters of Redis on loopback ports that were free a moment ago, stopped by
// process id. No process outlives whoever started it.
#pragma once

#include "redis/client.hpp"
#include "tests/support/program.hpp"

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::test {

// A port on 127.0.0.1 that nobody listens on.
[[nodiscard]] std::uint16_t free_port();

class redis_server {
public:
    // `settings` are lines of redis.conf as arguments: {"--requirepass", "secret"}.
    explicit redis_server(std::vector<std::string> settings = {});
    redis_server(redis_server const&) = delete;
    redis_server& operator=(redis_server const&) = delete;
    ~redis_server();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] pid_t pid() const noexcept { return running_->pid(); }
    [[nodiscard]] std::string url() const;
    [[nodiscard]] redis::target target() const;

    void kill9();

    // On the same port, with what it has kept on disk: nothing, unless the settings say otherwise.
    void start();

    // Removes what it has kept on disk. Not while it runs.
    void forget();

    // As if it hung; and on again.
    void suspend();
    void resume();

    // One command, by a client of its own. Throws when it is refused.
    redis::reply ask(redis::command const& command) const;

private:
    [[nodiscard]] bool is_up() const;

    std::vector<std::string> settings_;
    temporary_directory place_;
    std::uint16_t port_;
    std::unique_ptr<program> running_;
};

// Three masters, and a replica of each.
class redis_cluster {
public:
    redis_cluster();

    [[nodiscard]] std::string url() const;
    [[nodiscard]] redis::target target() const;

    // The node that is master of a key at the moment.
    [[nodiscard]] redis_server& master_of(std::string const& key);

    [[nodiscard]] std::vector<std::unique_ptr<redis_server>>& nodes() noexcept { return nodes_; }

    // Waits until every slot has a master that answers and three replicas follow. Throws when it
    // takes too long.
    void wait_until_settled();

private:
    std::vector<std::unique_ptr<redis_server>> nodes_;
};

} // namespace holdfast::test

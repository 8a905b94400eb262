// SPDX-License-Identifier: Apache-2.0
// Listens, hands each connection to one of the I/O threads, and drains.
#pragma once

#include "service/http/dispatcher.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace holdfast::http {

class server {
public:
    // Binds at once; throws std::system_error with the reason. Serves from run() on.
    server(app&, std::string const& host, std::uint16_t port);
    ~server();

    // The port bound: the one asked for, or the free one taken for 0.
    [[nodiscard]] std::uint16_t port() const;

    // Starts the I/O threads and returns.
    void run();

    // Takes no new connections, answers every request that has come, closes what is idle, and cuts
    // what is left after `longest`. Returns whether nothing had to be cut.
    bool drain(std::chrono::seconds longest);

private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

} // namespace holdfast::http

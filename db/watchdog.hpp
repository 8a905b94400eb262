// SPDX-License-Identifier: Apache-2.0
// Ends waits that the server's own timeouts cannot end: a host that is gone, a server that hangs.
// libpq blocks without a limit, so when a watched socket is overdue it is shut down and libpq
// reports a dead connection.
#pragma once

#include <chrono>
#include <memory>

namespace holdfast::db {

class watch {
public:
    // Watches a socket; at most one wait at a time.
    explicit watch(int socket);
    ~watch();
    watch(watch const&) = delete;
    watch& operator=(watch const&) = delete;

    void begin(std::chrono::milliseconds longest) noexcept;
    void end() noexcept;

    struct entry;

private:
    std::shared_ptr<entry> entry_;
};

} // namespace holdfast::db

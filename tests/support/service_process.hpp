// SPDX-License-Identifier: Apache-2.0
// Runs the real binary as a shop would: `holdfast serve` on a free port, with a data directory of
// its own, stopped politely or with kill -9. No process outlives the test binary.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

struct service_options {
    // A connection string for HOLDFAST_DATABASE_URL. Empty: the service's own embedded cluster.
    std::string database_url = {};

    // Follow `serve --data DIR --listen 127.0.0.1:0`.
    std::vector<std::string> arguments = {};

    // Set on top of an environment that has no HOLDFAST_*, PG* or TZ of the caller's.
    std::vector<std::pair<std::string, std::string>> environment = {};

    // Empty: a new directory, removed at the end.
    std::filesystem::path data_directory = {};
};

// One running service. Starting returns when it says that it listens, or throws with what it wrote.
class service_process {
public:
    explicit service_process(service_options const& options = {});
    service_process(service_process const&) = delete;
    service_process& operator=(service_process const&) = delete;

    // Stops what still runs.
    ~service_process();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] std::string url() const;

    // A key that may do everything, given to the service by HOLDFAST_ADMIN_KEY.
    [[nodiscard]] std::string const& admin_key() const noexcept { return admin_key_; }
    [[nodiscard]] std::filesystem::path const& data_directory() const noexcept { return data_; }

    // SIGTERM, then waits. Returns the exit status, or 128 + the signal that ended it.
    int terminate();

    // As if the machine lost power under it, and waits until it is gone.
    void kill9();

    // The last lines of its log.
    [[nodiscard]] std::string log_tail() const;

    // How many services ended otherwise than asked: a crash, or an exit status after SIGTERM that
    // is not 0. The test binary fails when there was any.
    static int unclean_exits() noexcept;

    // The logs of the services that ended since the last call, to be shown when a test failed.
    static std::string take_ended_logs();

private:
    void launch(service_options const& options);
    void wait_until_listening();
    std::optional<int> exit_status_within(std::chrono::milliseconds deadline);

    std::filesystem::path scratch_;
    std::filesystem::path data_;
    std::string admin_key_;
    std::uint16_t port_ = 0;
    pid_t pid_ = -1;
    std::optional<int> exit_status_;
};

} // namespace holdfast::test

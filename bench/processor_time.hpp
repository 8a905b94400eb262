// SPDX-License-Identifier: Apache-2.0
// Who used the processors while something was measured: service, PostgreSQL, Redis and generator
// share them, and a figure is only as good as the share its subject got.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

namespace holdfast::bench {

// Percent of one core; several cores come to more than 100.
struct processor_shares {
    double service = 0;
    double postgres = 0;
    std::optional<double> redis; // absent when there is none
    double generator = 0;
    double others = 0; // the kernel's own work, and what else runs on this machine
    double idle = 0;   // of the whole machine
};

struct watched_processes {
    pid_t postmaster = 0;
    std::optional<pid_t> service = {};   // absent: its share is 0
    std::optional<pid_t> generator = {}; // absent: it is this process
    std::optional<pid_t> redis = {};
};

class processor_watch {
public:
    explicit processor_watch(watched_processes const& who) : who_(who) {}

    void begin() { began_ = read(); }
    void end() { ended_ = read(); }

    // Between begin() and end().
    [[nodiscard]] processor_shares shares() const;

private:
    struct reading {
        std::chrono::steady_clock::time_point at;
        double service = 0; // seconds, as the others
        double postgres = 0;
        double redis = 0;
        double generator = 0;
        double busy = 0; // the whole machine
        double idle = 0;
    };

    [[nodiscard]] reading read() const;

    watched_processes who_;
    reading began_;
    reading ended_;
};

// In bytes; 0 when there is no such process.
[[nodiscard]] std::int64_t resident_bytes(pid_t);

} // namespace holdfast::bench

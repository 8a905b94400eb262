// SPDX-License-Identifier: Apache-2.0
#include "bench/processor_time.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>
#include <string>

namespace holdfast::bench {

namespace fs = std::filesystem;

namespace {

struct process_times {
    pid_t parent = 0;
    double own = 0;      // seconds, user and system
    double children = 0; // those that have ended
};

double seconds_of(double ticks)
{
    static auto const per_second = static_cast<double>(::sysconf(_SC_CLK_TCK));
    return ticks / per_second;
}

// Nothing when the process has ended meanwhile.
std::optional<process_times> times_of(std::string const& pid)
{
    std::ifstream in("/proc/" + pid + "/stat");
    std::string text;
    std::getline(in, text, '\0'); // of a process that ends meanwhile, nothing
    // The name stands in brackets and may hold anything.
    auto const name_end = text.rfind(')');
    if (name_end == std::string::npos)
        return std::nullopt;
    std::istringstream fields(text.substr(name_end + 1));
    std::string state;
    process_times found;
    fields >> state >> found.parent;
    for (int i = 5; i <= 13; ++i) { // to utime, the 14th field
        std::string skipped;
        fields >> skipped;
    }
    double user = 0;
    double system = 0;
    double children_user = 0;
    double children_system = 0;
    fields >> user >> system >> children_user >> children_system;
    found.own = seconds_of(user + system);
    found.children = seconds_of(children_user + children_system);
    return found;
}

double seconds_used_by(pid_t pid)
{
    auto const times = times_of(std::to_string(pid));
    return times ? times->own : 0;
}

bool is_number(std::string const& text)
{
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Of the postmaster and its children; what ended children used counts as the postmaster's.
double server_seconds(pid_t postmaster)
{
    auto const itself = times_of(std::to_string(postmaster));
    double seconds = itself ? itself->own + itself->children : 0;
    for (auto const& entry : fs::directory_iterator("/proc")) {
        auto const name = entry.path().filename().string();
        if (!is_number(name))
            continue;
        auto const times = times_of(name);
        if (times && times->parent == postmaster)
            seconds += times->own;
    }
    return seconds;
}

double own_seconds()
{
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    auto const seconds = [](timeval const& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

struct machine_times {
    double busy = 0;
    double idle = 0;
};

machine_times times_of_machine()
{
    std::ifstream in("/proc/stat");
    std::string word;
    std::array<double, 8> spent{}; // user nice system idle iowait irq softirq steal
    in >> word;
    for (auto& each : spent)
        in >> each;
    auto const idle = spent[3] + spent[4];
    auto const all = std::accumulate(spent.begin(), spent.end(), 0.0);
    return {.busy = seconds_of(all - idle), .idle = seconds_of(idle)};
}

} // namespace

processor_watch::reading processor_watch::read() const
{
    reading now;
    now.at = std::chrono::steady_clock::now();
    now.service = who_.service ? seconds_used_by(*who_.service) : 0;
    now.postgres = server_seconds(who_.postmaster);
    now.redis = who_.redis ? seconds_used_by(*who_.redis) : 0;
    now.generator = who_.generator ? seconds_used_by(*who_.generator) : own_seconds();
    auto const machine = times_of_machine();
    now.busy = machine.busy;
    now.idle = machine.idle;
    return now;
}

processor_shares processor_watch::shares() const
{
    auto const seconds = std::chrono::duration<double>(ended_.at - began_.at).count();
    auto const percent = [&](double reading::*what) {
        return seconds > 0 ? std::max(0.0, ended_.*what - began_.*what) / seconds * 100 : 0;
    };
    processor_shares shares{.service = percent(&reading::service),
                            .postgres = percent(&reading::postgres),
                            .generator = percent(&reading::generator),
                            .idle = percent(&reading::idle)};
    if (who_.redis)
        shares.redis = percent(&reading::redis);
    auto const known =
        shares.service + shares.postgres + shares.redis.value_or(0) + shares.generator;
    shares.others = std::max(0.0, percent(&reading::busy) - known);
    return shares;
}

std::int64_t resident_bytes(pid_t pid)
{
    std::ifstream in("/proc/" + std::to_string(pid) + "/statm");
    std::int64_t size = 0;
    std::int64_t resident = 0;
    in >> size >> resident;
    return resident * ::sysconf(_SC_PAGE_SIZE);
}

} // namespace holdfast::bench

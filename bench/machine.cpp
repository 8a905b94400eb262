// SPDX-License-Identifier: Apache-2.0
#include "bench/machine.hpp"

#include "db/child_process.hpp"
#include "db/transaction.hpp"
#include "sql/postgres_figures.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace holdfast::bench {

namespace fs = std::filesystem;

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t page_bytes = 8 * 1024;
constexpr std::size_t file_pages = 2048; // 16 MiB, a segment of the log
constexpr std::size_t syncs_max = 200;
constexpr auto syncs_limit = 5s;

std::string kernel()
{
    utsname names{};
    return ::uname(&names) == 0 ? fmt::format("{} {}", names.sysname, names.release) : "unknown";
}

int processors()
{
    cpu_set_t set;
    CPU_ZERO(&set);
    return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

std::string memory()
{
    constexpr double gibibyte = 1024.0 * 1024 * 1024;
    auto const bytes = static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                       static_cast<double>(::sysconf(_SC_PAGE_SIZE));
    return fmt::format("{:.1f} GiB", bytes / gibibyte);
}

bool is_below(std::string const& path, std::string const& folder)
{
    return folder == "/" || path == folder || path.starts_with(folder + '/');
}

// Of the mount with the longest name that the path is below: "ext4 on /dev/vda".
std::string filesystem_of(fs::path const& path)
{
    std::ifstream mounts("/proc/self/mounts");
    std::string found = "unknown";
    std::size_t longest = 0;
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words(line);
        std::string device;
        std::string folder;
        std::string type;
        words >> device >> folder >> type;
        if (!is_below(path.string(), folder) || folder.size() < longest)
            continue;
        longest = folder.size();
        found = fmt::format("{} on {}", type, device);
    }
    return found;
}

// PostgreSQL flushes its log into files that exist already, one page at least.
double median_fdatasync_ms(fs::path const& directory)
{
    auto const path = directory / "fdatasync";
    db::file_descriptor const file{
        ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)};
    if (!file.is_open())
        throw std::system_error(errno, std::generic_category(), path.string());
    fs::remove(path);
    std::string const page(page_bytes, 'x');
    auto const write = [&](std::size_t number) {
        auto const at = static_cast<off_t>(number * page_bytes);
        if (::pwrite(file.number(), page.data(), page.size(), at) != ssize_t{page_bytes})
            throw std::system_error(errno, std::generic_category(), path.string());
    };
    for (std::size_t i = 0; i < file_pages; ++i)
        write(i);
    if (::fsync(file.number()) != 0)
        throw std::system_error(errno, std::generic_category(), path.string());

    std::vector<double> took;
    auto const until = clock::now() + syncs_limit;
    while (took.size() < syncs_max && (took.empty() || clock::now() < until)) {
        write(took.size());
        auto const began = clock::now();
        if (::fdatasync(file.number()) != 0)
            throw std::system_error(errno, std::generic_category(), path.string());
        took.push_back(std::chrono::duration<double, std::milli>(clock::now() - began).count());
    }
    std::ranges::sort(took);
    return took[took.size() / 2];
}

struct setting_row {
    std::string name;
    std::string value;
};

std::vector<setting_row> settings_of(db::session& server)
{
    std::vector<std::string> const names{
        "server_version",  "fsync",          "full_page_writes", "synchronous_commit",
        "wal_sync_method", "shared_buffers", "max_wal_size"};
    db::transaction tx(server, db::scope::single);
    return tx.many<setting_row>(sql::postgres_figures::settings, names);
}

} // namespace

std::string processor_model()
{
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("model name"))
            return line.substr(line.find(':') + 2);
    utsname names{};
    return ::uname(&names) == 0 ? fmt::format("{} processor", names.machine) : "unknown";
}

machine describe_machine(fs::path const& data_directory, db::session& server)
{
    machine found;
    found.fdatasync_ms = median_fdatasync_ms(data_directory);
    auto& facts = found.facts;
    facts.emplace_back("processor", processor_model());
    facts.emplace_back("cores", std::to_string(processors()));
    facts.emplace_back("memory", memory());
    facts.emplace_back("kernel", kernel());
    facts.emplace_back("filesystem", filesystem_of(fs::canonical(data_directory)));
    facts.emplace_back("fdatasync", fmt::format("{:.3f} ms (8 KiB, median)", found.fdatasync_ms));
    for (auto& [name, value] : settings_of(server)) {
        bool const is_promise =
            name == "fsync" || name == "full_page_writes" || name == "synchronous_commit";
        if (is_promise && value != "on")
            throw std::runtime_error(fmt::format(
                "{} is {} on this server: what is measured would not be durable", name, value));
        facts.emplace_back(name == "server_version" ? "PostgreSQL" : name, std::move(value));
    }
    return found;
}

} // namespace holdfast::bench

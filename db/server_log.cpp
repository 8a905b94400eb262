// SPDX-License-Identifier: Apache-2.0
// Reads the server's log and keeps it small.

#include "db/server_log.hpp"

#include "db/child_process.hpp"
#include "db/cluster_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace holdfast::db {

namespace fs = std::filesystem;

std::uintmax_t log_bytes(fs::path const& cluster)
{
    std::uintmax_t bytes = 0;
    std::error_code absent;
    for (auto const& entry : fs::directory_iterator(cluster / "log", absent)) {
        auto const size = entry.file_size(absent);
        bytes += absent ? 0 : size;
    }
    return bytes;
}

std::string last_complaint(cluster_place const& where)
{
    std::vector<fs::path> files;
    std::error_code absent;
    for (auto const& entry : fs::directory_iterator(where.cluster() / "log", absent))
        files.push_back(entry.path());
    std::ranges::sort(files, std::greater{});
    files.resize(std::min<std::size_t>(files.size(), 1));
    files.insert(files.begin(), where.home / start_log_name);

    for (auto const& file : files) {
        auto lines = lines_of(read_text(file).value_or(""));
        std::ranges::reverse(lines);
        for (auto const& line : lines)
            for (std::string_view const level : {"FATAL:  ", "PANIC:  ", "postgres: "})
                if (auto const at = line.find(level); at != std::string::npos)
                    return line.substr(at + level.size());
    }
    return fmt::format("see {}", (where.home / start_log_name).string());
}

void prune_logs(fs::path const& cluster)
{
    auto const path = cluster / "log";
    file_descriptor const directory{
        ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)};
    if (!directory.is_open())
        return;
    std::vector<std::string> names;
    std::error_code absent;
    for (auto const& entry : fs::directory_iterator(path, absent))
        if (auto name = entry.path().filename().string(); name.starts_with("postgresql-"))
            names.push_back(std::move(name));
    std::ranges::sort(names, std::greater{}); // the names are times
    for (std::size_t i = log_files_kept; i < names.size(); ++i)
        ::unlinkat(directory.number(), names[i].c_str(), 0);
}

} // namespace holdfast::db

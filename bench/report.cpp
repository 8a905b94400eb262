// SPDX-License-Identifier: Apache-2.0
#include "bench/report.hpp"

#include "bench/chart.hpp"
#include "bench/number.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace holdfast::bench {

namespace fs = std::filesystem;

namespace {

// A table's column and the figure that stands in it.
struct column {
    std::string_view title;
    std::string_view name;
    int decimals;
};

constexpr column columns[] = {
    {"committed per second", "committed.rps", 0},
    {"p50 ms", "p50_ms", 2},
    {"p99 ms", "p99_ms", 2},
    {"p99.9 ms", "p999_ms", 2},
    {"service %", "cpu_service_percent", 0},
    {"PostgreSQL %", "cpu_postgres_percent", 0},
    {"Redis %", "cpu_redis_percent", 0},
    {"generator %", "cpu_generator_percent", 0},
    {"others %", "cpu_others_percent", 0},
    {"idle %", "cpu_idle_percent", 0},
    {"transactions per second", "transactions_per_second", 0},
    {"flushes each", "wal_flushes_per_reservation", 3},
    {"WAL bytes each", "wal_bytes_per_reservation", 0},
    {"rows read each", "rows_read_per_reservation", 1},
    {"HOT %", "hot_update_percent", 1},
    {"table KiB", "level_table_kib", 0},
    {"batch", "batch_mean", 1},
    {"MiB", "resident_mib", 1},
};

// What a row says beyond its columns.
constexpr column remarks[] = {
    {"503, %", "unavailable_percent", 1},
    {"p50 of a 503, ms", "unavailable_p50_ms", 2},
    {"p99 of a 503, ms", "unavailable_p99_ms", 2},
    {"storm per second", "storm_rps", 0},
    {"refused by Redis, %", "redis_refused_percent", 1},
    {"units taken in Redis, %", "redis_taken_percent", 1},
    {"answered 202, %", "pending_percent", 1},
    {"seconds until the queue was empty", "drain_seconds", 2},
    {"reservations", "reservations", 0},
    {"MiB at first", "resident_first_mib", 1},
    {"MiB half way", "resident_half_mib", 1},
    {"MiB at most", "resident_max_mib", 1},
};

constexpr std::string_view pool_title = "Sold behind Redis a second, by connections to Redis";
constexpr std::string_view pool_file = "redis-connections.svg";

// More than the kernel needs for itself, in percent of a core.
constexpr double others_max = 40;

using table_row = std::vector<std::string>;

struct table {
    std::string title;
    std::vector<table_row> rows; // the first one is the head
};

std::string cell_of(load_figures const& load, column const& of)
{
    auto const value = load.at(of.name);
    if (!value)
        return {};
    return of.decimals == 0 ? grouped(*value) : fmt::format("{:.{}f}", *value, of.decimals);
}

double per_second(load_figures const& load)
{
    return load.at("rps").value_or(load.at("tps").value_or(0));
}

table_row row_of(load_figures const& load)
{
    table_row cells{load.name.label, grouped(per_second(load))};
    for (auto const& each : columns)
        cells.push_back(cell_of(load, each));
    return cells;
}

// Columns in which no row has anything are left out.
void drop_empty_columns(table& of)
{
    for (auto column = of.rows.front().size(); column-- > 1;) {
        bool const is_empty =
            std::all_of(of.rows.begin() + 1, of.rows.end(),
                        [&](table_row const& row) { return row[column].empty(); });
        if (!is_empty)
            continue;
        for (auto& row : of.rows)
            row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
    }
}

// Loads that differ in two numbers, as a square: down the connections to Redis, across the clients.
table pool_table(results const& found)
{
    table made{.title = std::string(pool_title), .rows = {{"connections to Redis"}}};
    for (auto const& load : found.loads) {
        if (load.name.redis_connections == 0)
            continue;
        auto const first = std::to_string(load.name.redis_connections);
        if (made.rows.back().front() != first)
            made.rows.push_back({first});
        if (made.rows.size() == 2)
            made.rows.front().push_back(counted(load.name.clients, "client"));
        made.rows.back().push_back(grouped(per_second(load)));
    }
    return made;
}

bool has_pool_sizes(results const& found)
{
    return std::ranges::any_of(
        found.loads, [](load_figures const& load) { return load.name.redis_connections > 0; });
}

std::vector<table> tables_of(results const& found)
{
    std::vector<table> tables;
    for (auto const& load : found.loads) {
        if (load.name.redis_connections > 0)
            continue;
        if (tables.empty() || tables.back().title != load.name.section) {
            table_row head{"", "per second"};
            for (auto const& each : columns)
                head.emplace_back(each.title);
            tables.push_back({.title = load.name.section, .rows = {std::move(head)}});
        }
        tables.back().rows.push_back(row_of(load));
    }
    for (auto& each : tables)
        drop_empty_columns(each);
    if (has_pool_sizes(found))
        tables.push_back(pool_table(found));
    return tables;
}

std::vector<std::string> remarks_of(results const& found)
{
    std::vector<std::string> lines;
    for (auto const& load : found.loads) {
        if (load.name.redis_connections > 0)
            continue; // many, and all alike
        std::string line;
        for (auto const& each : remarks)
            if (auto const cell = cell_of(load, each); !cell.empty())
                line += fmt::format("{}{} {}", line.empty() ? "" : ", ", each.title, cell);
        if (!line.empty())
            lines.push_back(fmt::format("{}: {}", load.name.label, line));
    }
    return lines;
}

// Of the load that the targets speak of: how many commands shared a transaction.
std::vector<std::string> batches_of(results const& found)
{
    std::vector<std::string> lines;
    for (auto const& load : found.loads) {
        if (load.name.prefix != "hot." + found.subject || !load.at("batches"))
            continue;
        auto const all = *load.at("batches");
        std::string line;
        for (auto const& one : load.figures) {
            constexpr std::string_view mark = "batches_le_";
            bool const is_last = one.name == "batches_larger";
            if (one.value <= 0 || (!one.name.starts_with(mark) && !is_last))
                continue;
            line +=
                fmt::format("  {} {:.1f} %", is_last ? "more" : "≤ " + one.name.substr(mark.size()),
                            one.value / all * 100);
        }
        lines.push_back(
            fmt::format("{}: mean {:.1f}{}", load.name.label, *load.at("batch_mean"), line));
    }
    return lines;
}

std::size_t width_of(std::string_view text)
{
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

void print_table(table const& of, std::ostream& out)
{
    std::vector<std::size_t> widths(of.rows.front().size());
    for (auto const& row : of.rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], width_of(row[i]));
    out << '\n' << of.title << '\n';
    for (auto const& row : of.rows) {
        std::string line;
        for (std::size_t i = 0; i < row.size(); ++i) {
            std::string const padding(widths[i] - width_of(row[i]), ' ');
            line += "  " + (i == 0 ? row[i] + padding : padding + row[i]);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        out << line << '\n';
    }
}

std::string to_markdown(table const& of)
{
    std::string text = fmt::format("## {}\n\n", of.title);
    for (std::size_t i = 0; i < of.rows.size(); ++i) {
        text += '|';
        for (auto const& cell : of.rows[i])
            text += ' ' + cell + " |";
        text += '\n';
        if (i > 0)
            continue;
        text += "|---|";
        for (std::size_t column = 1; column < of.rows[i].size(); ++column)
            text += "---:|";
        text += '\n';
    }
    return text;
}

std::string to_list(std::string_view title, std::vector<std::string> const& lines)
{
    if (lines.empty())
        return {};
    auto text = fmt::format("## {}\n\n", title);
    for (auto const& line : lines)
        text += "- " + line + '\n';
    return text + '\n';
}

// Loads beside which something else used the processors, and which are no measurement therefore.
std::vector<std::string> disturbances_of(results const& found)
{
    std::vector<std::string> lines;
    for (auto const& load : found.loads)
        if (auto const others = load.at("cpu_others_percent").value_or(0); others > others_max)
            lines.push_back(fmt::format("{}: others used {:.0f} % of a core",
                                        load.key_of(load.figures.front()), others));
    return lines;
}

std::vector<std::string> ratio_lines(results const& found)
{
    std::vector<std::string> lines;
    for (auto const& each : found.ratios)
        lines.push_back(fmt::format("{}: {:.2f}", each.sentence, each.value));
    return lines;
}

constexpr std::string_view explanation =
    "Percentages of processors are of one core; \"others\" are the kernel's own work and whatever "
    "else ran. \"Flushes each\" are flushes of the write-ahead log for each reservation, \"rows "
    "read each\" what PostgreSQL read from tables and indexes for one, \"transactions\" all of "
    "PostgreSQL's in the load's database, \"HOT\" updates of "
    "`stock_level` that touched no index, \"batch\" the commands that shared a transaction, "
    "\"table\" what `stock_level` takes at the end, \"MiB\" the service's resident memory then.\n";

std::string to_page(results const& found)
{
    auto text = fmt::format("# Results of {}{}\n\n", found.date, found.is_quick ? ", quick" : "");
    text += "Made by `./dev bench`. [What it measures and how to read it]"
            "(../../../docs/performance.md).\n\n| | |\n|---|---|\n";
    for (auto const& [name, value] : found.machine.facts)
        text += fmt::format("| {} | {} |\n", name, value);
    text += fmt::format("\n{}\n", explanation);
    text += "![Throughput by clients](throughput-by-clients.svg)\n\n"
            "![Latency percentiles](latency-percentiles.svg)\n\n";
    if (has_pool_sizes(found))
        text += fmt::format("![Connections to Redis]({})\n\n", pool_file);
    for (auto const& each : tables_of(found))
        text += to_markdown(each) + '\n';
    text += to_list("Beside the tables", remarks_of(found));
    text += to_list("Commands in a batch", batches_of(found));
    text += to_list("Ratios", ratio_lines(found));
    text += to_list("Disturbed, not to be relied on", disturbances_of(found));
    while (text.ends_with("\n\n"))
        text.pop_back();
    return text;
}

void print_list(std::string_view title, std::vector<std::string> const& lines, std::ostream& out)
{
    if (lines.empty())
        return;
    out << '\n' << title << '\n';
    for (auto const& line : lines)
        out << "  " << line << '\n';
}

// Of one rival, by its number of clients.
chart_line throughput_line(results const& found, std::string const& label,
                           std::string const& prefix)
{
    chart_line line{.label = label, .points = {}};
    for (auto const& load : found.loads)
        if (load.name.prefix == prefix)
            line.points.emplace_back(std::log2(load.name.clients), per_second(load));
    std::ranges::sort(line.points);
    return line;
}

// The prefixes of what is compared in a field, such as "hot.row_lock", in the order of the tables.
std::vector<std::string> rivals_in(results const& found, std::string const& field)
{
    std::vector<std::string> all;
    for (auto const& load : found.loads) {
        auto const& prefix = load.name.prefix;
        if (load.name.clients > 0 && prefix.starts_with(field + ".") &&
            std::ranges::find(all, prefix) == all.end())
            all.push_back(prefix);
    }
    return all;
}

// A tick for each number that a line has a point at. Numbers stand by their logarithms.
void set_ticks(chart& of)
{
    std::vector<double> xs;
    for (auto const& line : of.lines)
        for (auto const& [x, y] : line.points)
            xs.push_back(x);
    std::ranges::sort(xs);
    xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
    for (double const x : xs)
        of.x_ticks.emplace_back(x, fmt::format("{:.0f}", std::exp2(x)));
}

chart throughput_chart(results const& found)
{
    chart drawn{.title = "Reservations a second by clients",
                .x_label = "clients, or connections of the service",
                .y_label = "per second",
                .x_ticks = {},
                .lines = {}};
    for (std::string const field : {"hot", "cold"})
        for (auto const& prefix : rivals_in(found, field)) {
            auto const name = prefix.substr(field.size() + 1);
            if (field == "cold" && name != found.subject && name != "pgbench")
                continue;
            drawn.lines.push_back(throughput_line(
                found, name + (field == "hot" ? ", hot SKU" : ", 10 000 SKUs"), prefix));
        }
    if (auto behind = throughput_line(found, "durable, behind Redis", "fast.durable");
        !behind.points.empty())
        drawn.lines.push_back(std::move(behind));
    set_ticks(drawn);
    return drawn;
}

// A line for each number of clients.
chart pool_chart(results const& found)
{
    chart drawn{.title = std::string(pool_title),
                .x_label = "connections to Redis",
                .y_label = "per second",
                .x_ticks = {},
                .lines = {}};
    for (auto const& load : found.loads) {
        if (load.name.redis_connections == 0)
            continue;
        auto const label = counted(load.name.clients, "client");
        auto line = std::ranges::find(drawn.lines, label, &chart_line::label);
        if (line == drawn.lines.end())
            line = drawn.lines.insert(line, {.label = label, .points = {}});
        line->points.emplace_back(std::log2(load.name.redis_connections), per_second(load));
    }
    set_ticks(drawn);
    return drawn;
}

chart latency_chart(results const& found)
{
    static constexpr std::pair<std::string_view, std::string_view> percentiles[] = {
        {"p50_ms", "50 %"},
        {"p90_ms", "90 %"},
        {"p99_ms", "99 %"},
        {"p999_ms", "99.9 %"},
        {"max_ms", "all"}};
    chart drawn{.title = "How long reservations of the hot SKU take",
                .x_label = "of the requests are answered within",
                .y_label = "milliseconds",
                .x_ticks = {},
                .y_scale = scale::logarithmic,
                .lines = {}};
    for (std::size_t i = 0; i < std::size(percentiles); ++i)
        drawn.x_ticks.emplace_back(static_cast<double>(i), percentiles[i].second);
    for (auto const& load : found.loads) {
        auto const& prefix = load.name.prefix;
        auto const& suffix = load.name.suffix;
        bool const is_shown = prefix.starts_with("hot.") && prefix != "hot.soldout" &&
                              (suffix.empty() || (prefix == "hot.pgbench" && suffix == "64"));
        if (!is_shown)
            continue;
        auto& line = drawn.lines.emplace_back();
        line.label = load.name.label;
        for (std::size_t i = 0; i < std::size(percentiles); ++i)
            if (auto const value = load.at(percentiles[i].first))
                line.points.emplace_back(static_cast<double>(i), *value);
    }
    return drawn;
}

// "AMD EPYC 7763 64-Core" becomes "amd-epyc-7763-64-core".
std::string slug_of(std::string_view text)
{
    std::string slug;
    for (char const c : text) {
        bool const is_upper = c >= 'A' && c <= 'Z';
        bool const is_plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
        if (is_upper || is_plain)
            slug += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
        else if (!slug.empty() && slug.back() != '-')
            slug += '-';
    }
    while (slug.ends_with('-'))
        slug.pop_back();
    return slug;
}

} // namespace

void print(results const& found, std::ostream& out)
{
    for (auto const& [name, value] : found.machine.facts)
        out << fmt::format("{:<19} {}\n", name, value);
    for (auto const& each : tables_of(found))
        print_table(each, out);
    print_list("Beside the tables", remarks_of(found), out);
    print_list("Commands in a batch", batches_of(found), out);
    print_list("Ratios", ratio_lines(found), out);
    print_list("Disturbed, not to be relied on", disturbances_of(found), out);
    out << std::flush;
}

std::string to_json(results const& found)
{
    // More digits than these are noise, and make a file nobody can read.
    auto const rounded = [](double value) { return std::round(value * 10'000) / 10'000; };
    nlohmann::ordered_json document;
    document["date"] = found.date;
    document["quick"] = found.is_quick;
    document["subject"] = found.subject;
    for (auto const& [name, value] : found.machine.facts)
        document["machine." + name] = value;
    document["machine.fdatasync_ms"] = rounded(found.machine.fdatasync_ms);
    for (auto const& load : found.loads)
        for (auto const& one : load.figures)
            document[load.key_of(one)] = rounded(one.value);
    for (auto const& each : found.ratios)
        document[each.key] = rounded(each.value);
    return document.dump(2) + '\n';
}

fs::path keep(results const& found, fs::path const& parent)
{
    auto folder = parent / fmt::format("{}-{}", found.date, slug_of(processor_model()));
    fs::create_directories(folder);
    write_file(folder / "results.json", to_json(found));
    write_file(folder / "results.md", to_page(found));
    write_file(folder / "throughput-by-clients.svg", to_svg(throughput_chart(found)));
    write_file(folder / "latency-percentiles.svg", to_svg(latency_chart(found)));
    if (has_pool_sizes(found))
        write_file(folder / pool_file, to_svg(pool_chart(found)));
    else
        fs::remove(folder / pool_file); // of a run before, if any
    return folder;
}

void write_file(fs::path const& path, std::string const& text)
{
    std::ofstream out(path, std::ios::binary);
    out << text;
    if (!out.flush())
        throw std::runtime_error(path.string() + " cannot be written");
}

} // namespace holdfast::bench

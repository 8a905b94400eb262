// SPDX-License-Identifier: Apache-2.0
#include "service/setting_table.hpp"

#include "redis/target.hpp"
#include "service/address_guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace holdfast::settings {

namespace {

constexpr std::string_view file_suffix = "_file";

bool is_printable_ascii(std::string_view value) noexcept
{
    return std::ranges::all_of(value, [](char c) { return c > ' ' && c < 0x7F; });
}

bool has_control_characters(std::string_view value) noexcept
{
    return std::ranges::any_of(value, is_control_character);
}

std::optional<std::string> fault_of_endpoint(std::string_view value)
{
    if (parse_endpoint(value))
        return std::nullopt;
    return "an address and a port, such as 127.0.0.1:8080 or [::1]:8080";
}

std::optional<std::string> fault_of_path(std::string_view value)
{
    if (!value.empty() && !has_control_characters(value))
        return std::nullopt;
    return "the path of a directory";
}

std::optional<std::string> fault_of_line(std::string_view value)
{
    if (!has_control_characters(value))
        return std::nullopt;
    return "one line of text";
}

// What a bearer token can carry, and long enough not to be guessed over the network.
std::optional<std::string> fault_of_admin_key(std::string_view value)
{
    if (value.empty() || (value.size() >= 16 && value.size() <= 200 && is_printable_ascii(value)))
        return std::nullopt;
    return "16 to 200 printable ASCII characters without spaces";
}

std::optional<std::string> fault_of_file(std::string_view value)
{
    if (value.empty() || std::ifstream(std::string(value)).good())
        return std::nullopt;
    return "a file that can be read";
}

std::optional<std::string> fault_of_ranges(std::string_view value)
{
    return address_guard::fault_of(value);
}

std::optional<std::string> fault_of_schedule(std::string_view value)
{
    if (parse_schedule(value))
        return std::nullopt;
    return "1 to 50 numbers of seconds from 0 to 604800, parted by commas, such as 0,5,300";
}

std::optional<std::string> fault_of_redis_url(std::string_view value)
{
    if (value.empty() || redis::parse_target(value))
        return std::nullopt;
    return "a URL such as redis://127.0.0.1:6379, its password percent-encoded";
}

// Another key has to lie in the same slot of a cluster.
std::optional<std::string> fault_of_stream(std::string_view value)
{
    auto const open = value.find('{');
    auto const close = value.find('}', open == std::string_view::npos ? 0 : open);
    bool const has_braces = value.find_first_of("{}") != std::string_view::npos;
    bool const has_tag =
        open != std::string_view::npos && close != std::string_view::npos && close > open + 1;
    if (!has_control_characters(value) && value.size() <= 200 && has_braces == has_tag)
        return std::nullopt;
    return "one line of at most 200 bytes, its braces a hash tag such as {shop}";
}

std::optional<std::string> fault_of_prefix(std::string_view value)
{
    if (!value.empty() && value.size() <= 50 && is_printable_ascii(value) &&
        value.find_first_of("{}") == std::string_view::npos)
        return std::nullopt;
    return "1 to 50 printable ASCII characters without spaces and braces";
}

constexpr auto service = setting_scope::service;
constexpr auto database = setting_scope::database;

setting const all[] = {
    {"listen", text{&config::listen, "address:port", fault_of_endpoint}, service,
     "Where the HTTP API listens; port 0 takes a free one, which the ready line names."},
    {"data", text{&config::data, "directory", fault_of_path}, database,
     "Directory of the private PostgreSQL cluster, made when it is missing; not used when "
     "`database_url` is set."},
    {"database_url", secret{&config::database_url, "connection string", fault_of_line}, database,
     "PostgreSQL server to use, as a `postgresql://` URL or as `key=value` pairs; empty means the "
     "private cluster in `data`."},
    {"admin_key", secret{&config::admin_key, "16…200 characters", fault_of_admin_key}, service,
     "An admin's API key that is known from the start, to make the others with; empty means none."},
    {"strategy", strategy_name{&config::strategy}, service,
     "How units are deducted where an item names no strategy of its own; a wrong name is answered "
     "with the right ones."},
    {"hold_ttl_seconds", number{&config::hold_ttl_seconds, 1, 604'800}, service,
     "How long a hold lasts when the request does not say."},
    {"open_holds_per_customer", number{&config::open_holds_per_customer, 0, 1'000'000}, service,
     "Holds one customer may have open at once, against hoarding; 0 means no cap."},

    {"sweep_interval_ms", number{&config::sweep_interval_ms, 0, 60'000}, service,
     "Pause between two looks for holds whose time has passed; 0 means no look: then their units "
     "go back when somebody wants them."},
    {"sweep_batch_max", number{&config::sweep_batch_max, 1, 10'000}, service,
     "Lines of holds expired in one transaction; more keep their levels' locks longer."},
    {"publish_interval_ms", number{&config::publish_interval_ms, 10, 60'000}, service,
     "Pause between two looks for changes that have no place in the feed of events yet."},
    {"events_held", choice<flag>{&config::events_held, flag_names}, service,
     "Whether `reservation.held` is among the events; without it an event is only told once "
     "something comes of a hold."},
    {"events_keep_days", number{&config::events_keep_days, 1, 3650}, service,
     "How long events can be read again; the ledger is kept for ever."},
    {"idempotency_keep_days", number{&config::idempotency_keep_days, 7, 3650}, service,
     "How long the keys of adjustments, returns and imports are known; those of reservations are "
     "kept as long as these."},
    {"event_streams_max", number{&config::event_streams_max, 0, 10'000}, service,
     "Streams of events open at once; one more is answered 503 `overloaded`."},

    {"webhook_allow", text{&config::webhook_allow, "ranges of addresses", fault_of_ranges}, service,
     "Ranges of addresses (`127.0.0.0/8,10.1.0.0/16`) that webhooks may call although they are not "
     "public, also by plain http."},
    {"webhook_retry_seconds",
     text{&config::webhook_retry_seconds, "seconds, parted by commas", fault_of_schedule}, service,
     "Pause before each attempt of a delivery, the first included; after the last one it is dead."},
    {"webhook_timeout_seconds", number{&config::webhook_timeout_seconds, 1, 60}, service,
     "Longest time one attempt may take."},
    {"webhook_keep_days", number{&config::webhook_keep_days, 1, 3650}, service,
     "How long deliveries that are over can be looked at and sent again."},
    {"webhook_ca_file", text{&config::webhook_ca_file, "file", fault_of_file}, service,
     "Certificates (PEM) that the targets of webhooks are checked against; empty means those the "
     "system trusts."},

    {"redis_url", secret{&config::redis_url, "URL", fault_of_redis_url}, service,
     "Redis to use, as `redis://[[USER]:PASSWORD@]HOST[:PORT][,HOST[:PORT]…][/DATABASE]`; of a "
     "cluster some nodes, the others are found. Empty means none."},
    {"redis_stream", text{&config::redis_stream, "key", fault_of_stream}, service,
     "Stream in Redis that every event is appended to; empty means none."},
    {"redis_stream_max", number{&config::redis_stream_max, 0, 1'000'000'000}, service,
     "Events the stream keeps, about; 0 means all."},
    {"redis_prefix", text{&config::redis_prefix, "text", fault_of_prefix}, service,
     "What the keys of the fast path begin with; shops that share a Redis need one each."},
    {"redis_connections", number{&config::redis_connections, 1, 64}, service,
     "Connections of the fast path to Redis, or to each node of a cluster; each asks what has "
     "queued in one go."},
    {"redis_timeout_ms", number{&config::redis_timeout_ms, 10, 10'000}, service,
     "Longest wait for Redis, after which PostgreSQL serves an item alone for a while."},
    {"redis_repair_max", number{&config::redis_repair_max, 0, 1'000'000'000}, service,
     "Units of one item that are put right in Redis at once although nothing explains what was "
     "wrong; of more, PostgreSQL serves the item alone until somebody asks. 0 means none."},

    {"io_threads", number{&config::io_threads, 1, 64}, service,
     "Threads that read requests and write answers; one serves tens of thousands a second."},
    {"database_sessions", number{&config::database_sessions, 1, 200}, service,
     "Database sessions besides those of the lanes and the one that watches; more only help while "
     "the server has idle processors, and all must fit its `max_connections`."},
    {"lanes", number{&config::lanes, 1, 64}, service,
     "Lanes, each with a database session of its own. Whatever concerns one SKU goes through one "
     "lane, which does what has queued in one transaction."},
    {"lane_batch_max", number{&config::lane_batch_max, 1, 1000}, service,
     "Commands one lane does in one transaction at most; 1 means a transaction for each."},
    {"queue_length_max", number{&config::queue_length_max, 16, 1'000'000}, service,
     "Requests that may wait before each lane, and before the other sessions; one more is answered "
     "503 `overloaded` at once."},
    {"queue_wait_ms", number{&config::queue_wait_ms, 10, 60'000}, service,
     "Longest wait for a database session, after which a request is answered 503 `overloaded`."},
    {"statement_timeout_ms", number{&config::statement_timeout_ms, 100, 600'000}, database,
     "Longest time PostgreSQL may work on one statement before it is cancelled."},
    {"lock_timeout_ms", number{&config::lock_timeout_ms, 50, 60'000}, database,
     "Longest wait for a row's lock, and how long a repeated `Idempotency-Key` waits for the first "
     "request; never above `statement_timeout_ms`."},

    {"connections_max", number{&config::connections_max, 8, 1'000'000}, service,
     "HTTP connections open at once; one more is answered 503 `overloaded` and closed. The process "
     "needs as many file descriptors and some more."},
    {"request_read_seconds", number{&config::request_read_seconds, 1, 3600}, service,
     "Time a client has to send a whole request once it began; a slower one is cut off."},
    {"idle_connection_seconds", number{&config::idle_connection_seconds, 1, 3600}, service,
     "How long a connection may stay open without a request; keep it longer than the load "
     "balancer's, so that the balancer closes first."},
    {"drain_seconds", number{&config::drain_seconds, 0, 600}, service,
     "Longest time requests in flight have to end after SIGTERM."},

    {"rate_limit_per_key", number{&config::rate_limit_per_key, 0, 1'000'000}, service,
     "Requests a second for one API key; 0 means no limit."},
    {"rate_burst_per_key", number{&config::rate_burst_per_key, 0, 1'000'000}, service,
     "Requests a rested API key may make at once; 0 means as many as `rate_limit_per_key`."},
    {"rate_limit_per_customer", number{&config::rate_limit_per_customer, 0, 1'000'000}, service,
     "Reservations a second for one customer; 0 means no limit."},
    {"rate_burst_per_customer", number{&config::rate_burst_per_customer, 0, 1'000'000}, service,
     "Reservations a rested customer may make at once; 0 means as many as "
     "`rate_limit_per_customer`."},

    {"log_level", choice<log::level>{&config::log_level, log::level_names}, service,
     "The least serious lines written to the log; `debug` has a line for every request."},
    {"log_format", choice<log::format>{&config::log_format, log::format_names}, service,
     "How a line of the log is written: `json` for machines, `text` for people."},
};

} // namespace

std::span<setting const> table() noexcept
{
    return all;
}

bool is_control_character(char c) noexcept
{
    return (c >= 0 && c < ' ') || c == 0x7F;
}

bool is_secret(setting const& s) noexcept
{
    return std::holds_alternative<secret>(s.kind);
}

std::string variable_of(std::string_view name)
{
    std::string variable(variable_prefix);
    for (auto const c : name)
        variable += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return variable;
}

std::string name_of_variable(std::string_view variable)
{
    std::string name;
    for (auto const c : variable.substr(variable_prefix.size()))
        name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return variable_of(name) == variable ? name : std::string(variable);
}

std::string flag_of(std::string_view name)
{
    auto flag = fmt::format("--{}", name);
    std::ranges::replace(flag, '_', '-');
    return flag;
}

std::string file_name_of(std::string_view name)
{
    return fmt::format("{}{}", name, file_suffix);
}

std::vector<std::string> known_names()
{
    std::vector<std::string> names;
    for (auto const& s : all) {
        names.emplace_back(s.name);
        if (is_secret(s))
            names.push_back(file_name_of(s.name));
    }
    return names;
}

} // namespace holdfast::settings

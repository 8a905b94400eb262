// SPDX-License-Identifier: Apache-2.0
// Every setting there is: flag, else environment, else the file of --config, else the default here.
// Their bounds, their sentences and docs/reference/settings.md come from the table of settings.
#pragma once

#include "service/log.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

enum class flag { off, on };

inline constexpr std::array<std::string_view, 2> flag_names{"false", "true"};

// A member is a setting: its name is the key in the file, HOLDFAST_ and the name in capitals the
// variable, and -- and the name with hyphens the flag.
struct config {
    std::string listen = "127.0.0.1:8080";
    std::string data = "./data";
    std::string database_url; // a secret; empty = the private cluster in `data`
    std::string admin_key;    // a secret; empty = none
    std::string strategy = "batched";
    int hold_ttl_seconds = 900;
    int open_holds_per_customer = 0;

    int sweep_interval_ms = 200; // 0 = no sweeper
    int sweep_batch_max = 200;
    int publish_interval_ms = 100;
    flag events_held = flag::on;
    int events_keep_days = 30;
    int idempotency_keep_days = 90;
    int event_streams_max = 100;

    std::string webhook_allow;
    std::string webhook_retry_seconds = "0,5,300,1800,7200,18000,36000,50400,72000,86400";
    int webhook_timeout_seconds = 15;
    int webhook_keep_days = 14;
    std::string webhook_ca_file; // empty = what the system trusts

    std::string redis_url; // a secret; empty = no Redis
    std::string redis_stream = "holdfast:events";
    int redis_stream_max = 1'000'000;
    std::string redis_prefix = "holdfast";
    int redis_connections = 1;
    int redis_timeout_ms = 200;
    int redis_repair_max = 1000;

    int io_threads = 1;
    int database_sessions = 8;
    int lanes = 2;
    int lane_batch_max = 256;
    int queue_length_max = 4096;
    int queue_wait_ms = 2000;
    int statement_timeout_ms = 5000;
    int lock_timeout_ms = 2000;

    int connections_max = 10'000;
    int request_read_seconds = 15;
    int idle_connection_seconds = 75;
    int drain_seconds = 10;

    int rate_limit_per_key = 0;
    int rate_burst_per_key = 0;
    int rate_limit_per_customer = 0;
    int rate_burst_per_customer = 0;

    log::level log_level = log::level::info;
    log::format log_format = log::format::json;
};

// All that is wrong with the settings given, a sentence a line. Never holds a secret's value.
class config_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

using text_by_name = std::map<std::string, std::string, std::less<>>;

struct setting_sources {
    text_by_name flags = {};       // by the name of setting_flag, only those given
    text_by_name environment = {}; // by variable; an empty one counts as not set
    std::string config_file = {};  // of the flag --config; empty = HOLDFAST_CONFIG, else no file
    std::vector<std::string> strategies = {}; // the names `strategy` may have
};

struct loaded_config {
    config settings;
    std::vector<std::string>
        warnings; // to be logged: variables that look like settings but are none
};

// Throws config_error.
[[nodiscard]] loaded_config load(setting_sources const&);

// The HOLDFAST_ variables of this process.
[[nodiscard]] text_by_name holdfast_environment();

// The flags a command takes: those that find the database, or all.
enum class setting_scope { database, service };

struct setting_flag {
    std::string name; // the key of its value in setting_sources::flags
    std::string flag; // "--hold-ttl-seconds"
    std::string sentence;
    std::string value;                // what it takes: "N", "TEXT", "FILE", "DIR"
    std::vector<std::string> choices; // the values there are, where they are few
};

// `strategies` as in setting_sources.
[[nodiscard]] std::vector<setting_flag> flags_of(setting_scope,
                                                 std::vector<std::string> const& strategies = {});

struct setting_text {
    std::string_view name;
    std::string text;
};

// Each setting as text, for a log or a report. A secret is only said to be set or not.
[[nodiscard]] std::vector<setting_text> describe(config const&);

// The text of docs/reference/settings.md.
[[nodiscard]] std::string settings_reference();

// Seconds parted by commas: 1 to 50 of them, each from 0 to 604800. Nothing when they are not.
[[nodiscard]] std::optional<std::vector<std::chrono::seconds>> parse_schedule(std::string_view);

// Where to listen: "127.0.0.1:8080", "[::1]:8080", "localhost:0". Port 0 takes a free one.
struct endpoint {
    std::string host; // without brackets
    std::uint16_t port = 0;
};

[[nodiscard]] std::optional<endpoint> parse_endpoint(std::string_view) noexcept;

} // namespace holdfast

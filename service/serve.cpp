// SPDX-License-Identifier: Apache-2.0
#include "service/serve.hpp"

#include "assets.hpp"
#include "db/items.hpp"
#include "db/transact.hpp"
#include "service/database.hpp"
#include "service/http/server.hpp"
#include "service/log.hpp"
#include "service/secrets.hpp"
#include "service/staff_accounts.hpp"
#include "service/staff_door.hpp"
#include "service/staff_link.hpp"
#include "service/version.hpp"
#include "service/workers/background.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <system_error>

namespace holdfast {

namespace {

// A database server that starts together with us, as in a compose file, gets this long.
constexpr auto database_start_max = std::chrono::seconds(60);

constexpr auto supervision_interval = std::chrono::milliseconds(1000);
constexpr auto restart_interval = std::chrono::milliseconds(100); // while there is no server

// SIGTERM and SIGINT as something to wait for. Made before any thread, so that all inherit the
// mask.
class stop_signals {
public:
    stop_signals()
    {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGTERM);
        sigaddset(&signals, SIGINT);
        sigaddset(&signals, SIGHUP);
        sigprocmask(SIG_BLOCK, &signals, nullptr);
        descriptor_ = signalfd(-1, &signals, SFD_CLOEXEC);
        if (descriptor_ < 0)
            throw std::system_error(errno, std::generic_category(), "signalfd");
    }
    ~stop_signals() { ::close(descriptor_); }
    stop_signals(stop_signals const&) = delete;
    stop_signals& operator=(stop_signals const&) = delete;

    // True when one came within the time.
    bool wait(std::chrono::milliseconds longest) const
    {
        pollfd waiting{descriptor_, POLLIN, 0};
        if (::poll(&waiting, 1, static_cast<int>(longest.count())) <= 0)
            return false;
        signalfd_siginfo seen{};
        return ::read(descriptor_, &seen, sizeof seen) == static_cast<ssize_t>(sizeof seen);
    }

private:
    int descriptor_ = -1;
};

// A second signal means "now": whoever sends it will not wait for the drain.
void end_at_once_on_next_signal()
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    std::signal(SIGTERM, SIG_DFL);
    std::signal(SIGINT, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

void write_private_file(std::filesystem::path const& path, std::string const& text)
{
    auto const fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        throw std::system_error(errno, std::generic_category(), path.string());
    auto const written = ::write(fd, text.data(), text.size());
    bool const is_whole = written == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
    ::close(fd);
    if (!is_whole)
        throw std::runtime_error(path.string() + " could not be written");
}

// The first administrator's key: the one of the settings, or for a private cluster one in a file
// that only its owner can read.
void ensure_admin_key(config const& settings, db::link& link)
{
    if (!settings.admin_key.empty() &&
        !api_keys::ensure(link, settings.admin_key, role::admin, "admin"))
        log::warning("admin_key.revoked", {{"setting", "admin_key"}});
    if (!settings.database_url.empty())
        return;
    auto const path = admin_key_file(settings);
    if (!std::filesystem::exists(path))
        write_private_file(path, make_api_key() + "\n");
    std::ifstream in(path);
    std::string key;
    std::getline(in, key);
    if (key.size() < 16)
        throw std::runtime_error(path.string() +
                                 " does not hold a key: remove it to get a new one");
    if (!api_keys::ensure(link, key, role::admin, "admin"))
        log::warning("admin_key.revoked", {{"file", path.string()}});
}

void import_sample(db::link& link, imports const& importing)
{
    bool const is_empty = db::read(link, db::scope::single, [](db::transaction& tx) {
                              return std::optional(db::items::is_empty(tx));
                          }).value();
    if (!is_empty)
        return;
    auto const done = importing.run(link, {.key = {.key = "sample-catalogue"},
                                           .actor = "holdfast",
                                           .mode = import_mode::set,
                                           .csv = assets::sample_catalogue});
    log::info("sample.imported", {{"rows", done.value().value.rows}});
}

// Says where the service is, and how the first person gets in while there is no staff.
void announce(endpoint const& where, std::uint16_t port, std::optional<std::string> const& first)
{
    auto const host =
        where.host.find(':') == std::string::npos ? where.host : "[" + where.host + "]";
    auto const url = "http://" + host + ':' + std::to_string(port);
    std::cout << "holdfast listening on " << url << std::endl;
    if (first)
        std::cout << "there is no staff yet; who opens this within 24 hours becomes the owner: "
                  << staff_link(url, *first) << std::endl;
}

// What has to be in the database before anybody can work with it. Returns the token of a link for
// the first owner, while there is no staff.
std::optional<std::string> furnish(database& base, serve_options const& options,
                                   imports const& importing)
{
    db::link link(base.session());
    ensure_admin_key(options.settings, link);
    if (options.with_sample_catalogue)
        import_sample(link, importing);
    return staff_accounts::invite_first(link);
}

// Watches the private cluster, if there is one, until a stop signal comes.
void wait_for_stop(stop_signals const& signals, std::optional<db::embedded_cluster>& cluster)
{
    auto pause = supervision_interval;
    while (!signals.wait(pause)) {
        if (!cluster)
            continue;
        pause = supervision_interval;
        try {
            cluster->supervise();
            if (!cluster->is_running())
                pause = restart_interval;
        } catch (db::cluster_error const& e) {
            log::error("cluster.cannot_start", {{"reason", e.what()}});
        }
    }
}

void watch_retries(metrics& m)
{
    db::on_retry([&m](std::string_view reason) {
        if (reason == "in_doubt")
            m.commit_in_doubt();
        else
            m.transaction_retried(reason);
    });
}

worker_pool_options pool_options_of(config const& settings, db::session_options const& session)
{
    return {.session = session,
            .threads = static_cast<std::size_t>(settings.database_sessions),
            .queue_length_max = static_cast<std::size_t>(settings.queue_length_max),
            .queue_wait_max = std::chrono::milliseconds(settings.queue_wait_ms)};
}

lane_options lane_options_of(config const& settings, db::session_options const& session)
{
    return {.session = session,
            .lanes = static_cast<std::size_t>(settings.lanes),
            .batch_max = static_cast<std::size_t>(settings.lane_batch_max),
            .queue_length_max = static_cast<std::size_t>(settings.queue_length_max),
            .queue_wait_max = std::chrono::milliseconds(settings.queue_wait_ms)};
}

fast_path::gate_options gate_options_of(config const& settings)
{
    std::chrono::milliseconds const longest(settings.redis_timeout_ms);
    return {.where = redis::parse_target(settings.redis_url).value(),
            .limits = {.connect = longest, .answer = longest},
            .prefix = settings.redis_prefix,
            .connections = static_cast<std::size_t>(settings.redis_connections),
            .queue_length_max = static_cast<std::size_t>(settings.queue_length_max),
            .queue_wait_max = std::chrono::milliseconds(settings.queue_wait_ms)};
}

} // namespace

int serve(serve_options const& options)
{
    auto const& settings = options.settings;
    stop_signals const signals;
    log::info("service.starting", {{"version", version}});

    metrics counted{version};
    watch_retries(counted);
    database base(settings, database::purpose::serving, [](std::string_view note) {
        log::info("cluster", {{"note", note}});
    });
    base.wait_until_reachable(database_start_max);
    for (auto const& name : base.migrate())
        log::info("schema.applied", {{"migration", name}});

    strategy_registry const strategies(
        [&](std::string_view name, std::size_t n) { counted.strategy_conflicts(name, n); });
    reservation_settings const rules{.default_strategy = settings.strategy,
                                     .open_holds_per_customer = settings.open_holds_per_customer};
    reservations const reserving(strategies, rules, counted);
    catalogue const items(settings.strategy, strategies.names());
    adjustments const adjusting(counted);
    imports const importing(counted);
    counts const counting(counted);
    auto const first = furnish(base, options, importing);

    worker_pool workers(pool_options_of(settings, base.session()), counted);
    lanes reserving_lanes(lane_options_of(settings, base.session()), reserving, workers, counted);
    authenticator keys;
    blocked_customers blocked;
    fast_path::roster roster;
    std::optional<fast_path::gate> gate;
    if (!settings.redis_url.empty())
        gate.emplace(gate_options_of(settings), counted);
    fast_path::desk desk(reserving_lanes, workers, roster, gate, rules, blocked, counted);
    fast_path::inspector inspector(workers, roster, gate);
    fast_path::door door(workers, gate, reserving.secret_of_tokens(), counted);
    lookout const watch(base.session(), keys, blocked);
    auditor audits;
    event_feed const events({.is_held_told = settings.events_held == flag::on});
    event_bell bell;
    address_guard const guard(settings.webhook_allow);
    webhooks const hooks(events, guard);
    rate_limiter key_limits({settings.rate_limit_per_key, settings.rate_burst_per_key});
    rate_limiter customer_limits(
        {settings.rate_limit_per_customer, settings.rate_burst_per_customer});
    staff_door people(base.session(), workers);
    http::app app{settings, counted,   workers,   desk,       roster,          inspector,
                  door,     keys,      blocked,   key_limits, customer_limits, reserving,
                  items,    adjusting, importing, counting,   audits,          watch,
                  events,   bell,      hooks,     people};
    workers::background const working(settings, base.session(), events, bell, guard, roster,
                                      reserving, counted);
    auto const where = parse_endpoint(settings.listen).value();
    http::server server(app, where.host, where.port);
    server.run();
    announce(where, server.port(), first);
    log::info("service.ready", {{"port", server.port()}, {"strategy", settings.strategy}});

    wait_for_stop(signals, base.cluster());
    log::info("service.draining");
    end_at_once_on_next_signal();
    bool const is_clean = server.drain(std::chrono::seconds(settings.drain_seconds));
    reserving_lanes.stop();
    if (gate)
        gate->stop();
    people.passwords.stop();
    workers.stop();
    log::info("service.stopped", {{"cut_connections", !is_clean}});
    return 0;
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// keeper::doctor: looks at what the service stands on and says how to mend what is wrong.
#include "sql/doctor.hpp"

#include "assets.hpp"
#include "db/migrate.hpp"
#include "db/transact.hpp"
#include "service/database.hpp"
#include "service/keeper.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <ostream>

namespace holdfast::keeper {

namespace {

constexpr std::uintmax_t disk_free_min = 1ULL << 30;
constexpr rlim_t open_files_wanted = 4096;
constexpr std::int64_t clock_difference_max_ms = 2000;

// Collects findings and writes them as it goes.
class report {
public:
    explicit report(std::ostream& out) : out_(out) {}

    void good(std::string_view what) { out_ << "ok    " << what << '\n'; }

    void warn(std::string_view what, std::string_view cure)
    {
        out_ << "warn  " << what << "\n      " << cure << '\n';
    }

    void bad(std::string_view what, std::string_view cure)
    {
        out_ << "FAIL  " << what << "\n      " << cure << '\n';
        ++faults_;
    }

    [[nodiscard]] int status() const noexcept { return faults_ == 0 ? 0 : 1; }

private:
    std::ostream& out_;
    int faults_ = 0;
};

void check_files(config const& settings, report& r)
{
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    if (files.rlim_cur < open_files_wanted)
        r.warn(fmt::format("only {} files may be open at once", files.rlim_cur),
               "ulimit -n 65536, or LimitNOFILE=65536 in the systemd unit");
    else
        r.good(fmt::format("{} files may be open at once", files.rlim_cur));

    if (!settings.database_url.empty())
        return;
    std::filesystem::path place = settings.data;
    while (!place.empty() && !std::filesystem::exists(place))
        place = place.parent_path();
    if (place.empty())
        place = ".";
    auto const space = std::filesystem::space(place);
    if (space.available < disk_free_min)
        r.bad(fmt::format("{} MiB are free at {}", space.available >> 20, settings.data),
              "free some disk, or set --data to a larger one");
    else
        r.good(fmt::format("{} GiB are free at {}", space.available >> 30, settings.data));
    if (::access(place.c_str(), W_OK) != 0)
        r.bad(fmt::format("{} cannot be written", place.string()),
              fmt::format("chown {} {}", ::geteuid(), place.string()));
}

struct server_state {
    std::string fsync;
    std::string full_page_writes;
    std::string synchronous_commit;
    std::int64_t max_connections = 0;
    std::int64_t clock_ms = 0;
    bool is_standby = false;
    std::string version;
};

void check_durability(server_state const& s, report& r)
{
    if (s.fsync == "on" && s.full_page_writes == "on")
        r.good("fsync and full_page_writes are on");
    else
        r.bad(
            fmt::format("fsync is {}, full_page_writes is {}: a crash loses what was acknowledged",
                        s.fsync, s.full_page_writes),
            "ALTER SYSTEM SET fsync = on; ALTER SYSTEM SET full_page_writes = on;"
            " SELECT pg_reload_conf()");
    if (s.synchronous_commit == "off")
        r.warn("synchronous_commit is off; the service's own sessions switch it on",
               "ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()");
    else
        r.good("synchronous_commit is " + s.synchronous_commit);
}

constexpr int background_sessions = 4; // sweeper, publisher, janitor, courier
constexpr int redis_sessions = 3;      // stream_writer, reconciler, committer

// Of the workers, of the lanes, of those in the background, and the one that looks out.
int sessions_in_all(config const& settings)
{
    return settings.database_sessions + settings.lanes + background_sessions + 1 +
           (settings.redis_url.empty() ? 0 : redis_sessions);
}

void check_server(config const& settings, server_state const& s, report& r)
{
    auto const wanted = sessions_in_all(settings);
    if (s.max_connections < wanted + 5)
        r.bad(fmt::format("the server takes {} connections, the service wants {}",
                          s.max_connections, wanted),
              "lower --database-sessions or --lanes, or raise max_connections and restart it");
    else
        r.good(
            fmt::format("{} of the server's {} connections are used", wanted, s.max_connections));
    if (s.is_standby)
        r.bad("the server is a standby and takes no writes",
              "point HOLDFAST_DATABASE_URL at the primary");
    auto const now = std::chrono::duration_cast<std::chrono::milliseconds>(
                         std::chrono::system_clock::now().time_since_epoch())
                         .count();
    if (std::abs(now - s.clock_ms) > clock_difference_max_ms)
        r.warn(fmt::format("this machine's clock and the server's differ by {} ms",
                           std::abs(now - s.clock_ms)),
               "run a time service on both; the server's clock is the one that decides");
    else
        r.good("the clocks agree");
}

void check_database(config const& settings, report& r)
{
    try {
        database const base(settings, database::purpose::visiting, {});
        db::link link(base.session());
        auto const state = db::read(link, db::scope::single, [](db::transaction& tx) {
            return tx.one<server_state>(sql::doctor::server_state);
        });
        r.good("PostgreSQL " + state.version + " answers");
        check_durability(state, r);
        check_server(settings, state, r);
        auto const fault = db::schema_fault(link.session(), assets::schema);
        if (fault.empty())
            r.good("the schema is up to date");
        else
            r.bad("the schema is not this program's", fault);
    } catch (db::cluster_error const& e) {
        r.bad("the private cluster does not start", e.what());
    } catch (db::error const& e) {
        r.bad(fmt::format("the database does not answer ({})", e.what()),
              "check HOLDFAST_DATABASE_URL with psql, and that the server runs");
    }
}

} // namespace

int doctor(config const& settings, std::ostream& out)
{
    report r(out);
    check_files(settings, r);
    check_database(settings, r);
    return r.status();
}

} // namespace holdfast::keeper

// SPDX-License-Identifier: Apache-2.0
#include "service/database.hpp"

#include "assets.hpp"
#include "db/migrate.hpp"
#include "service/log.hpp"

#include <thread>
#include <utility>

namespace holdfast {

std::filesystem::path cluster_directory(config const& settings)
{
    return std::filesystem::path(settings.data) / "postgres";
}

std::filesystem::path admin_key_file(config const& settings)
{
    return std::filesystem::path(settings.data) / "admin.key";
}

database::database(config const& settings, purpose why, std::function<void(std::string_view)> note)
    : session_{.connection = settings.database_url,
               .statement_timeout = std::chrono::milliseconds(settings.statement_timeout_ms),
               .lock_timeout = std::chrono::milliseconds(settings.lock_timeout_ms)}
{
    if (!settings.database_url.empty())
        return;
    auto const directory = cluster_directory(settings);
    if (why == purpose::visiting) {
        if (auto running = db::embedded_cluster::find_running(directory)) {
            session_.connection = std::move(*running);
            return;
        }
        if (!db::embedded_cluster::exists(directory))
            throw db::cluster_error("There is no database in " + settings.data +
                                    ": `holdfast serve` makes one. Is --data the folder it uses?");
    }
    cluster_ = db::embedded_cluster::start(
        {.directory = directory, .binaries = {}, .settings = {}, .note = std::move(note)});
    session_.connection = cluster_->connection_string();
}

std::vector<std::string> database::migrate() const
{
    db::session session(session_);
    return db::migrate(session, assets::schema);
}

void database::wait_until_reachable(std::chrono::seconds longest) const
{
    constexpr auto pause = std::chrono::milliseconds(200);
    auto const deadline = std::chrono::steady_clock::now() + longest;
    bool is_told = false;
    for (;;) {
        try {
            db::session const session(session_);
            return;
        } catch (db::error const& e) {
            if (std::chrono::steady_clock::now() > deadline)
                throw;
            if (!std::exchange(is_told, true))
                log::warning("database.awaited",
                             {{"reason", e.what()}, {"seconds_at_most", longest.count()}});
        }
        std::this_thread::sleep_for(pause);
    }
}

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Which database a command works on: the shop's own, or the private cluster in the data directory.
#pragma once

#include "db/embedded_cluster.hpp"
#include "db/link.hpp"
#include "service/config.hpp"

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

class database {
public:
    // serving: starts the private cluster, makes it if need be, and keeps it. visiting: uses the
    // one a service keeps, or starts the one it left for as long as this object lives; makes none.
    enum class purpose { serving, visiting };

    // Throws db::cluster_error with a sentence. With a setting for the shop's own, starts nothing.
    database(config const&, purpose, std::function<void(std::string_view)> note);

    [[nodiscard]] db::session_options const& session() const noexcept { return session_; }

    // The private cluster, when this object keeps it.
    [[nodiscard]] std::optional<db::embedded_cluster>& cluster() noexcept { return cluster_; }

    // Brings the schema up to this program's. Returns the names applied. Throws
    // db::migration_error, db::error.
    std::vector<std::string> migrate() const;

    // Waits until the database answers, at most `longest`. Throws db::error.
    void wait_until_reachable(std::chrono::seconds longest) const;

private:
    db::session_options session_;
    std::optional<db::embedded_cluster> cluster_;
};

// Where the private cluster of these settings is.
[[nodiscard]] std::filesystem::path cluster_directory(config const&);

// Where the key of its first administrator is.
[[nodiscard]] std::filesystem::path admin_key_file(config const&);

} // namespace holdfast

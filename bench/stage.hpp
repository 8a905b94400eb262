// SPDX-License-Identifier: Apache-2.0
// Where everything is measured: one private PostgreSQL with the product's own settings, made for
// one run of the bench and removed after it, and in it a database filled once and copied for each
// trial.
#pragma once

#include "db/embedded_cluster.hpp"
#include "db/session.hpp"
#include "tests/support/caretaker.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::bench {

// The catalogue: SKU-00001 … SKU-10000 have more units than any trial can take, and SKU-00000 is
// soon sold out.
inline constexpr std::uint32_t items_max = 10'000;
inline constexpr std::uint32_t scarce_item = 0;
inline constexpr std::int64_t scarce_units = 100;

// "SKU-00001"
[[nodiscard]] std::string sku_of(std::uint32_t item);

// A directory with a random name, removed at the end.
class scratch_directory {
public:
    explicit scratch_directory(std::filesystem::path const& parent);
    scratch_directory(scratch_directory const&) = delete;
    scratch_directory& operator=(scratch_directory const&) = delete;
    ~scratch_directory();

    [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

private:
    std::filesystem::path path_;
};

class stage {
public:
    // Starts the server below `parent` and fills the database that others are copies of.
    explicit stage(std::filesystem::path const& parent);
    stage(stage const&) = delete;
    stage& operator=(stage const&) = delete;
    ~stage();

    // As the service's role. libpq's keywords.
    [[nodiscard]] std::string connection_to(std::string_view database) const;

    // As the superuser, outside of every measured database.
    [[nodiscard]] db::session& administration() noexcept { return *administration_; }

    [[nodiscard]] pid_t postmaster() const { return cluster_->postmaster_pid(); }
    [[nodiscard]] std::filesystem::path const& files() const noexcept { return scratch_.path(); }
    [[nodiscard]] std::filesystem::path data_directory() const;

private:
    [[nodiscard]] db::session_options administration_of(std::string_view database) const;
    void fill();

    scratch_directory scratch_;
    std::optional<db::embedded_cluster> cluster_;
    std::optional<test::caretaker> in_case_of_death_;
    std::optional<db::session> administration_;
    std::filesystem::path refuge_; // where the cluster is when its user cannot reach `scratch_`
};

// A copy of the filled database, dropped at the end.
class trial_database {
public:
    trial_database(stage&, std::string name);
    trial_database(trial_database const&) = delete;
    trial_database& operator=(trial_database const&) = delete;
    ~trial_database();

    [[nodiscard]] std::string connection() const { return stage_.connection_to(name_); }
    [[nodiscard]] std::string const& name() const noexcept { return name_; }

private:
    stage& stage_;
    std::string name_;
};

} // namespace holdfast::bench

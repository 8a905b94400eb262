// SPDX-License-Identifier: Apache-2.0
#include "bench/stage.hpp"

#include "db/cluster_place.hpp"
#include "service/cli/client.hpp"
#include "tests/support/service_process.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace holdfast::bench {

namespace fs = std::filesystem;

namespace {

using namespace std::chrono_literals;

// Copying and dropping a database, and the checkpoints around that, on a slow disk.
constexpr auto administration_limit = 120s;

constexpr std::string_view template_name = "bench_template";
constexpr std::int64_t plenty = 1'000'000'000;

std::string catalogue()
{
    std::string csv = "sku,quantity\n";
    for (std::uint32_t i = 0; i <= items_max; ++i)
        csv += fmt::format("{},{}\n", sku_of(i), i == scarce_item ? scarce_units : plenty);
    return csv;
}

void import_catalogue(test::service_process const& service)
{
    auto const csv = catalogue();
    cli::client http(cli::parse_url(service.url()), service.admin_key());
    auto const answer = http.send({.method = "POST",
                                   .target = "/v1/imports?mode=set",
                                   .body = csv,
                                   .content_type = "text/csv",
                                   .idempotency_key = "bench-catalogue"});
    cli::require_status(answer, 200, "import the bench's catalogue");
}

db::cluster_options options_below(fs::path const& directory)
{
    db::cluster_options options;
    options.directory = directory / "postgres";
    return options;
}

} // namespace

std::string sku_of(std::uint32_t item)
{
    return fmt::format("SKU-{:05}", item);
}

scratch_directory::scratch_directory(fs::path const& parent)
{
    fs::create_directories(parent);
    auto name = (fs::absolute(parent) / "bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), "making a directory in " + name);
    // The server may run as another user and has to get through here.
    fs::permissions(name, fs::perms{0711});
    path_ = name;
}

scratch_directory::~scratch_directory()
{
    std::error_code ignored; // what cannot be removed is in nobody's way
    fs::remove_all(path_, ignored);
}

stage::stage(fs::path const& parent) : scratch_(parent)
{
    cluster_.emplace(db::embedded_cluster::start(options_below(scratch_.path())));
    std::vector<fs::path> leftovers{scratch_.path()};
    if (auto const home = data_directory(); home != scratch_.path() / "postgres") {
        refuge_ = home;
        leftovers.push_back(home);
    }
    in_case_of_death_.emplace(cluster_->postmaster_pid(), leftovers);
    administration_.emplace(administration_of("postgres"));
    fill();
}

stage::~stage()
{
    administration_.reset();
    cluster_->stop();
    std::error_code ignored;
    if (!refuge_.empty())
        fs::remove_all(refuge_, ignored);
}

std::string stage::connection_to(std::string_view database) const
{
    return fmt::format("{} dbname={}", cluster_->connection_string(), database);
}

db::session_options stage::administration_of(std::string_view database) const
{
    return {.connection = connection_to(database) + " user=postgres",
            .statement_timeout = administration_limit,
            .lock_timeout = administration_limit};
}

fs::path stage::data_directory() const
{
    return db::home_of(scratch_.path() / "postgres");
}

// The service itself makes the schema and imports the catalogue, so that a trial begins with what a
// shop would have.
void stage::fill()
{
    administration_->execute(fmt::format("CREATE DATABASE {} OWNER holdfast", template_name),
                             "bench.create");
    {
        test::service_process const service({.database_url = connection_to(template_name)});
        import_catalogue(service);
    }
    db::session filled(administration_of(template_name));
    filled.execute("VACUUM (ANALYZE)", "bench.vacuum");
}

trial_database::trial_database(stage& on, std::string name) : stage_(on), name_(std::move(name))
{
    stage_.administration().execute(
        fmt::format("CREATE DATABASE {} OWNER holdfast TEMPLATE {}", name_, template_name),
        "bench.copy");
    // Every trial has the same way to go until the next one.
    stage_.administration().execute("CHECKPOINT", "bench.checkpoint");
}

trial_database::~trial_database()
{
    try {
        stage_.administration().execute(fmt::format("DROP DATABASE {} WITH (FORCE)", name_),
                                        "bench.drop");
    } catch (db::error const& e) {
        std::fprintf(stderr, "bench: %s was not dropped: %s\n", name_.c_str(), e.what());
    }
}

} // namespace holdfast::bench

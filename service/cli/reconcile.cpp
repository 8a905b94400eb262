// SPDX-License-Identifier: Apache-2.0
#include "service/cli/reconcile.hpp"

#include "service/cli/answer.hpp"
#include "service/cli/client.hpp"
#include "service/cli/command_error.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>

namespace holdfast::cli {

using nlohmann::json;

namespace {

constexpr std::size_t text_size_max = 200;

std::string line_of(json const& difference)
{
    auto const& location = difference.at("location");
    return fmt::format(
        "{} {}  {}: {} expected, {} found; {}",
        printable(difference.at("sku").get<std::string>(), text_size_max),
        location.is_null() ? "-" : location.get<std::string>(),
        difference.at("kind").get<std::string>(), difference.at("expected").get<std::int64_t>(),
        difference.at("found").get<std::int64_t>(), difference.at("cause").get<std::string>());
}

int show(std::string const& body, reconcile_options const& options, std::ostream& out)
{
    auto const report = json::parse(body);
    auto const& differences = report.at("differences");
    auto const repaired = report.at("repaired").get<std::size_t>();
    if (options.json) {
        out << report.dump() << '\n';
    } else {
        for (auto const& each : differences)
            out << line_of(each) << '\n';
        out << fmt::format("{} differences, {} repaired\n", differences.size(), repaired);
    }
    return differences.size() == repaired ? exit_ok : exit_broken;
}

} // namespace

int reconcile(reconcile_options const& options, std::ostream& out, std::ostream& errors)
{
    try {
        client service{parse_url(options.url), options.key};
        auto const body = json{{"repair", options.repair}}.dump();
        auto const given = service.send_patiently({.method = "POST",
                                                   .target = "/v1/reconciliations",
                                                   .body = body,
                                                   .content_type = "application/json"});
        require_status(given, 200, "compare Redis with PostgreSQL");
        return show(given.body, options, out);
    } catch (json::exception const&) {
        errors << "holdfast: the answer is not one of Holdfast's\n";
    } catch (command_error const& e) {
        errors << "holdfast: " << e.what() << '\n';
    }
    return exit_unusable;
}

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0

#include "service/cli/events.hpp"

#include "service/cli/client.hpp"
#include "service/cli/command_error.hpp"
#include "stock/percent.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ostream>
#include <thread>

namespace holdfast::cli {

using nlohmann::json;

namespace {

constexpr std::chrono::milliseconds look_interval{500};
constexpr std::size_t text_size_max = 200;

// A member as text for a terminal; "-" for null.
std::string shown(json const& event, char const* member)
{
    auto const found = event.find(member);
    if (found == event.end() || found->is_null())
        return "-";
    return printable(found->is_string() ? found->get<std::string>() : found->dump(), text_size_max);
}

std::string line_of(json const& event)
{
    return fmt::format(
        "{}  {:<23} {} {} v{}  {:>6} units  on hand {}, reserved {}, available {}  {}",
        shown(event, "occurred_at"), shown(event, "type"), shown(event, "sku"),
        shown(event, "location"), shown(event, "version"), shown(event, "quantity"),
        shown(event, "on_hand"), shown(event, "reserved"), shown(event, "available"),
        shown(event, "reference"));
}

std::string target_of(tail_options const& options, std::string const& after)
{
    auto target = "/v1/events?limit=200&after=" + percent_encoded(after);
    if (!options.sku.empty())
        target += "&sku=" + percent_encoded(options.sku);
    if (!options.types.empty())
        target += "&type=" + percent_encoded(options.types);
    return target;
}

} // namespace

int tail_events(tail_options const& options, std::ostream& out, std::ostream& errors)
{
    try {
        client service{parse_url(options.url), options.key};
        auto after = options.after;
        std::int64_t shown_so_far = 0;
        while (out) {
            auto const given = service.send_patiently({.target = target_of(options, after)});
            if (given.status == 401 || given.status == 403)
                require_status(given, 200, "read events");
            if (given.status != 200) {
                errors << "holdfast: " << explain(given) << '\n';
                return exit_broken;
            }
            auto const page = json::parse(given.body);
            for (auto const& event : page.at("data")) {
                out << (options.json ? event.dump() : line_of(event)) << '\n';
                if (++shown_so_far == options.count)
                    return exit_ok;
            }
            out.flush();
            auto const next = page.at("next_after").get<std::string>();
            if (page.at("data").empty() && next == after)
                std::this_thread::sleep_for(look_interval);
            after = next;
        }
        return exit_ok; // nobody reads on
    } catch (json::exception const&) {
        errors << "holdfast: the answer is not one of Holdfast's\n";
    } catch (command_error const& e) {
        errors << "holdfast: " << e.what() << '\n';
    }
    return exit_unusable;
}

} // namespace holdfast::cli

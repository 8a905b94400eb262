// SPDX-License-Identifier: Apache-2.0

#include "service/cli/health.hpp"

#include "service/cli/client.hpp"
#include "service/cli/command_error.hpp"

#include <ostream>

namespace holdfast::cli {

int health(std::string const& url, std::ostream& out)
{
    try {
        client service{parse_url(url), {}};
        auto const given = service.send({.target = "/readyz", .deadline = std::chrono::seconds{5}});
        if (given.status == 200) {
            out << "ready\n";
            return exit_ok;
        }
        out << "not ready: " << explain(given) << '\n';
    } catch (command_error const& e) {
        out << "not ready: " << e.what() << '\n';
    }
    return exit_broken;
}

} // namespace holdfast::cli

// SPDX-License-Identifier: Apache-2.0
#include "tests/support/hooks.hpp"

#include <stdexcept>

namespace holdfast::test {

std::vector<std::string> hook_arguments(std::vector<std::string> more)
{
    std::vector<std::string> all{"--webhook-allow", "127.0.0.0/8"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

json make_hook(shop& front, json const& settings)
{
    auto const made = front.post("/v1/webhooks", settings);
    if (made.status != 201)
        throw std::runtime_error("no webhook was made: " + made.body);
    return made.json();
}

std::string path_of(json const& hook)
{
    return "/v1/webhooks/" + hook.at("id").get<std::string>();
}

std::vector<json> deliveries_of(shop& front, json const& hook, std::string const& state)
{
    std::vector<json> all;
    auto const path = path_of(hook) + "/deliveries?limit=200" + (state.empty() ? "" : "&state=");
    for (std::string cursor;;) {
        auto const page =
            front.get(path + state + (cursor.empty() ? "" : "&cursor=" + cursor)).json();
        for (auto const& each : page.at("data"))
            all.push_back(each);
        if (page.at("next_cursor").is_null())
            return all;
        cursor = page.at("next_cursor");
    }
}

} // namespace holdfast::test

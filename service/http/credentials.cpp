// SPDX-License-Identifier: Apache-2.0
#include "service/http/credentials.hpp"

#include "service/http/browser.hpp"
#include "service/http/text.hpp"

#include <algorithm>
#include <string_view>

namespace holdfast::http {

namespace {

std::optional<std::string_view> bearer_key(request const& r)
{
    constexpr std::string_view scheme = "bearer ";
    auto const field = r.header("authorization");
    if (!field || field->size() <= scheme.size() || field->size() > 512 ||
        !equal_ignoring_case(field->substr(0, scheme.size()), scheme))
        return std::nullopt;
    auto key = field->substr(scheme.size());
    key.remove_prefix(std::min(key.find_first_not_of(' '), key.size()));
    return key;
}

} // namespace

std::optional<credentials> credentials_of(request const& r)
{
    if (auto const key = bearer_key(r))
        return credentials{credentials::kind::api_key, std::string(*key)};
    if (r.header("authorization"))
        return std::nullopt;
    if (auto const token = session_token(r))
        return credentials{credentials::kind::session, std::string(*token)};
    return std::nullopt;
}

boost::asio::awaitable<std::optional<caller>> holder_of(credentials const& shown, app& service,
                                                        session_use by)
{
    if (shown.is == credentials::kind::session) {
        auto const& sessions = service.people.sessions;
        if (!sessions.is_ours(shown.text))
            co_return std::nullopt;
        auto const find = [&](db::link& link) { return sessions.find(link, shown.text, by); };
        co_return co_await service.workers.run(find);
    }
    if (auto const known = service.keys.remembered(shown.text))
        co_return *known;
    auto const look_up = [&](db::link& link) { return service.keys.look_up(link, shown.text); };
    co_return co_await service.workers.run(look_up);
}

} // namespace holdfast::http

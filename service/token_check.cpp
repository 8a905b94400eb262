// SPDX-License-Identifier: Apache-2.0
#include "service/token_check.hpp"

#include <string>
#include <utility>

namespace holdfast {

namespace {

refusal invalid(std::string pointer, std::string detail)
{
    return {.code = errc::validation_failed,
            .detail = "The reservation and its token do not go together.",
            .errors = {{std::move(pointer), std::move(detail)}}};
}

} // namespace

result<std::optional<token_bearer>> bearer_wanted(reserve_command const& cmd,
                                                  db::reservations::view const& seen)
{
    std::optional<sku> asking;
    for (auto const& p : seen.prospects) {
        if (!p.needs_token || asking == p.at.sku)
            continue;
        if (asking)
            return invalid("/lines", "may have one item that asks for a token: " + asking->str() +
                                         " and " + p.at.sku.str() + " both do");
        asking = p.at.sku;
    }
    if (!asking && cmd.token)
        return invalid("/token", "none of the items asks for one");
    if (!asking)
        return std::optional<token_bearer>();
    if (!cmd.customer)
        return invalid("/customer", "is required for " + asking->str());
    return std::optional(token_bearer{*std::move(asking), *cmd.customer});
}

result<token> token_shown(reserve_command const& cmd, token_bearer const& bearer,
                          std::optional<shared_secret> const& secret, timestamp now)
{
    auto const& name = bearer.sku.str();
    if (!cmd.token)
        return refusal{.code = errc::token_required,
                       .detail = name + " is only sold with a token: ask POST /v1/tokens for one."};
    auto const shown = secret ? parse_token(*cmd.token, bearer, *secret) : std::nullopt;
    if (!shown)
        return refusal{.code = errc::token_invalid,
                       .detail = "This token is not one of this customer for " + name + "."};
    if (shown->expires_at <= now)
        return refusal{.code = errc::token_expired,
                       .detail = "The token for " + name + " was good till " +
                                 to_rfc3339(shown->expires_at) + "."};
    return *shown;
}

refusal token_is_used(token_bearer const& bearer)
{
    return {.code = errc::token_used,
            .detail =
                "Something was reserved with this token for " + bearer.sku.str() + " already."};
}

} // namespace holdfast

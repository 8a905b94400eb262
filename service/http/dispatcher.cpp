// SPDX-License-Identifier: Apache-2.0
#include "service/http/dispatcher.hpp"

#include "db/error.hpp"
#include "service/http/browser.hpp"
#include "service/http/credentials.hpp"
#include "service/http/problem.hpp"
#include "service/http/text.hpp"
#include "service/log.hpp"
#include "service/overload.hpp"
#include "service/secrets.hpp"
#include "stock/percent.hpp"

#include <algorithm>
#include <array>

namespace holdfast::http {

namespace {

using asio_reply = boost::asio::awaitable<std::optional<reply>>;

// Splits "/v1/stock/a%2Fb" at its slashes, before anything is decoded.
std::vector<std::string_view> parts_of(std::string_view path)
{
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        path.remove_prefix(1);
        auto const end = std::min(path.find('/'), path.size());
        parts.push_back(path.substr(0, end));
        path.remove_prefix(end);
    }
    return parts;
}

// The captured parts when the path fits the pattern.
std::optional<std::vector<std::string_view>> match(std::string_view pattern,
                                                   std::vector<std::string_view> const& path)
{
    auto const wanted = parts_of(pattern);
    if (wanted.size() != path.size())
        return std::nullopt;
    std::vector<std::string_view> captured;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (wanted[i].starts_with('{') && !path[i].empty())
            captured.push_back(path[i]);
        else if (wanted[i] != path[i])
            return std::nullopt;
    }
    return captured;
}

// HEAD is GET without the body of the answer (RFC 9110, section 9.3.2); the session leaves that
// out.
bool takes(route const& r, std::string_view method)
{
    return r.method == method || (r.method == "GET" && method == "HEAD");
}

void add_methods(std::string& allowed, route const& r)
{
    allowed += (allowed.empty() ? "" : ", ") + std::string(r.method);
    if (r.method == "GET")
        allowed += ", HEAD";
}

// What changes nothing (RFC 9110, section 9.2.1).
bool is_safe(std::string_view method)
{
    return method == "GET" || method == "HEAD";
}

reply invalid_target(exchange const& x, std::string pointer, std::string detail)
{
    return problem(refusal{.code = errc::validation_failed,
                           .detail = "The request's target is not valid.",
                           .errors = {{std::move(pointer), std::move(detail)}}},
                   x.request);
}

reply unauthenticated(std::string detail, exchange const& x)
{
    return problem(refusal{.code = errc::unauthenticated, .detail = std::move(detail)}, x.request);
}

std::string_view media_type_of(std::string_view content_type)
{
    auto const end = std::min(content_type.find(';'), content_type.size());
    content_type = content_type.substr(0, end);
    while (content_type.ends_with(' '))
        content_type.remove_suffix(1);
    return content_type;
}

std::string_view path_of(std::string_view target)
{
    return target.substr(0, std::min(target.find('?'), target.size()));
}

// A reply may have the field already, as with two rate limits: then the values form one list.
void add_header(reply& r, std::pair<std::string, std::string> const& field)
{
    auto const present =
        std::ranges::find(r.headers, field.first, &std::pair<std::string, std::string>::first);
    if (present == r.headers.end())
        r.headers.push_back(field);
    else
        present->second = field.second + ", " + present->second;
}

} // namespace

dispatcher::dispatcher(app& a) : app_(a)
{
    for (auto const& r : routes())
        counters_.push_back(&app_.metrics.route_of(r.pattern));
    counters_.push_back(&app_.metrics.route_of("none"));
}

asio_reply dispatcher::admit(exchange& x)
{
    x.counted_as = counters_.back();
    if (auto refused = find_route(x))
        co_return refused;
    if (!x.matched->needs)
        co_return check_stranger(x);
    if (auto refused = co_await authenticate(x))
        co_return refused;
    if (auto refused = limit_rate(x))
        co_return refused;
    co_return check_media_type(x);
}

// What is open to everybody: nobody has to be a page of ours, but a page of somebody else's may not
// sign its visitors in here.
std::optional<reply> dispatcher::check_stranger(exchange const& x) const
{
    if (!is_safe(x.request.method) && sender_of(x.request) == sender::another)
        return problem(refusal{.code = errc::forbidden,
                               .detail = "This may not be asked by a page of another address."},
                       x.request);
    return check_media_type(x);
}

std::optional<reply> dispatcher::find_route(exchange& x)
{
    if (!x.request.target.starts_with('/')) {
        auto path_and_query = origin_form(x.request.target);
        if (!path_and_query)
            return invalid_target(x, "/path", "is neither a path nor an address");
        x.request.target = std::move(*path_and_query);
    }
    auto const target = std::string_view(x.request.target);
    auto const path = parts_of(path_of(target));
    std::string allowed;
    for (std::size_t i = 0; i < routes().size(); ++i) {
        auto const& r = routes()[i];
        auto const captured = match(r.pattern, path);
        if (!captured)
            continue;
        x.counted_as = counters_[i];
        if (!takes(r, x.request.method)) {
            add_methods(allowed, r);
            continue;
        }
        x.matched = &r;
        for (auto const part : *captured) {
            auto decoded = percent_decoded(part);
            if (!decoded)
                return invalid_target(x, "/path", "is not percent-encoded correctly");
            x.request.captured.push_back(std::move(*decoded));
        }
        auto const query = target.substr(std::min(path_of(target).size() + 1, target.size()));
        auto parameters = parse_query(query);
        if (!parameters)
            return invalid_target(x, "/query", "is not percent-encoded correctly");
        x.request.query = std::move(*parameters);
        return std::nullopt;
    }
    if (allowed.empty())
        return problem(refusal{.code = errc::not_found}, x.request);
    x.headers.emplace_back("Allow", allowed);
    return problem(refusal{.code = errc::method_not_allowed, .detail = "Allowed: " + allowed + "."},
                   x.request);
}

asio_reply dispatcher::authenticate(exchange& x)
{
    auto const shown = credentials_of(x.request);
    if (!shown)
        co_return unauthenticated("Send Authorization: Bearer KEY.", x);
    bool const is_session = shown->is == credentials::kind::session;
    std::optional<caller> who;
    try {
        who = co_await holder_of(*shown, app_, session_use::work);
    } catch (std::exception const&) {
        co_return answer_fault(std::current_exception(), x);
    }
    if (!who)
        co_return unauthenticated(is_session ? "You are not signed in, or not any more."
                                             : "This API key is unknown or revoked.",
                                  x);
    x.request.who = std::move(*who);
    if (is_session)
        if (auto refused = check_page(x, shown->text))
            co_return refused;
    co_return check_right(x);
}

// A browser sends the cookie along whoever asks it to. So what changes something has to show what
// only a page of ours can read, and has to come from one.
std::optional<reply> dispatcher::check_page(exchange const& x, std::string_view token) const
{
    if (is_safe(x.request.method))
        return std::nullopt;
    auto const shown = x.request.header("x-csrf-token").value_or("");
    if (is_same_secret(shown, app_.people.sessions.csrf_token(token)) &&
        sender_of(x.request) == sender::ours)
        return std::nullopt;
    return problem(refusal{.code = errc::forbidden,
                           .detail = "With a cookie this needs X-CSRF-Token, as GET /v1/session "
                                     "tells it, and Origin or Sec-Fetch-Site of this address."},
                   x.request);
}

std::optional<reply> dispatcher::check_right(exchange const& x)
{
    if (may(x.request.who.role, *x.matched->needs))
        return std::nullopt;
    std::string roles;
    for (auto const& rule : role_rules)
        if ((rule.may & static_cast<rights>(*x.matched->needs)) != 0)
            roles += (roles.empty() ? "" : ", ") + std::string(rule.name);
    return problem(
        refusal{.code = errc::forbidden, .detail = "This needs one of these roles: " + roles + "."},
        x.request);
}

std::optional<reply> dispatcher::limit_rate(exchange& x)
{
    if (!app_.key_limits.is_on())
        return std::nullopt;
    auto const seen = app_.key_limits.take(std::to_string(x.request.who.api_key_id),
                                           std::chrono::steady_clock::now());
    std::array const met{met_limit{"key", seen}};
    x.headers.emplace_back("RateLimit-Policy", to_ratelimit_policy(met));
    x.headers.emplace_back("RateLimit", to_ratelimit(met));
    if (seen.is_allowed)
        return std::nullopt;
    app_.metrics.rate_limited(metrics::limit_scope::api_key);
    return problem(refusal{.code = errc::rate_limited,
                           .detail = "This key sends more requests than it may.",
                           .retry_after = seen.retry_after},
                   x.request);
}

std::optional<reply> dispatcher::check_media_type(exchange const& x) const
{
    auto const length = x.request.header("content-length");
    bool const has_body = x.request.header("transfer-encoding") || (length && *length != "0");
    auto const type = x.request.header("content-type").value_or("");
    auto const encoding = x.request.header("content-encoding").value_or("identity");
    bool const is_accepted = equal_ignoring_case(media_type_of(type), x.matched->media_type) &&
                             equal_ignoring_case(encoding, "identity");
    if (!has_body || is_accepted || x.matched->method == "GET")
        return std::nullopt;
    return problem(refusal{.code = errc::unsupported_media_type,
                           .detail = "Send the body as " + std::string(x.matched->media_type) +
                                     ", not compressed."},
                   x.request);
}

boost::asio::awaitable<reply> dispatcher::handle(exchange& x)
{
    try {
        co_return co_await x.matched->handle(x.request, app_);
    } catch (std::exception const&) {
        co_return answer_fault(std::current_exception(), x);
    }
}

reply dispatcher::answer_fault(std::exception_ptr const& thrown, exchange const& x)
{
    auto const say = [&](log::level level, std::string_view what, std::exception const& e) {
        log::write(level, what, {{"request_id", x.request.id}, {"fault", e.what()}});
    };
    try {
        std::rethrow_exception(thrown);
    } catch (overloaded const&) {
        return problem(fault_report{.kind = fault_kind::overloaded}, x.request);
    } catch (db::outcome_unknown const& e) {
        say(log::level::error, "commit.outcome_unknown", e);
        return problem(fault_report{.kind = fault_kind::outcome_unknown}, x.request);
    } catch (db::error const& e) {
        say(log::level::warning, "database.fault", e);
        switch (e.kind()) {
        case db::fault::unavailable:
        case db::fault::connection_lost:
            return problem(fault_report{.kind = fault_kind::database_unavailable}, x.request);
        case db::fault::conflict:
        case db::fault::lock_timeout:
        case db::fault::statement_timeout:
            return problem(fault_report{.kind = fault_kind::overloaded}, x.request);
        case db::fault::constraint: app_.metrics.invariant_broken(); break;
        case db::fault::other: break;
        }
    } catch (invariant_broken const& e) {
        app_.metrics.invariant_broken();
        say(log::level::critical, "invariant.broken", e);
    } catch (std::exception const& e) {
        say(log::level::error, "request.failed", e);
    }
    return problem(fault_report{.kind = fault_kind::internal}, x.request);
}

void dispatcher::finish(exchange const& x, reply& r)
{
    for (auto const& field : x.headers)
        add_header(r, field);
    auto const took = std::chrono::steady_clock::now() - x.began;
    if (x.counted_as)
        x.counted_as->answered(r.status, took);
    if (r.refused)
        app_.metrics.refused(*r.refused);
    auto const level = r.status >= 500 ? log::level::warning : log::level::debug;
    if (log::is_on(level))
        log::write(
            level, "request",
            {{"request_id", x.request.id},
             {"method", x.request.method},
             {"path", path_of(x.request.target)},
             {"status", r.status},
             {"duration_us", std::chrono::duration_cast<std::chrono::microseconds>(took).count()},
             {"key", x.request.who.name}});
}

} // namespace holdfast::http

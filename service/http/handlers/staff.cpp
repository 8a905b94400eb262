// SPDX-License-Identifier: Apache-2.0
// People: how they sign in and out, and their accounts.

#include "service/http/browser.hpp"
#include "service/http/handlers.hpp"
#include "service/http/problem.hpp"
#include "service/http/wire.hpp"
#include "service/log.hpp"

#include <chrono>
#include <utility>

namespace holdfast::http {

namespace {

reply too_often(std::chrono::seconds wait, request const& req, app& service)
{
    service.metrics.rate_limited(metrics::limit_scope::sign_in);
    return problem(refusal{.code = errc::rate_limited,
                           .detail = "Too many passwords were tried; wait a little.",
                           .retry_after = wait},
                   req);
}

reply not_recognised(request const& req)
{
    log::warning("sign_in.refused", {{"request_id", req.id}, {"network", req.from.network}});
    return problem(
        refusal{.code = errc::unauthenticated, .detail = "The name or the password is wrong."},
        req);
}

// From here on strangers who try passwords of this name do not get into the way of this browser.
void remember_browser(reply& r, std::string_view name, request const& req, app& service)
{
    auto const& sessions = service.people.sessions;
    auto const known = browser_token(req);
    if (!known || !sessions.is_browser_of(name, *known))
        r.headers.emplace_back("Set-Cookie", browser_cookie(sessions.browser_token(name), req));
}

// What people may do to their own accounts, and an owner to everybody's.
std::optional<refusal> fault_of_caller(uuid const& account, caller const& who)
{
    if (!who.staff_id)
        return refusal{.code = errc::forbidden, .detail = "This is for people, not for keys."};
    if (account != *who.staff_id && !may(who.role, right::staff))
        return refusal{.code = errc::forbidden,
                       .detail = "Only an owner may do this to the account of somebody else."};
    return std::nullopt;
}

// One's own password takes the present one, so that a browser left alone gives nobody the account.
// Somebody else's takes an owner.
std::optional<refusal> fault_of_change(password_change const& to, caller const& who)
{
    if (auto fault = fault_of_caller(to.id, who))
        return fault;
    if (to.id == *who.staff_id && !to.current)
        return invalid_at("/current_password", "is required for one's own password");
    return std::nullopt;
}

} // namespace

// POST /v1/session
pending_reply sign_in(request const& req, app& service)
{
    auto const shown = parse_sign_in(req);
    if (!shown)
        co_return problem(shown.error(), req);
    if (auto const wait =
            service.people.wait_before({shown->name, req.from.network, browser_token(req)}))
        co_return too_often(*wait, req, service);

    auto const open = [&](db::link& db) -> std::optional<std::string> {
        auto const who = staff_accounts::recognise(db, shown->name, shown->password);
        return who ? service.people.sessions.open(db, *who) : std::nullopt;
    };
    auto const token = co_await service.people.passwords.run(open);
    if (!token)
        co_return not_recognised(req);

    reply signed_in{.status = 204};
    signed_in.headers.emplace_back("Set-Cookie", session_cookie(*token, req));
    remember_browser(signed_in, shown->name, req, service);
    co_return signed_in;
}

// GET /v1/session
pending_reply show_session(request const& req, app& service)
{
    auto const asked = parse_nothing(req);
    if (!asked)
        co_return problem(asked.error(), req);
    std::optional<std::string> csrf_token;
    if (req.who.staff_id)
        csrf_token = service.people.sessions.csrf_token(session_token(req).value());
    co_return reply{.body = to_json(req.who, csrf_token)};
}

// DELETE /v1/session
pending_reply sign_out(request const& req, app& service)
{
    auto const asked = parse_nothing(req);
    if (!asked)
        co_return problem(asked.error(), req);
    if (!req.who.staff_id) {
        refusal const none{.code = errc::not_found, .detail = "A key has no session."};
        co_return problem(none, req);
    }

    auto const end = [&](db::link& db) {
        service.people.sessions.end(db, session_token(req).value());
        return true;
    };
    co_await service.workers.run(end);

    reply signed_out{.status = 204};
    signed_out.headers.emplace_back("Set-Cookie", no_session_cookie(req));
    co_return signed_out;
}

// GET /v1/staff
pending_reply list_staff(request const& req, app& service)
{
    auto filter = parse_staff_filter(req);
    if (!filter)
        co_return problem(filter.error(), req);

    auto const limit = filter->limit++;
    auto const list = [&](db::link& db) { return staff_accounts::list(db, *filter); };
    auto const found = co_await service.workers.run(list);

    co_return reply{.body = to_page(found, limit)};
}

// POST /v1/staff
pending_reply create_staff(request const& req, app& service)
{
    auto const wanted = parse_new_staff(req);
    if (!wanted)
        co_return problem(wanted.error(), req);

    auto const create = [&](db::link& db) {
        return staff_accounts::create(db, *wanted, staff_of(req));
    };
    auto const made = co_await service.people.passwords.run(create);
    if (!made)
        co_return problem(made.error(), req);

    co_return reply{.status = 201, .body = to_json(*made)};
}

// POST /v1/staff/first
pending_reply redeem_invitation(request const& req, app& service)
{
    auto const shown = parse_redemption(req);
    if (!shown)
        co_return problem(shown.error(), req);
    if (auto const wait = service.people.wait_before({shown->token, req.from.network}))
        co_return too_often(*wait, req, service);

    auto const redeem = [&](db::link& db) { return staff_accounts::redeem(db, *shown, req.id); };
    auto const done = co_await service.people.passwords.run(redeem);
    if (!done)
        co_return problem(done.error(), req);

    reply answer{.status = done->is_new ? 201 : 200, .body = to_json(done->account)};
    remember_browser(answer, done->account.name, req, service);
    co_return answer;
}

// PATCH /v1/staff/{id}
pending_reply change_staff(request const& req, app& service)
{
    auto const to = parse_staff_change(req);
    if (!to)
        co_return problem(to.error(), req);

    auto const change = [&](db::link& db) {
        return staff_accounts::change(db, *to, staff_of(req));
    };
    auto const changed = co_await service.workers.run(change);
    if (!changed)
        co_return problem(changed.error(), req);

    co_return reply{.body = to_json(*changed)};
}

// DELETE /v1/staff/{id}
pending_reply remove_staff(request const& req, app& service)
{
    auto const id = parse_staff_id(req);
    if (!id)
        co_return problem(id.error(), req);

    auto const remove = [&](db::link& db) {
        return staff_accounts::remove(db, *id, staff_of(req));
    };
    auto const done = co_await service.workers.run(remove);
    if (!done)
        co_return problem(done.error(), req);

    co_return reply{.status = 204};
}

// POST /v1/staff/{id}/password
pending_reply set_staff_password(request const& req, app& service)
{
    auto to = parse_password_change(req);
    if (!to)
        co_return problem(to.error(), req);
    if (auto const fault = fault_of_change(*to, req.who))
        co_return problem(*fault, req);
    if (to->id == *req.who.staff_id)
        to->but = hash_api_key(session_token(req).value());
    else
        to->current.reset();
    if (auto const wait = service.people.wait_before_again(req.who.name))
        co_return too_often(*wait, req, service);

    auto const set = [&](db::link& db) {
        return staff_accounts::set_password(db, *to, staff_of(req));
    };
    auto const done = co_await service.people.passwords.run(set);
    if (!done)
        co_return problem(done.error(), req);

    co_return reply{.status = 204};
}

// POST /v1/staff/{id}/link
pending_reply make_staff_link(request const& req, app& service)
{
    auto const id = parse_staff_id(req);
    if (!id)
        co_return problem(id.error(), req);
    if (*id == req.who.staff_id) {
        refusal const own{.code = errc::forbidden,
                          .detail = "One's own password is changed with the present one."};
        co_return problem(own, req);
    }

    auto const make = [&](db::link& db) {
        return staff_accounts::make_link(db, {*id, req.who.staff_id.value()}, staff_of(req));
    };
    auto const made = co_await service.workers.run(make);
    if (!made)
        co_return problem(made.error(), req);

    co_return reply{.status = 201, .body = to_json(*made)};
}

// DELETE /v1/staff/{id}/sessions
pending_reply end_staff_sessions(request const& req, app& service)
{
    auto const id = parse_staff_id(req);
    if (!id)
        co_return problem(id.error(), req);
    if (auto const fault = fault_of_caller(*id, req.who))
        co_return problem(*fault, req);

    auto const end = [&](db::link& db) {
        return staff_accounts::end_sessions(db, *id, staff_of(req));
    };
    auto const done = co_await service.workers.run(end);
    if (!done)
        co_return problem(done.error(), req);

    reply ended{.status = 204};
    if (*id == req.who.staff_id)
        ended.headers.emplace_back("Set-Cookie", no_session_cookie(req));
    co_return ended;
}

} // namespace holdfast::http

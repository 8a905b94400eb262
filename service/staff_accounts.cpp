// SPDX-License-Identifier: Apache-2.0
#include "service/staff_accounts.hpp"

#include "db/transact.hpp"
#include "service/json_writer.hpp"
#include "service/passwords.hpp"
#include "sql/staff.hpp"
#include "sql/staff_invitations.hpp"
#include "sql/staff_sessions.hpp"
#include "stock/sku.hpp"
#include "stock/text.hpp"

#include <chrono>
#include <utility>

namespace holdfast::staff_accounts {

namespace {

constexpr auto link_lifetime = std::chrono::hours(24);

// A service that is started again and again without any staff prints a new link each time.
constexpr std::size_t first_links_max = 10;

struct account_row {
    uuid id;
    std::string name;
    std::string role;
    timestamp created_at;
    std::optional<timestamp> disabled_at;
    std::int64_t revision = 0;
};

struct password_row {
    uuid id;
    std::string name;
    std::string password;
    bool is_active = false;
    std::int64_t revision = 0;
};

struct invitation_row {
    std::string role;
    std::optional<std::string> name;
    std::optional<uuid> staff_id; // of the account that is there already
    std::optional<uuid> made_by;  // nobody: the service itself, or its command line
};

struct link_row {
    std::string name;
    timestamp expires_at;
};

staff_account to_account(account_row row)
{
    return {row.id,         std::move(row.name), stored_role(row.role),
            row.created_at, row.disabled_at,     row.revision};
}

// Precondition: it is there.
staff_account account_of(db::transaction& tx, uuid const& id)
{
    return to_account(tx.maybe<account_row>(sql::staff::by_id, id).value());
}

refusal unknown_account()
{
    return {.code = errc::not_found, .detail = "There is no such account."};
}

refusal useless_link()
{
    return {.code = errc::forbidden, .detail = "This link was used, or has expired, or is none."};
}

refusal would_leave_nobody()
{
    return {.code = errc::last_owner,
            .detail = "This is the last owner; make somebody else an owner first."};
}

std::string folded(std::string_view name)
{
    return case_folded(name).value_or(std::string());
}

std::string about(staff_account const& a)
{
    json_writer detail;
    detail.begin_object();
    detail.member("name", a.name);
    detail.member("role", to_string(a.role));
    detail.member("disabled", a.disabled_at.has_value());
    detail.end_object();
    return detail.take();
}

// Where only the name is worth knowing.
std::string about(std::string const& name)
{
    json_writer detail;
    detail.begin_object();
    detail.member("name", name);
    detail.end_object();
    return detail.take();
}

void note(db::transaction& tx, staff const& by, std::string_view action, uuid const& id,
          std::string detail)
{
    trail::note(tx, by, {action, "staff:" + id.str(), std::move(detail)});
}

// What is to be written of a new account.
struct account_to_write {
    uuid id;
    std::string name;
    holdfast::role role;
    std::string password; // the hash
};

// Precondition: the list is locked.
result<staff_account> write_account(db::transaction& tx, account_to_write const& a)
{
    auto made = tx.maybe<account_row>(sql::staff::insert, a.id, a.name, folded(a.name),
                                      to_string(a.role), a.password, count_max);
    if (!made)
        return invalid_at("/name", "belongs to somebody else, or there are " +
                                       std::to_string(count_max) + " accounts already");
    tx.exec(sql::staff_invitations::void_name, folded(a.name));
    return to_account(std::move(*made));
}

// What else changes with a password.
void follow_password(db::transaction& tx, password_row const& of,
                     std::optional<key_hash> const& but, staff const& by)
{
    tx.exec(sql::staff_sessions::end_all, of.id, but);
    tx.exec(sql::staff_invitations::void_account, of.id);
    note(tx, by, "staff.password_set", of.id, about(of.name));
}

std::string new_link_token()
{
    return to_base64url(make_shared_secret());
}

void keep_invitation(db::transaction& tx, std::string const& token, role r,
                     std::optional<std::string> const& name)
{
    tx.exec(sql::staff_invitations::forget, first_links_max - 1);
    auto const key = name ? std::optional(folded(*name)) : std::nullopt;
    if (key)
        tx.exec(sql::staff_invitations::void_name, *key);
    tx.exec(sql::staff_invitations::make, hash_api_key(token), to_string(r), name, key,
            std::chrono::seconds(link_lifetime).count());
}

// Whether this account may make links now.
bool may_make_links(staff_account const& a)
{
    return may(a.role, right::staff) && !a.disabled_at;
}

bool may_make_links(db::transaction& tx, uuid const& id)
{
    auto row = tx.maybe<account_row>(sql::staff::by_id, id);
    return row && may_make_links(to_account(std::move(*row)));
}

std::optional<invitation_row> find_invitation(db::transaction& tx, std::string const& token)
{
    auto found = tx.maybe<invitation_row>(sql::staff_invitations::find, hash_api_key(token));
    if (found && !found->name && !tx.one<bool>(sql::staff::is_empty))
        return std::nullopt; // the first owner is there
    if (found && found->made_by && !may_make_links(tx, *found->made_by))
        return std::nullopt;
    return found;
}

// Which name the account gets: that of the link, or the one asked for.
result<std::string> name_by(invitation_row const& link, std::optional<std::string> const& wanted)
{
    if (!link.name && !wanted)
        return invalid_at("/name", "is required");
    if (link.name && wanted && folded(*link.name) != folded(*wanted))
        return invalid_at("/name", "is not the name this link is for");
    return link.name ? *link.name : *wanted;
}

} // namespace

std::optional<std::string> fault_of_name(std::string_view name)
{
    if (auto fault = sku::fault_of(name))
        return fault;
    if (has_invisible(name)) // Anna would be two people
        return "must not contain invisible characters";
    return std::nullopt;
}

std::optional<recognised_staff> recognise(db::link& link, std::string_view name,
                                          std::string_view password)
{
    auto const found = db::read(link, db::scope::single, [&](db::transaction& tx) {
        return tx.maybe<password_row>(sql::staff::password_of_name, folded(name));
    });
    bool const fits = is_password(found ? found->password : nobodys_hash(), password);
    if (!found || !fits || !found->is_active)
        return std::nullopt;
    return recognised_staff{found->id, found->revision};
}

result<staff_account> create(db::link& link, new_staff_account const& wanted, staff const& by)
{
    account_to_write const account{uuid::make_v7(), wanted.name, wanted.role,
                                   hash_password(wanted.password)};
    return db::transact(link, [&](db::transaction& tx) -> result<staff_account> {
        tx.exec(sql::staff::lock_list);
        // A commit whose answer was lost has made it already.
        if (auto made = tx.maybe<account_row>(sql::staff::by_id, account.id))
            return to_account(std::move(*made));
        HOLDFAST_TRY(auto made, write_account(tx, account));
        note(tx, by, "staff.created", made.id, about(made));
        return made;
    });
}

std::vector<staff_account> list(db::link& link, staff_filter const& filter)
{
    return db::read(link, db::scope::single, [&](db::transaction& tx) {
        std::vector<staff_account> all;
        for (auto& row : tx.many<account_row>(sql::staff::list, filter.after, filter.limit))
            all.push_back(to_account(std::move(row)));
        return all;
    });
}

result<staff_account> change(db::link& link, staff_change const& to, staff const& by)
{
    std::optional<std::int64_t> mine; // the revision a commit whose answer was lost has made
    return db::transact(link, [&](db::transaction& tx) -> result<staff_account> {
        tx.exec(sql::staff::lock_list);
        auto row = tx.maybe<account_row>(sql::staff::by_id, to.id);
        if (!row)
            return unknown_account();
        auto const before = to_account(std::move(*row));
        if (before.revision == mine)
            return before;
        if (to.expect_revision && before.revision != *to.expect_revision)
            return refusal{.code = errc::precondition_failed,
                           .detail =
                               "The account has revision " + std::to_string(before.revision) + '.'};
        auto const wanted = to.role.value_or(before.role);
        bool const is_disabled = to.is_disabled.value_or(before.disabled_at.has_value());
        if (wanted == before.role && is_disabled == before.disabled_at.has_value())
            return before; // nothing to change, so nothing to tell
        if ((is_disabled || wanted != role::owner) &&
            tx.one<bool>(sql::staff::is_last_owner, to.id))
            return would_leave_nobody();
        auto const after = to_account(
            tx.one<account_row>(sql::staff::change, to.id, to_string(wanted), is_disabled));
        if (is_disabled)
            tx.exec(sql::staff_sessions::end_all, to.id, std::optional<key_hash>());
        if (!may_make_links(after)) // nor are they good again when the right comes back
            tx.exec(sql::staff_invitations::void_made_by, to.id);
        note(tx, by, "staff.changed", to.id,
             R"({"before":)" + about(before) + R"(,"after":)" + about(after) + '}');
        mine = after.revision;
        return after;
    });
}

result<void> remove(db::link& link, uuid const& id, staff const& by)
{
    bool was_there = false; // a commit whose answer was lost has removed it already
    return db::transact(link, [&](db::transaction& tx) -> result<void> {
        tx.exec(sql::staff::lock_list);
        auto row = tx.maybe<account_row>(sql::staff::by_id, id);
        if (!row && was_there)
            return {};
        if (!row)
            return unknown_account();
        if (tx.one<bool>(sql::staff::is_last_owner, id))
            return would_leave_nobody();
        tx.exec(sql::staff::remove, id);
        note(tx, by, "staff.removed", id, about(to_account(std::move(*row))));
        was_there = true;
        return {};
    });
}

result<void> set_password(db::link& link, password_change const& to, staff const& by)
{
    auto const present = db::read(link, db::scope::single, [&](db::transaction& tx) {
        return tx.maybe<password_row>(sql::staff::password_of, to.id);
    });
    if (!present)
        return unknown_account();
    refusal const wrong{.code = errc::forbidden, .detail = "This is not the present password."};
    if (to.current && !is_password(present->password, *to.current))
        return wrong;
    auto const former = to.current ? std::optional(present->password) : std::nullopt;
    auto const hash = hash_password(to.password);
    bool is_noted = false; // a commit whose answer was lost has done so already
    return db::transact(link, [&](db::transaction& tx) -> result<void> {
        auto const now = tx.maybe<password_row>(sql::staff::password_of, to.id);
        if (now && now->password == hash && is_noted)
            return {};
        if (tx.exec(sql::staff::set_password, to.id, hash, former) == 0)
            return now ? wrong : unknown_account();
        follow_password(tx, *present, to.but, by);
        is_noted = true;
        return {};
    });
}

result<void> end_sessions(db::link& link, uuid const& id, staff const& by)
{
    return db::transact(link, [&](db::transaction& tx) -> result<void> {
        auto const row = tx.maybe<account_row>(sql::staff::by_id, id);
        if (!row)
            return unknown_account();
        // A commit whose answer was lost has ended them already, and said so.
        if (tx.exec(sql::staff_sessions::end_all, id, std::optional<key_hash>()) > 0)
            note(tx, by, "staff.signed_out", id, about(row->name));
        return {};
    });
}

result<std::string> invite(db::link& link, role r, std::string const& name)
{
    auto const token = new_link_token();
    return db::transact(link, [&](db::transaction& tx) -> result<std::string> {
        tx.exec(sql::staff::lock_list);
        if (tx.maybe<password_row>(sql::staff::password_of_name, folded(name)))
            return invalid_at("/name", "belongs to somebody else");
        keep_invitation(tx, token, r, name);
        return token;
    });
}

std::optional<std::string> invite_first(db::link& link)
{
    auto const token = new_link_token();
    bool const is_needed = db::transact(link, [&](db::transaction& tx) {
        bool const is_empty = tx.one<bool>(sql::staff::is_empty);
        if (is_empty)
            keep_invitation(tx, token, role::owner, std::nullopt);
        return is_empty;
    });
    return is_needed ? std::optional(token) : std::nullopt;
}

result<staff_link_made> make_link(db::link& link, link_order const& wanted, staff const& by)
{
    auto const token = new_link_token();
    return db::transact(link, [&](db::transaction& tx) -> result<staff_link_made> {
        tx.exec(sql::staff::lock_list);
        if (!may_make_links(tx, wanted.made_by)) // not any more, since the request was let in
            return refusal{.code = errc::forbidden, .detail = "Only an owner may make links."};
        // A commit whose answer was lost has made it already.
        bool const is_noted = find_invitation(tx, token).has_value();
        auto const made =
            tx.maybe<link_row>(sql::staff_invitations::make_for, hash_api_key(token), wanted.id,
                               wanted.made_by, std::chrono::seconds(link_lifetime).count());
        if (!made)
            return unknown_account();
        if (!is_noted)
            note(tx, by, "staff.link_made", wanted.id, about(made->name));
        return staff_link_made{token, made->expires_at};
    });
}

result<redeemed_link> redeem(db::link& link, staff_redemption const& shown,
                             std::optional<std::string> request_id)
{
    // Looked at first, so that nobody without a link makes us hash anything.
    auto const invited = db::read(link, db::scope::snapshot, [&](db::transaction& tx) {
        return find_invitation(tx, shown.token);
    });
    if (!invited)
        return useless_link();
    HOLDFAST_TRY(auto const name, name_by(*invited, shown.name));
    account_to_write const account{invited->staff_id.value_or(uuid::make_v7()), name,
                                   stored_role(invited->role), hash_password(shown.password)};
    staff const by{std::string(actor_prefix) + name, std::move(request_id)};
    bool const is_new = !invited->staff_id;
    return db::transact(link, [&](db::transaction& tx) -> result<redeemed_link> {
        tx.exec(sql::staff::lock_list);
        // A commit whose answer was lost has done it already: nobody else has this very hash.
        auto const now = tx.maybe<password_row>(sql::staff::password_of, account.id);
        if (now && now->password == account.password)
            return redeemed_link{account_of(tx, account.id), is_new};
        if (!find_invitation(tx, shown.token))
            return useless_link();
        if (is_new) {
            HOLDFAST_TRY(auto made, write_account(tx, account));
            tx.exec(sql::staff_invitations::spend, hash_api_key(shown.token));
            note(tx, by, "staff.created", made.id, about(made));
            return redeemed_link{std::move(made), is_new};
        }
        tx.exec(sql::staff::set_password, account.id, account.password,
                std::optional<std::string>());
        follow_password(tx, now.value(), std::nullopt, by);
        return redeemed_link{account_of(tx, account.id), is_new};
    });
}

} // namespace holdfast::staff_accounts

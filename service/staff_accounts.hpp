// SPDX-License-Identifier: Apache-2.0
// Accounts of people, beside API keys: who they are, which role they have, and how they become
// staff. Where they are signed in is staff_sessions.hpp.
#pragma once

#include "db/link.hpp"
#include "service/caller.hpp"
#include "service/secrets.hpp"
#include "service/trail.hpp"
#include "stock/clock.hpp"
#include "stock/result.hpp"
#include "stock/uuid.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

struct staff_account {
    uuid id;
    std::string name;
    holdfast::role role = role::viewer;
    timestamp created_at;
    std::optional<timestamp> disabled_at;
    std::int64_t revision = 0; // grows with every change, of the password as well
};

struct new_staff_account {
    std::string name;
    holdfast::role role = role::viewer;
    std::string password;
};

// Which of these a change names; the others stay as they are.
struct staff_change {
    uuid id;
    std::optional<holdfast::role> role;
    std::optional<bool> is_disabled;
    std::optional<std::int64_t> expect_revision; // refused when it is another one
};

struct password_change {
    uuid id;
    std::string password;
    std::optional<std::string> current; // has to be the present one
    std::optional<key_hash> but = {};   // the session that goes on; all others end
};

// What whoever has a link says.
struct staff_redemption {
    std::string token;
    std::optional<std::string> name; // needed when the link names nobody
    std::string password;
};

// A link for this account, and who makes it: it ends with that one's right to make links.
struct link_order {
    uuid id;
    uuid made_by;
};

// A link that was made, and what became of one that was opened.
struct staff_link_made {
    std::string token; // told this once
    timestamp expires_at;
};

struct redeemed_link {
    staff_account account;
    bool is_new = true; // else it has another password
};

struct staff_filter {
    uuid after = {}; // continue after this one, oldest first
    std::size_t limit = 50;
};

// Whose password it was, as the account was then.
struct recognised_staff {
    uuid id;
    std::int64_t revision = 0;
};

namespace staff_accounts {

// All of them are looked at for some changes.
inline constexpr std::size_t count_max = 1000;

// How the ledger and the trail name them. No API key may have such a name.
inline constexpr std::string_view actor_prefix = "staff:";

// What is wrong with a would-be name, or nothing: as of a SKU, 1-100 Unicode characters in NFC, no
// control characters, no white space at either end; besides, nothing invisible (stock/text.hpp).
// Names that differ in case only are one.
[[nodiscard]] std::optional<std::string> fault_of_name(std::string_view name);

// Whose name and password these are; takes the same time for whoever is not there. What hashes or
// checks a password takes as long as passwords.hpp says: this, create(), set_password(), redeem().
[[nodiscard]] std::optional<recognised_staff> recognise(db::link&, std::string_view name,
                                                        std::string_view password);

// Refusals: validation_failed, when the name is taken or there are count_max already.
[[nodiscard]] result<staff_account> create(db::link&, new_staff_account const&, staff const& by);

[[nodiscard]] std::vector<staff_account> list(db::link&, staff_filter const& = {});

// A disabled account's sessions end. What changes nothing leaves revision and trail as they are.
// Refusals: not_found, precondition_failed, last_owner.
[[nodiscard]] result<staff_account> change(db::link&, staff_change const&, staff const& by);

// Refusals: not_found, last_owner.
[[nodiscard]] result<void> remove(db::link&, uuid const&, staff const& by);

// A link by which the account could get a password becomes void. Refusals: not_found, forbidden
// (`current` is another one).
[[nodiscard]] result<void> set_password(db::link&, password_change const&, staff const& by);

// Signs the person out everywhere. Refusals: not_found.
[[nodiscard]] result<void> end_sessions(db::link&, uuid const&, staff const& by);

// The token of a link that makes such an account, once and within a day. It is stored nowhere. An
// earlier one for this name becomes void. Refusals: validation_failed, when the name is taken.
[[nodiscard]] result<std::string> invite(db::link&, role, std::string const& name);

// The same for the first owner, who chooses his name. Nothing when there is staff.
[[nodiscard]] std::optional<std::string> invite_first(db::link&);

// The same for a person who is there and has forgotten the password. Void as soon as its maker is
// removed, disabled or no owner any more. Refusals: not_found; forbidden, when that is so already.
[[nodiscard]] result<staff_link_made> make_link(db::link&, link_order const&, staff const& by);

// Makes the account, or sets its password, as the link says. Of several at once one does so.
// Refusals: forbidden, when the token is none, spent, void or expired, or the account is disabled;
// those of create().
[[nodiscard]] result<redeemed_link> redeem(db::link&, staff_redemption const&,
                                           std::optional<std::string> request_id);

} // namespace staff_accounts

} // namespace holdfast

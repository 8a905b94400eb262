// SPDX-License-Identifier: Apache-2.0
// Commands of the server's keeper, which work on the database itself: migrate, key, staff, audit,
// doctor.
// Each returns the process's exit status.
#pragma once

#include "service/caller.hpp"
#include "service/config.hpp"

#include <cstdint>
#include <iosfwd>
#include <string>

namespace holdfast::keeper {

enum class output { text, json };

struct new_staff {
    holdfast::role role = role::viewer;
    std::string name;
    std::string url;
};

int migrate(config const&, std::ostream& out);

// Prints the new key alone on `out`. Throws std::runtime_error with a sentence for a name no key
// may have.
int create_key(config const&, role, std::string const& name, std::ostream& out);
int list_keys(config const&, std::ostream& out);
int revoke_key(config const&, std::int64_t id, std::ostream& out);

// Prints the link alone by which somebody becomes staff, at a service of this address. Throws
// std::runtime_error with a sentence for a name nobody may have or somebody has.
int invite_staff(config const&, new_staff const&, std::ostream& out);

// 1 when an invariant is broken, with the offenders listed.
int audit(config const&, output, std::ostream& out);

// 1 when something keeps the service from working well, each finding with the command that mends
// it.
int doctor(config const&, std::ostream& out);

} // namespace holdfast::keeper

// SPDX-License-Identifier: Apache-2.0
// What the cluster's superuser does for the service: makes its role and its database.
#pragma once

#include <string>

namespace holdfast::db {

// Each statement is whole or not there, so a kill in between is mended by the next start. The role
// owns its database and is no superuser.
void make_role_and_database(std::string const& keywords);

} // namespace holdfast::db

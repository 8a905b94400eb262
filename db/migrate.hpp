// SPDX-License-Identifier: Apache-2.0
// Brings a database's schema up to this program's, forward only.
#pragma once

#include "db/session.hpp"

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::db {

// Why the schema cannot be used: changed, newer, or a server too old. The text is a sentence for
// people.
class migration_error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

// File name (0001_name.sql) and text, in order.
using migration = std::pair<std::string_view, std::string_view>;

// Applies what is missing, each file in a transaction of its own, under an advisory lock so that
// two starting processes take turns. Returns the names applied. Throws migration_error, db::error.
std::vector<std::string> migrate(session&, std::span<migration const>);

// Names the first reason why this database's schema is not this program's, or is empty.
[[nodiscard]] std::string schema_fault(session&, std::span<migration const>);

} // namespace holdfast::db

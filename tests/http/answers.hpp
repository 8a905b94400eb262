// SPDX-License-Identifier: Apache-2.0
// What every answer of the service promises, whatever was asked: an id, problem details that are
// complete, and not a word of the database.
#pragma once

#include "tests/support/database.hpp"
#include "tests/support/http_client.hpp"

#include <optional>
#include <string>

namespace holdfast::test {

// What an answer breaks of those promises, in words; empty when it keeps them.
[[nodiscard]] std::string objection_to(http_response const& answer);

// "201" or "409 insufficient-stock", as outcome() has it, and behind it what there is to object.
// "closed" when no answer came.
[[nodiscard]] std::string verdict(http_response const& answer);
[[nodiscard]] std::string verdict(std::optional<http_response> const& answer);

// The rows of the tables and the sums of their numbers: what bad input must leave as it is.
[[nodiscard]] std::string books_of(database const& db);

} // namespace holdfast::test

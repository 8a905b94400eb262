// SPDX-License-Identifier: Apache-2.0
// Asks the service and holds each answer against what its description says of it.
#pragma once

#include "tests/http/schema_reader.hpp"
#include "tests/support/person.hpp"
#include "tests/support/shop.hpp"

#include <set>
#include <string>

namespace holdfast::test {

class checked_calls {
public:
    checked_calls(shop& front, schema_reader const& reader) : front_(front), reader_(reader) {}

    // The answer to a call of this operation, once it has been checked.
    http_response operator()(std::string const& path, http_request request);

    // Who calls from now on; nobody: the shop with its key.
    void let(person* who) { by_ = who; }

    [[nodiscard]] std::set<std::string> const& succeeded() const { return succeeded_; }
    [[nodiscard]] std::set<std::string> const& refusals() const { return refusals_; }

private:
    shop& front_;
    schema_reader const& reader_;
    person* by_ = nullptr;
    std::set<std::string> succeeded_;
    std::set<std::string> refusals_;
};

} // namespace holdfast::test

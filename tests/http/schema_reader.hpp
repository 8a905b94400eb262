// SPDX-License-Identifier: Apache-2.0
// Holds values against schemas of one document. Knows as much of JSON Schema as the document uses.
#pragma once

#include "tests/support/shop.hpp"

#include <string>
#include <utility>

namespace holdfast::test {

class schema_reader {
public:
    explicit schema_reader(json document) : document_(std::move(document)) {}

    [[nodiscard]] json const& document() const { return document_; }

    // What a node says itself, or what it refers to says.
    [[nodiscard]] json const& resolved(json const& node) const;

    // What does not fit, with where; empty when everything does.
    [[nodiscard]] std::string misfit(json const& schema_or_reference, json const& value,
                                     std::string const& where = "") const;

private:
    [[nodiscard]] std::string misfit_of_choices(json const& choices, json const& value,
                                                std::string const& where) const;
    [[nodiscard]] std::string misfit_of_members(json const& schema, json const& value,
                                                std::string const& where) const;
    [[nodiscard]] std::string misfit_of_elements(json const& schema, json const& value,
                                                 std::string const& where) const;

    json document_;
};

} // namespace holdfast::test

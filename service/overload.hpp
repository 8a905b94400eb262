// SPDX-License-Identifier: Apache-2.0
// More work than can be done in time. Nothing happened; the caller may try again a little later.
#pragma once

#include <stdexcept>

namespace holdfast {

class overloaded : public std::runtime_error {
public:
    overloaded() : std::runtime_error("overloaded") {}
};

} // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
// Why Redis could not do what it was asked to.
#pragma once

#include <stdexcept>

namespace holdfast::redis {

class error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace holdfast::redis

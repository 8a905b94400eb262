// SPDX-License-Identifier: Apache-2.0
// All deduction modes by name. A mode is one pair of files here, NAME.cpp and NAME.sql, where
// NAME.cpp defines make_NAME; the build finds them and makes the list.
#pragma once

#include "strategies/strategy.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

class strategy_registry {
public:
    // `listener` hears of conflicts; it may be empty.
    explicit strategy_registry(conflict_listener listener = {});

    // Precondition: the name is one of names().
    [[nodiscard]] strategy const& named(std::string_view name) const;

    [[nodiscard]] bool has(std::string_view name) const;

    // In alphabetical order.
    [[nodiscard]] std::vector<std::string> names() const;

private:
    std::map<std::string, std::unique_ptr<strategy>, std::less<>> strategies_;
};

} // namespace holdfast

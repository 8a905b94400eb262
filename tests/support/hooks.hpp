// SPDX-License-Identifier: Apache-2.0
// What tests of webhooks do again and again.
#pragma once

#include "tests/support/shop.hpp"

#include <string>
#include <vector>

namespace holdfast::test {

// Lets webhooks call this machine.
[[nodiscard]] std::vector<std::string> hook_arguments(std::vector<std::string> more = {});

// Makes a webhook and returns the answer, with its secret. Throws when it is refused.
json make_hook(shop& front, json const& settings);

// "/v1/webhooks/…"
[[nodiscard]] std::string path_of(json const& hook);

// All deliveries in a state, newest first; all there are when it is empty.
[[nodiscard]] std::vector<json> deliveries_of(shop& front, json const& hook,
                                              std::string const& state = "");

} // namespace holdfast::test

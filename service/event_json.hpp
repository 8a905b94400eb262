// SPDX-License-Identifier: Apache-2.0
// An event as JSON: the same in the feed, in the stream and in what webhooks are sent.
#pragma once

#include "service/json_writer.hpp"
#include "stock/event.hpp"

#include <string>

namespace holdfast {

void write(json_writer&, event const&);

// The body of a webhook's call: type, timestamp and data (Standard Webhooks 1.0.0).
[[nodiscard]] std::string webhook_body(event const&);

} // namespace holdfast

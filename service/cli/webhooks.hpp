// SPDX-License-Identifier: Apache-2.0
// `holdfast webhook listen` and `holdfast webhook resend`: trying webhooks out, and sending again.

#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

namespace holdfast::cli {

struct listen_options {
    std::string listen = "127.0.0.1:9000";
    std::string secret;     // whsec_…; empty: signatures are not checked
    std::int64_t count = 0; // ends after so many; 0: never
};

// Receives webhooks as a shop would: checks the signature and the time, prints a line for each
// call, answers 204, or 400 when it is not what it claims. Prints where it listens first. Returns 2
// when it cannot.
int listen_to_webhook(listen_options const& options, std::ostream& out, std::ostream& errors);

struct resend_options {
    std::string url;
    std::string key;
    std::string webhook;
    std::string delivery;
};

// Returns 1 when the service refuses, 2 when it cannot be asked.
int resend_delivery(resend_options const& options, std::ostream& out, std::ostream& errors);

} // namespace holdfast::cli

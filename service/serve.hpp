// SPDX-License-Identifier: Apache-2.0
// `holdfast serve`: puts the parts together, serves until told to stop, and takes them apart again.
#pragma once

#include "service/config.hpp"

namespace holdfast {

struct serve_options {
    config settings;
    bool with_sample_catalogue = false; // imports the sample when there are no items yet
};

// Returns the process's exit status. Prints "holdfast listening on http://HOST:PORT" once it is
// ready. SIGTERM and SIGINT drain; a second one ends at once. Throws with a sentence when it cannot
// start.
int serve(serve_options const&);

} // namespace holdfast

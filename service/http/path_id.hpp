// SPDX-License-Identifier: Apache-2.0
// The id that a path names.
#pragma once

#include "service/http/message.hpp"
#include "stock/result.hpp"
#include "stock/uuid.hpp"

#include <utility>

namespace holdfast::http {

// What does not look like an id is the id of nothing, so it is answered as such: it is no fault of
// the request's form.
[[nodiscard]] inline result<uuid> id_in_path(request const& req, refusal nothing)
{
    auto const id = uuid::parse(req.captured.at(0));
    if (!id)
        return nothing;
    return *id;
}

} // namespace holdfast::http

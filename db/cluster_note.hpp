// SPDX-License-Identifier: Apache-2.0
// What the private cluster tells its service while it works, in sentences.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace holdfast::db {

using note_function = std::function<void(std::string_view)>;

// Does nothing when nobody listens.
inline void tell(note_function const& note, std::string const& sentence)
{
    if (note)
        note(sentence);
}

} // namespace holdfast::db
